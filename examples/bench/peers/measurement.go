// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/einomem/einomem/examples/internal/trial"
)

// measurement is a peer that searches.
type measurement struct {
	peer        peer
	corpus      *trial.Corpus
	users, each int
	memories    memories
	row         trial.Search
}

// take takes the measures, and adds them to the report.
func (m *measurement) take(ctx context.Context, r *trial.Report) (err error) {
	dir, err := os.MkdirTemp("", "einomem-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m.row = trial.Search{Where: m.peer.name, How: m.peer.how, Partitions: m.users, Memories: m.each}
	before := trial.Heap()
	if err := m.fill(ctx, dir); err != nil {
		return err
	}
	if m.peer.durable {
		m.memories = nil
		before = trial.Heap()
		if err := m.cold(ctx, dir); err != nil {
			return err
		}
	}
	m.row.Held = max(0, trial.Heap()-before) / int64(m.users*m.each)
	if err := m.warm(ctx); err != nil {
		return err
	}
	if m.peer.how == "vector" && m.users == 1 {
		if err := m.recall(ctx); err != nil {
			return err
		}
	}
	r.Searches = append(r.Searches, m.row)
	return nil
}

func (m *measurement) fill(ctx context.Context, dir string) (err error) {
	if m.memories, err = m.peer.open(ctx, dir, m.corpus); err != nil {
		return err
	}
	took, err := trial.Time(func() error {
		for n, text := range m.corpus.Texts {
			var vector []float32
			if m.peer.how == "vector" {
				vector = m.corpus.Topics.Vector(text)
			}
			if err := m.memories.put(ctx, n/m.each, strconv.Itoa(n), text, vector); err != nil {
				return err
			}
		}
		return nil
	})
	m.row.Fill = took.Seconds()
	if m.peer.durable && err == nil {
		var size int64
		size, err = trial.SizeOf(dir)
		m.row.Stored = size / int64(len(m.corpus.Texts))
	}
	return err
}

// cold times opening what is stored, and one search in it: all users are read.
func (m *measurement) cold(ctx context.Context, dir string) error {
	took, err := trial.Time(func() (err error) {
		if m.memories, err = m.peer.open(ctx, dir, m.corpus); err != nil {
			return err
		}
		_, err = m.memories.search(ctx, 0, m.corpus.Queries[0])
		return err
	})
	m.row.Cold = trial.QuantilesOf([]time.Duration{took})
	return err
}

func (m *measurement) warm(ctx context.Context) error {
	rnd := rand.New(rand.NewPCG(4, 4))
	var times []time.Duration
	for _, q := range m.corpus.Queries {
		took, err := trial.Time(func() error {
			_, err := m.memories.search(ctx, rnd.IntN(m.users), q)
			return err
		})
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	m.row.Warm = trial.QuantilesOf(times)
	return nil
}

func (m *measurement) recall(ctx context.Context) error {
	queries := m.corpus.Strange[:min(50, len(m.corpus.Strange))]
	var sum float64
	for i, exact := range m.corpus.Exact(queries, 10) {
		ids, err := m.memories.search(ctx, 0, queries[i])
		if err != nil {
			return err
		}
		var found []int
		for _, id := range ids {
			n, err := strconv.Atoi(id)
			if err != nil {
				return err
			}
			found = append(found, n)
		}
		sum += trial.Recall(exact, found)
	}
	mean := sum / float64(len(queries))
	m.row.Recall10 = &mean
	return nil
}

// measureWrites has clients store memories of users of their own.
func measureWrites(ctx context.Context, p peer, cfg *config, r *trial.Report) error {
	corpus := trial.NewCorpus(cfg.writes, 1, cfg.dim)
	vector := corpus.Topics.Vector("any")
	for _, clients := range cfg.clients {
		dir, err := os.MkdirTemp("", "einomem-peers-")
		if err != nil {
			return err
		}
		m, err := p.open(ctx, dir, corpus)
		if err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
		whole, times, err := trial.Load(ctx, clients, cfg.writes, func(ctx context.Context, client, op int) error {
			return m.put(ctx, client, strconv.Itoa(op), corpus.Texts[op], vector)
		})
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return fmt.Errorf("%d clients: %w", clients, err)
		}
		r.Writes = append(r.Writes, trial.Write{Where: p.name, What: "add a memory", Clients: clients, PerSec: float64(cfg.writes) / whole.Seconds(), Took: trial.QuantilesOf(times)})
	}
	return nil
}
