// The Go peers of the benchmark: what a good engineer writes in a week instead of courtd, with the same promise.
// net/http, jsoniter (2.5 times as fast as encoding/json here), group commit; the store is SQLite, PostgreSQL, Redis or etcd.
// Built by ../../peers/goPeers.ts.
//
//	peer sqlite FILE TOKEN
//	peer postgres CONNECTION-STRING TOKEN
//	peer redis HOST:PORT TOKEN
//	peer etcd HOST:PORT TOKEN
package main

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"

	jsoniter "github.com/json-iterator/go"
)

var json = jsoniter.ConfigCompatibleWithStandardLibrary

const (
	maxBodyBytes = 8 << 20
	maxEvents    = 500
	// The heap is a few MiB: collecting it a quarter as often costs no memory that anyone would miss.
	gcPercent = 400
)

// stores opens each by its name; etcd is there where its client is.
var stores = map[string]func(where string) (Store, error){
	"sqlite":   openSQLite,
	"postgres": openPostgres,
	"redis":    openRedis,
}

func main() {
	if len(os.Args) != 4 || stores[os.Args[1]] == nil {
		log.Fatal("usage: peer sqlite|postgres|redis|etcd WHERE TOKEN")
	}
	debug.SetGCPercent(gcPercent)
	store, err := stores[os.Args[1]](os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: handler(newCommitter(store), "Bearer "+os.Args[3])}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		os.Exit(0)
	}()
	log.Fatal(server.Serve(listener))
}

func handler(committer *Committer, credentials string) http.Handler {
	wanted := []byte(credentials)
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), wanted) != 1 {
			http.Error(w, "no valid token", http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodPost {
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := readBody(w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		events, err := decode(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		accepted, err := committer.Append(events)
		if err != nil {
			log.Print(err)
			http.Error(w, "not stored: try again", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		duplicates := strconv.Itoa(len(events) - accepted)
		io.WriteString(w, `{"accepted":`+strconv.Itoa(accepted)+`,"duplicates":`+duplicates+`}`)
	})
	return mux
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	}
	if r.ContentLength > maxBodyBytes {
		return nil, fmt.Errorf("the body is too large")
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// decode reads one event or an array of them: all or nothing.
func decode(body []byte) ([]Event, error) {
	var events []Event
	var err error
	if first := firstByte(body); first == '[' {
		err = json.Unmarshal(body, &events)
	} else {
		events = make([]Event, 1)
		err = json.Unmarshal(body, &events[0])
	}
	if err != nil {
		return nil, err
	}
	if len(events) > maxEvents {
		return nil, fmt.Errorf("more than %d events", maxEvents)
	}
	for i := range events {
		if err := events[i].check(); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return events, nil
}

func firstByte(body []byte) byte {
	for _, c := range body {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}
