// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	var out []store.Record
	err := s.do(ctx, fmt.Sprintf("get %d records of %s", len(ids), p), func() error {
		out = nil
		for some := range slices.Chunk(ids, hmgetChunk) {
			raw, err := s.rawRecords(ctx, p, some, true)
			if err != nil {
				return err
			}
			got, err := raw.decode()
			if err != nil {
				return err
			}
			out = append(out, got...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	var out []backends.Event
	err := s.do(ctx, fmt.Sprintf("history of %q", id), func() error {
		text, err := s.client.HGet(ctx, s.keys(p).history(), id).Result()
		if isNil(err) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err = readEvents(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// readEvents reads the lines of an entry of T:his.
func readEvents(text string) ([]backends.Event, error) {
	var out []backends.Event
	for line := range strings.Lines(text) {
		version, event, err := unstamp("event", line)
		if err != nil {
			return nil, err
		}
		var e backends.Event
		if err := decode("event", event, &e); err != nil {
			return nil, err
		}
		e.Version = version
		out = append(out, e)
	}
	return out, nil
}
