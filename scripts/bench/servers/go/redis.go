package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// A hash per session: the key of an event is its field. With `appendfsync always` Redis syncs before it answers.
type redisStore struct {
	conn redis.Conn
}

func openRedis(where string) (Store, error) {
	conn, err := redis.Dial("tcp", where)
	return &redisStore{conn}, err
}

// Append sends a group as one MULTI … EXEC: all or nothing, one sync.
func (s *redisStore) Append(requests [][]Event) ([]int, error) {
	s.conn.Send("MULTI")
	for _, events := range requests {
		for i := range events {
			e := &events[i]
			text, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			s.conn.Send("HSETNX", "session:"+e.SessionID, e.EventID+" "+strconv.Itoa(e.Revision), text)
		}
	}
	results, err := redis.Ints(s.conn.Do("EXEC"))
	if err != nil {
		return nil, err
	}
	accepted := make([]int, len(requests))
	next := 0
	for i, events := range requests {
		for range events {
			if next >= len(results) {
				return nil, fmt.Errorf("Redis answered %d of the commands", len(results))
			}
			accepted[i] += results[next]
			next++
		}
	}
	return accepted, nil
}
