// A peer of the benchmark with the same promise: net/http, group commit, SQLite with synchronous=FULL.
//
//	peer FILE TOKEN
package main

import (
	"crypto/subtle"
	"database/sql/driver"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	jsoniter "github.com/json-iterator/go"
	sqlite3 "github.com/mattn/go-sqlite3"
)

const (
	maxBodyBytes = 8 << 20
	groupEvents  = 2000
	// One statement of 50 rows costs a third of 50 statements.
	rowsMax = 50
	columns = 11
	// The index of a day's events stays in memory, and a checkpoint is not made every few hundred events.
	pragmas = "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_cache_size=-131072"
	schema  = `PRAGMA wal_autocheckpoint = 10000;
		CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, event_id TEXT NOT NULL,
			revision INTEGER NOT NULL, venue_id TEXT NOT NULL, court_id TEXT NOT NULL, eot TEXT NOT NULL, eot_ns INTEGER NOT NULL,
			type TEXT NOT NULL, confidence REAL NOT NULL, source TEXT NOT NULL, payload TEXT NOT NULL,
			UNIQUE (session_id, event_id, revision))`
)

var json = jsoniter.ConfigCompatibleWithStandardLibrary

type event struct {
	EventID    string              `json:"event_id"`
	SessionID  string              `json:"session_id"`
	VenueID    string              `json:"venue_id"`
	CourtID    string              `json:"court_id"`
	Eot        string              `json:"eot"`
	Type       string              `json:"type"`
	Confidence *float64            `json:"confidence"`
	Source     string              `json:"source"`
	Revision   int64               `json:"revision"`
	Payload    jsoniter.RawMessage `json:"payload"`
	eotNs      int64
}

func (e *event) check() error {
	at, err := time.Parse(time.RFC3339Nano, e.Eot)
	e.eotNs = at.UnixNano()
	if err != nil || e.EventID == "" || e.SessionID == "" || e.VenueID == "" || e.CourtID == "" || e.Source == "" || e.Type == "" ||
		e.Confidence == nil || *e.Confidence < 0 || *e.Confidence > 1 || e.Revision < 0 || len(e.Payload) == 0 || e.Payload[0] != '{' {
		return fmt.Errorf("invalid event")
	}
	return nil
}

type request struct {
	events   []event
	accepted int
	err      error
	done     chan struct{}
}

type store struct {
	conn       *sqlite3.SQLiteConn
	statements [rowsMax + 1]driver.Stmt
	queue      chan *request
}

// run commits what waits, all of it in one transaction.
func (s *store) run() {
	for first := range s.queue {
		group, size := []*request{first}, len(first.events)
		for more := true; more && size < groupEvents; {
			select {
			case r := <-s.queue:
				group = append(group, r)
				size += len(r.events)
			default:
				more = false
			}
		}
		err := s.commit(group)
		for _, r := range group {
			r.err = err
			close(r.done)
		}
	}
}

func (s *store) commit(group []*request) error {
	if _, err := s.conn.Exec("BEGIN IMMEDIATE", nil); err != nil {
		return err
	}
	for _, r := range group {
		for events := r.events; len(events) > 0; {
			rows := min(len(events), rowsMax)
			changed, err := s.insert(events[:rows])
			if err != nil {
				s.conn.Exec("ROLLBACK", nil)
				return err
			}
			r.accepted += changed
			events = events[rows:]
		}
	}
	_, err := s.conn.Exec("COMMIT", nil)
	return err
}

func (s *store) insert(events []event) (int, error) {
	rows := len(events)
	if s.statements[rows] == nil {
		row := "(" + strings.Repeat("?,", columns-1) + "?)"
		stmt, err := s.conn.Prepare(`INSERT OR IGNORE INTO event (session_id, event_id, revision, venue_id, court_id, eot, eot_ns, type,
			confidence, source, payload) VALUES ` + row + strings.Repeat(","+row, rows-1))
		if err != nil {
			return 0, err
		}
		s.statements[rows] = stmt
	}
	values := make([]driver.Value, 0, rows*columns)
	for i := range events {
		e := &events[i]
		values = append(values, e.SessionID, e.EventID, e.Revision, e.VenueID, e.CourtID, e.Eot, e.eotNs, e.Type, *e.Confidence,
			e.Source, string(e.Payload))
	}
	result, err := s.statements[rows].Exec(values)
	if err != nil {
		return 0, err
	}
	changed, err := result.RowsAffected()
	return int(changed), err
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func decode(body []byte) (events []event, err error) {
	if len(body) > 0 && body[0] == '[' {
		err = json.Unmarshal(body, &events)
	} else {
		events = make([]event, 1)
		err = json.Unmarshal(body, &events[0])
	}
	for i := 0; i < len(events) && err == nil; i++ {
		err = events[i].check()
	}
	return events, err
}

func main() {
	debug.SetGCPercent(400)
	opened, err := (&sqlite3.SQLiteDriver{}).Open("file:" + os.Args[1] + pragmas)
	if err != nil {
		log.Fatal(err)
	}
	s := &store{conn: opened.(*sqlite3.SQLiteConn), queue: make(chan *request, 4096)}
	if _, err := s.conn.Exec(schema, nil); err != nil {
		log.Fatal(err)
	}
	go s.run()
	wanted := []byte("Bearer " + os.Args[2])
	http.HandleFunc("/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), wanted) != 1 {
			http.Error(w, "no valid token", http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
		var events []event
		if err == nil {
			events, err = decode(body)
		}
		if err != nil || len(events) > 500 {
			http.Error(w, "not a valid batch", http.StatusBadRequest)
			return
		}
		one := &request{events: events, done: make(chan struct{})}
		s.queue <- one
		<-one.done
		if one.err != nil {
			http.Error(w, "not stored: try again", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"accepted":%d,"duplicates":%d}`, one.accepted, len(events)-one.accepted)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() { <-stop; os.Exit(0) }()
	log.Fatal(http.Serve(listener, nil))
}
