//go:build etcd

package main

import (
	"context"
	"strconv"
	"time"

	"go.etcd.io/etcd/clientv3"
)

func init() { stores["etcd"] = openEtcd }

// An event is a key; it is put if there is none. etcd answers when its log is synced.
type etcdStore struct {
	client *clientv3.Client
}

func openEtcd(where string) (Store, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{where}, DialTimeout: 5 * time.Second})
	return &etcdStore{client}, err
}

// Append sends a group as one transaction of a transaction for each event. etcd refuses a key that is put twice in one.
func (s *etcdStore) Append(requests [][]Event) ([]int, error) {
	var ops []clientv3.Op
	var of []int
	seen := map[string]bool{}
	for i, events := range requests {
		for j := range events {
			e := &events[j]
			key := "event/" + e.SessionID + "/" + e.EventID + "/" + strconv.Itoa(e.Revision)
			if seen[key] {
				continue
			}
			seen[key] = true
			text, err := json.MarshalToString(e)
			if err != nil {
				return nil, err
			}
			absent := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
			ops = append(ops, clientv3.OpTxn([]clientv3.Cmp{absent}, []clientv3.Op{clientv3.OpPut(key, text)}, nil))
			of = append(of, i)
		}
	}
	answer, err := s.client.Txn(context.Background()).Then(ops...).Commit()
	if err != nil {
		return nil, err
	}
	accepted := make([]int, len(requests))
	for n, one := range answer.Responses {
		if one.GetResponseTxn().Succeeded {
			accepted[of[n]]++
		}
	}
	return accepted, nil
}
