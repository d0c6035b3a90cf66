package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// rowsPerInsert: one statement of 50 rows costs a third of 50 statements, most of it calls from Go into C.
const rowsPerInsert = 50

const columns = 12

type sqliteStore struct {
	conn *sqlite3.SQLiteConn
	// statements[n] inserts n rows.
	statements [rowsPerInsert + 1]driver.Stmt
	begin      driver.Stmt
	commit     driver.Stmt
	rollback   driver.Stmt
}

// pragmas: the index of a day's events stays in memory, and a checkpoint is not made every few hundred events.
const pragmas = "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_cache_size=-131072"

const checkpointPages = 10000

// openSQLite uses the driver itself: database/sql's pool and reflection cost a fifth, and there is one writer.
func openSQLite(file string) (Store, error) {
	opened, err := (&sqlite3.SQLiteDriver{}).Open("file:" + file + pragmas)
	if err != nil {
		return nil, err
	}
	conn := opened.(*sqlite3.SQLiteConn)
	schema := fmt.Sprintf("PRAGMA wal_autocheckpoint = %d;", checkpointPages) + `
		CREATE TABLE IF NOT EXISTS event (
			id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, event_id TEXT NOT NULL, revision INTEGER NOT NULL,
			venue_id TEXT NOT NULL, court_id TEXT NOT NULL, eot TEXT NOT NULL, eot_ns INTEGER NOT NULL,
			type TEXT NOT NULL, confidence REAL NOT NULL, source TEXT NOT NULL, payload TEXT NOT NULL,
			received_ms INTEGER NOT NULL, UNIQUE (session_id, event_id, revision)
		)`
	if _, err := conn.Exec(schema, nil); err != nil {
		return nil, err
	}
	s := &sqliteStore{conn: conn}
	for sql, stmt := range map[string]*driver.Stmt{"BEGIN IMMEDIATE": &s.begin, "COMMIT": &s.commit, "ROLLBACK": &s.rollback} {
		if *stmt, err = conn.Prepare(sql); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *sqliteStore) Append(requests [][]Event) ([]int, error) {
	if _, err := s.begin.Exec(nil); err != nil {
		return nil, err
	}
	accepted, err := s.insertAll(requests)
	if err == nil {
		_, err = s.commit.Exec(nil)
	}
	if err != nil {
		s.rollback.Exec(nil)
		return nil, err
	}
	return accepted, nil
}

func (s *sqliteStore) insertAll(requests [][]Event) ([]int, error) {
	receivedMs := time.Now().UnixMilli()
	accepted := make([]int, len(requests))
	values := make([]driver.NamedValue, 0, rowsPerInsert*columns)
	for i, events := range requests {
		for len(events) > 0 {
			rows := events
			if len(rows) > rowsPerInsert {
				rows = rows[:rowsPerInsert]
			}
			events = events[len(rows):]
			stmt, err := s.insert(len(rows))
			if err != nil {
				return nil, err
			}
			values = values[:0]
			for j := range rows {
				e := &rows[j]
				for _, value := range [columns]driver.Value{
					e.SessionID, e.EventID, int64(e.Revision), e.VenueID, e.CourtID, e.Eot, e.eotNs, e.Type, *e.Confidence,
					e.Source, string(e.Payload), receivedMs,
				} {
					values = append(values, driver.NamedValue{Ordinal: len(values) + 1, Value: value})
				}
			}
			result, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), values)
			if err != nil {
				return nil, err
			}
			changed, _ := result.RowsAffected()
			accepted[i] += int(changed)
		}
	}
	return accepted, nil
}

func (s *sqliteStore) insert(rows int) (driver.Stmt, error) {
	if s.statements[rows] == nil {
		row := "(" + strings.Repeat("?,", columns-1) + "?)"
		stmt, err := s.conn.Prepare(`INSERT OR IGNORE INTO event (session_id, event_id, revision, venue_id, court_id, eot,
			eot_ns, type, confidence, source, payload, received_ms) VALUES ` + row + strings.Repeat(","+row, rows-1))
		if err != nil {
			return nil, err
		}
		s.statements[rows] = stmt
	}
	return s.statements[rows], nil
}
