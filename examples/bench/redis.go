// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// redisTimes measures memory in Redis beside memory in a SQLite file: searches of one
// partition and of many, warm and cold; writes by many clients at once; bytes.
type redisTimes struct {
	url     string
	sizes   trial.Numbers // memories in one partition
	users   int           // partitions, of each memories each
	each    int
	dim     int
	queries int
	clients trial.Numbers
	writes  int
	sqlite  int // the most memories that SQLite is given, too
}

func (m *redisTimes) flags(f *flag.FlagSet) {
	m.sizes, m.clients = trial.Numbers{1000, 10_000, 100_000}, trial.Numbers{1, 8, 64}
	f.StringVar(&m.url, "redis", "redis://localhost:6379/0", "the `URL` of a server without other users")
	f.Var(&m.sizes, "sizes", "how many memories in one partition, separated by commas")
	f.IntVar(&m.users, "users", 1000, "how many partitions, when there are many; 0 leaves that out")
	f.IntVar(&m.each, "each", 100, "how many memories in each of these")
	f.IntVar(&m.dim, "dim", 1536, "components of a vector")
	f.IntVar(&m.queries, "queries", 200, "searches of each sort")
	f.Var(&m.clients, "clients", "how many write at the same time, separated by commas")
	f.IntVar(&m.writes, "writes", 2000, "writes of each sort")
	f.IntVar(&m.sqlite, "sqlite", 10_000, "the most memories that are given to SQLite, too")
}

func (m *redisTimes) measure(ctx context.Context, progress io.Writer) (*trial.Report, error) {
	if err := positive("-dim, -queries, -writes and -each", m.dim, m.queries, m.writes, m.each); err != nil {
		return nil, err
	}
	r := &trial.Report{About: []string{
		fmt.Sprintf("%s; search with TopK 10, %d searches of each sort", trial.Machine(), m.queries),
		fmt.Sprintf("made-up memories of 10 to 29 words; vectors of %d components that follow from 64 numbers, 50 memories a topic", m.dim),
		"warm: what was searched before, reading what is new included; cold: the first search in a new process, which loads the partition",
	}}
	stores, err := places(ctx, m.url, r)
	if err != nil {
		return nil, err
	}
	var searches []trial.Search
	for _, w := range m.workloads() {
		for _, p := range stores {
			if p == stores[0] && w.total() > m.sqlite {
				continue
			}
			fmt.Fprintf(progress, "%s: %d × %d memories, %s\n", p.name, w.partitions, w.memories, w.content.name)
			row, err := w.measure(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("%s, %d memories, %s: %w", p.name, w.total(), w.content.name, err)
			}
			searches = append(searches, *row)
		}
	}
	var writes []trial.Write
	for _, p := range stores {
		fmt.Fprintf(progress, "%s: writes\n", p.name)
		rows, err := m.measureWrites(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		writes = append(writes, rows...)
	}
	compare(searches, writes, stores[0].name)
	r.Tables = []trial.Table{
		{Title: "Searches, in milliseconds; x is how many times as long as SQLite took; bytes are a memory's", Rows: searches},
		{Title: "Writes; x is how many times as many as SQLite; the times of one in milliseconds", Rows: writes},
	}
	return r, nil
}

// workloads returns what is to be searched, the small first.
func (m *redisTimes) workloads() []*workload {
	var out []*workload
	add := func(partitions, memories int) {
		corpus := trial.NewCorpus(partitions*memories, m.queries, m.dim)
		for _, c := range contents {
			out = append(out, &workload{corpus: corpus, partitions: partitions, memories: memories, content: c})
		}
	}
	for _, n := range m.sizes {
		add(1, n)
	}
	if m.users > 0 {
		add(m.users, m.each)
	}
	return out
}

// compare fills in how many times as long as in the base place a search takes, and how
// many times as many writes there are in a second.
func compare(searches []trial.Search, writes []trial.Write, base string) {
	for _, b := range searches {
		for i := range searches {
			s := &searches[i]
			if b.Where == base && s.Where != base && b.How == s.How && b.Memories == s.Memories && b.Partitions == s.Partitions {
				s.Times, s.TimesCold = s.Warm.P50/b.Warm.P50, s.Cold.P50/b.Cold.P50
			}
		}
	}
	for _, b := range writes {
		for i := range writes {
			if w := &writes[i]; b.Where == base && w.Where != base && b.What == w.What && b.Clients == w.Clients {
				w.Times = w.PerSec / b.PerSec
			}
		}
	}
}

// measureWrites has clients write to a place at the same time, to partitions of their
// own or to one, and counts how many writes there are in a second.
func (m *redisTimes) measureWrites(ctx context.Context, p *place) (rows []trial.Write, err error) {
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
				rows = append(rows, *row)
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
