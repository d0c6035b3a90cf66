package main

import (
	"fmt"
	"time"

	jsoniter "github.com/json-iterator/go"
)

// Event is one court event as the protocol has it. The payload is kept as it came.
type Event struct {
	EventID       string              `json:"event_id"`
	SessionID     string              `json:"session_id"`
	VenueID       string              `json:"venue_id"`
	CourtID       string              `json:"court_id"`
	Eot           string              `json:"eot"`
	Type          string              `json:"type"`
	Confidence    *float64            `json:"confidence"`
	Source        string              `json:"source"`
	SchemaVersion string              `json:"schema_version"`
	Revision      int                 `json:"revision"`
	Payload       jsoniter.RawMessage `json:"payload"`

	eotNs int64
}

func (e *Event) check() error {
	for _, required := range []struct{ name, value string }{
		{"event_id", e.EventID}, {"session_id", e.SessionID}, {"venue_id", e.VenueID}, {"court_id", e.CourtID},
		{"source", e.Source}, {"schema_version", e.SchemaVersion},
	} {
		if required.value == "" || len(required.value) > 1024 {
			return fmt.Errorf("%s is missing or too long", required.name)
		}
	}
	switch e.Type {
	case "BALL_BOUNCE", "BALL_HIT", "BALL_SPEED", "PLAYER_POSITION", "PLAYER_IDENTITY":
	default:
		return fmt.Errorf("type is unknown")
	}
	if e.Confidence == nil || *e.Confidence < 0 || *e.Confidence > 1 {
		return fmt.Errorf("confidence is not from 0 to 1")
	}
	if e.Revision < 0 {
		return fmt.Errorf("revision is negative")
	}
	if len(e.Payload) == 0 || e.Payload[0] != '{' {
		return fmt.Errorf("payload is not an object")
	}
	at, err := time.Parse(time.RFC3339Nano, e.Eot)
	if err != nil {
		return fmt.Errorf("eot is not a time with an offset")
	}
	e.eotNs = at.UnixNano()
	return nil
}
