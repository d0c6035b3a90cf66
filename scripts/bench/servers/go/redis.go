package main

import (
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// A hash per session: the key of an event is its field. With `appendfsync always` Redis syncs before it answers.
type redisStore struct {
	conn redis.Conn
	sha  string
}

// scriptEvents: below this a script costs more than the answers that it saves.
const scriptEvents = 50

// put stores a request of many events and answers how many of its events are new: a script is all or nothing, and one answer instead of
// one for each event. ARGV: key, field, event, and so on.
const put = `
	local new = 0
	for i = 1, #ARGV, 3 do new = new + redis.call('HSETNX', ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
	return new`

func openRedis(where string) (Store, error) {
	conn, err := redis.Dial("tcp", where)
	if err != nil {
		return nil, err
	}
	sha, err := redis.String(conn.Do("SCRIPT", "LOAD", put))
	return &redisStore{conn, sha}, err
}

// Append sends a group as one MULTI … EXEC: one sync, which a bare pipeline is not, since Redis syncs what each read brings.
func (s *redisStore) Append(requests [][]Event) ([]int, error) {
	s.conn.Send("MULTI")
	for _, events := range requests {
		args := []interface{}{s.sha, 0}
		for i := range events {
			e := &events[i]
			text, err := json.Marshal(e)
			if err != nil {
				s.conn.Do("DISCARD")
				return nil, err
			}
			args = append(args, "session:"+e.SessionID, e.EventID+" "+strconv.Itoa(e.Revision), text)
			if len(events) < scriptEvents {
				s.conn.Send("HSETNX", args[len(args)-3:]...)
			}
		}
		if len(events) >= scriptEvents {
			s.conn.Send("EVALSHA", args...)
		}
	}
	results, err := redis.Ints(s.conn.Do("EXEC"))
	if err != nil {
		return nil, err
	}
	accepted := make([]int, len(requests))
	for i, events := range requests {
		answers := len(events)
		if answers >= scriptEvents {
			answers = 1
		}
		accepted[i] = sum(results[:answers])
		results = results[answers:]
	}
	return accepted, nil
}
