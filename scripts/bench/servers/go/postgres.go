package main

import (
	"context"

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

// Append sends all statements and the commit in one round trip: a batch is a transaction.
func (s *postgresStore) Append(requests [][]Event) ([]int, error) {
	ctx := context.Background()
	batch := &pgx.Batch{}
	for _, events := range requests {
		n := len(events)
		session, id, venue, court, eot := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		kind, source, payload := make([]string, n), make([]string, n), make([]string, n)
		revision, eotNs, confidence := make([]int32, n), make([]int64, n), make([]float64, n)
		for i := range events {
			e := &events[i]
			session[i], id[i], venue[i], court[i], eot[i] = e.SessionID, e.EventID, e.VenueID, e.CourtID, e.Eot
			kind[i], source[i], payload[i] = e.Type, e.Source, string(e.Payload)
			revision[i], eotNs[i], confidence[i] = int32(e.Revision), e.eotNs, *e.Confidence
		}
		batch.Queue("insert", session, id, revision, venue, court, eot, eotNs, kind, confidence, source, payload)
	}
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
