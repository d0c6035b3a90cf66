package main

import (
	"context"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

// pgxpool is not needed: the committer is the only writer, and one connection keeps its statement prepared.
type postgresStore struct {
	conn *pgx.Conn
}

const insertRows = `
	INSERT INTO event (session_id, event_id, revision, venue_id, court_id, eot, eot_ns, type, confidence, source, payload)
	SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[],
	                     $9::float8[], $10::text[], $11::text[])
	ON CONFLICT DO NOTHING`

func openPostgres(where string) (Store, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, where)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS event (
			session_id text NOT NULL, event_id text NOT NULL, revision int NOT NULL, venue_id text NOT NULL,
			court_id text NOT NULL, eot text NOT NULL, eot_ns bigint NOT NULL, type text NOT NULL,
			confidence float8 NOT NULL, source text NOT NULL, payload text NOT NULL,
			received timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (session_id, event_id, revision)
		)`)
	if err != nil {
		return nil, err
	}
	_, err = conn.Prepare(ctx, "insert", insertRows)
	return &postgresStore{conn}, err
}

// Append stores a group in one statement. Only a group with duplicates takes a statement for each request, to count them.
func (s *postgresStore) Append(requests [][]Event) ([]int, error) {
	ctx := context.Background()
	if len(requests) > 1 {
		if ok, err := s.appendAllNew(ctx, requests); ok || err != nil {
			return counts(requests), err
		}
	}
	batch := &pgx.Batch{}
	for _, events := range requests {
		batch.Queue("insert", columnsOf([][]Event{events})...)
	}
	// One round trip and one commit: a batch is a transaction.
	results := s.conn.SendBatch(ctx, batch)
	accepted := make([]int, len(requests))
	for i := range requests {
		tag, err := results.Exec()
		if err != nil {
			results.Close()
			return nil, err
		}
		accepted[i] = int(tag.RowsAffected())
	}
	return accepted, results.Close()
}

// appendAllNew stores all or, where some events are stored already, nothing.
func (s *postgresStore) appendAllNew(ctx context.Context, requests [][]Event) (bool, error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue("insert", columnsOf(requests)...)
	results := s.conn.SendBatch(ctx, batch)
	_, err := results.Exec()
	var tag pgconn.CommandTag
	if err == nil {
		tag, err = results.Exec()
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	end := "COMMIT"
	if err != nil || int(tag.RowsAffected()) < sum(counts(requests)) {
		end = "ROLLBACK"
	}
	if _, ended := s.conn.Exec(ctx, end); err == nil {
		err = ended
	}
	return end == "COMMIT", err
}

// columnsOf turns events into an array for each column.
func columnsOf(requests [][]Event) []interface{} {
	n := sum(counts(requests))
	session, id, venue, court, eot := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	kind, source, payload := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	revision, eotNs, confidence := make([]int32, 0, n), make([]int64, 0, n), make([]float64, 0, n)
	for _, events := range requests {
		for i := range events {
			e := &events[i]
			session, id, revision = append(session, e.SessionID), append(id, e.EventID), append(revision, int32(e.Revision))
			venue, court, source = append(venue, e.VenueID), append(court, e.CourtID), append(source, e.Source)
			eot, eotNs, kind = append(eot, e.Eot), append(eotNs, e.eotNs), append(kind, e.Type)
			confidence, payload = append(confidence, *e.Confidence), append(payload, string(e.Payload))
		}
	}
	return []interface{}{session, id, revision, venue, court, eot, eotNs, kind, confidence, source, payload}
}

func counts(requests [][]Event) []int {
	n := make([]int, len(requests))
	for i, events := range requests {
		n[i] = len(events)
	}
	return n
}

func sum(values []int) int {
	total := 0
	for _, value := range values {
		total += value
	}
	return total
}
