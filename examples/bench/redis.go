// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// redisTimes measures memory in Redis beside memory in a SQLite file: searches of one
// partition and of many, warm and cold; writes by many clients at once; bytes.
type redisTimes struct {
	sizes   [][2]int // how many memories in each of how many partitions
	dim     int
	queries int
	clients []int
	writes  int
	sqlite  int // the most memories that SQLite is given, too
}

func printRedis(ctx context.Context, b *bench) error {
	m := &redisTimes{
		sizes: [][2]int{{1000, 1}, {10_000, 1}, {100_000, 1}, {100, 1000}}, dim: 1536, queries: 200,
		clients: []int{1, 8, 64}, writes: 2000, sqlite: 10_000,
	}
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	fmt.Fprint(b.out, trial.SearchHeader)
	for _, size := range m.sizes {
		rows, err := m.searches(ctx, stores, size[0], size[1])
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprint(b.out, r)
		}
	}
	fmt.Fprint(b.out, "\n", trial.WriteHeader)
	for _, p := range stores {
		rows, err := m.measureWrites(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, r := range rows {
			fmt.Fprint(b.out, r)
		}
	}
	return nil
}

// searches searches so many memories in each of so many partitions, with each content in
// each store; in the others beside the first.
func (m *redisTimes) searches(ctx context.Context, stores []*place, memories, partitions int) (rows []*trial.Search, err error) {
	corpus := trial.NewCorpus(partitions*memories, m.queries, m.dim)
	for _, c := range contents {
		w := &workload{corpus: corpus, partitions: partitions, memories: memories, content: c}
		var base *trial.Search
		for i, p := range stores {
			if i == 0 && w.total() > m.sqlite {
				continue
			}
			row, err := w.measure(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("%s, %d memories, %s: %w", p.name, w.total(), c.name, err)
			}
			if i == 0 {
				base = row
			} else if base != nil {
				row.Times, row.TimesCold = row.Warm.P50/base.Warm.P50, row.Cold.P50/base.Cold.P50
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// measureWrites has clients write to a place at the same time, to partitions of their
// own or to one, and counts how many writes there are in a second.
func (m *redisTimes) measureWrites(ctx context.Context, p *place) (rows []*trial.Write, err error) {
	apply, err := m.applyMemory(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range []struct {
		what string
		do   func(ctx context.Context, s store.Store, p backends.Partition, op int) error
	}{{"append a turn", appendTurn}, {"apply a memory", apply}} {
		for _, shared := range []bool{false, true} {
			for _, clients := range m.clients {
				if shared && clients == 1 {
					continue
				}
				row, err := p.measureWrites(ctx, clients, m.writes, func(ctx context.Context, s store.Store, client, op int) error {
					if shared {
						client = 0
					}
					return w.do(ctx, s, userOf(client), op)
				})
				if err != nil {
					return nil, fmt.Errorf("%s, %d clients: %w", w.what, clients, err)
				}
				if row.What = w.what; shared {
					row.What += ", all of one user"
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

func (p *place) measureWrites(ctx context.Context, clients, writes int, do func(ctx context.Context, s store.Store, client, op int) error) (row *trial.Write, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	whole, times, err := trial.Load(ctx, clients, writes, func(ctx context.Context, client, op int) error { return do(ctx, s, client, op) })
	return &trial.Write{Where: p.name, Clients: clients, PerSec: float64(writes) / whole.Seconds(), Took: trial.QuantilesOf(times)}, err
}

// appendTurn appends what a user said, and the answer, to a session.
func appendTurn(ctx context.Context, s store.Store, p backends.Partition, op int) error {
	turn := fmt.Sprintf("turn-%d", op)
	message := func(role schema.RoleType, text string) store.Entry {
		return store.Entry{Message: backends.Message{ID: turn + string(role), Turn: turn, Message: &schema.Message{Role: role, Content: text}}, Done: role == schema.Assistant}
	}
	_, err := s.Append(ctx, p, "chat", &store.Append{
		Scope: backends.Scope{Namespace: "bench", UserID: p.ID, SessionID: "chat"},
		Entries: []store.Entry{
			message(schema.User, "I moved to Hangzhou in March, and my sister lives in Berlin with her two cats."),
			message(schema.Assistant, "Noted: you live in Hangzhou, and your sister in Berlin."),
		},
	})
	return err
}

// applyMemory returns a write that stores one memory with its vector. The vectors are
// made before time is taken.
func (m *redisTimes) applyMemory(ctx context.Context) (func(context.Context, store.Store, backends.Partition, int) error, error) {
	corpus := trial.NewCorpus(256, 1, m.dim)
	var none struct{ store.Records } // nothing is read
	ranker, err := (&workload{corpus: corpus, content: contents[1]}).ranker(ctx, none)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	vectors, space, err := ranker.Embed(ctx, corpus.Texts)
	return func(ctx context.Context, s store.Store, p backends.Partition, op int) error {
		rec := &store.Record{
			Memory: backends.Memory{ID: fmt.Sprintf("m%06d", op), Kind: backends.KindFact, Text: fmt.Sprintf("The user's friend number %d lives in Rome and likes tea.", op)},
			Vector: vectors[op%len(vectors)],
		}
		_, err := s.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Put(rec)}, Embedding: space})
		return err
	}, err
}
