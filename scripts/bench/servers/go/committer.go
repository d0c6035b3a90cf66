package main

// Store keeps events, each (session_id, event_id, revision) once.
type Store interface {
	// Append stores requests in one transaction, durably, and says how many events of each are new.
	Append(requests [][]Event) ([]int, error)
}

const groupEvents = 2000

type request struct {
	events []Event
	answer chan outcome
}

type outcome struct {
	accepted int
	err      error
}

// Committer is group commit: the requests that wait while a transaction runs share the next one.
type Committer struct {
	queue chan *request
}

func newCommitter(store Store) *Committer {
	c := &Committer{queue: make(chan *request, 4096)}
	go c.run(store)
	return c
}

// Append answers once the events are on disk.
func (c *Committer) Append(events []Event) (int, error) {
	if len(events) == 0 {
		return 0, nil
	}
	r := &request{events: events, answer: make(chan outcome, 1)}
	c.queue <- r
	o := <-r.answer
	return o.accepted, o.err
}

func (c *Committer) run(store Store) {
	for first := range c.queue {
		group := []*request{first}
		size := len(first.events)
	gather:
		for size < groupEvents {
			select {
			case r := <-c.queue:
				group = append(group, r)
				size += len(r.events)
			default:
				break gather
			}
		}
		events := make([][]Event, len(group))
		for i, r := range group {
			events[i] = r.events
		}
		accepted, err := store.Append(events)
		for i, r := range group {
			if err != nil {
				r.answer <- outcome{err: err}
			} else {
				r.answer <- outcome{accepted: accepted[i]}
			}
		}
	}
}
