// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/einomem/einomem/examples/internal/trial"
)

// peer is a way to remember.
type peer struct {
	name, how string
	durable   bool // a new process finds what a former one stored
	// open opens what is stored in a folder; nothing, the first time.
	open func(ctx context.Context, dir string, corpus *trial.Corpus) (memories, error)
}

const byVector = "vector"

var peers = []peer{
	{"chromem-go", byVector, true, openChromem},
	{"trpc-agent-go inmemory", "words", false, openTRPC},
	{"adk inmemory", "words", false, openADK},
}

// memories are those of all users. It is safe for concurrent use.
type memories interface {
	// put stores a memory of a user, durably if the peer can.
	put(ctx context.Context, user int, id, text string, vector []float32) error
	// search returns the ids of up to ten memories of the user.
	search(ctx context.Context, user int, query string) ([]string, error)
}

// app is the name of the application, where a peer wants one.
const app = "bench"

func nameOf(user int) string { return "user-" + strconv.Itoa(user) }

// search has the peer store the corpus, so many memories of each user, and search it.
func (p *peer) search(ctx context.Context, corpus *trial.Corpus, users, each int) (row *trial.Search, err error) {
	dir, err := os.MkdirTemp("", "einomem-peers-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	before := trial.Heap()
	m, err := p.open(ctx, dir, corpus)
	if err != nil {
		return nil, err
	}
	for n, text := range corpus.Texts {
		var vector []float32
		if p.how == byVector {
			vector = corpus.Vector(text)
		}
		if err := m.put(ctx, n/each, strconv.Itoa(n), text, vector); err != nil {
			return nil, err
		}
	}
	row = &trial.Search{Where: p.name, How: p.how, Partitions: users, Memories: each}
	if p.durable {
		m = nil
		before = trial.Heap()
		if m, err = p.reopen(ctx, dir, corpus, row); err != nil {
			return nil, err
		}
	}
	row.Held = max(0, trial.Heap()-before) / int64(users*each)
	return row, row.Search(corpus, p.how == byVector, func(user int, query string) ([]int, error) {
		ids, err := m.search(ctx, user, query)
		if err != nil || p.how != byVector { // else a peer may choose ids itself
			return nil, err
		}
		found := make([]int, len(ids))
		for i, id := range ids {
			if found[i], err = strconv.Atoi(id); err != nil {
				return nil, err
			}
		}
		return found, nil
	})
}

// reopen times opening what is stored, and one search in it: all users are read.
func (p *peer) reopen(ctx context.Context, dir string, corpus *trial.Corpus, row *trial.Search) (m memories, err error) {
	size, err := trial.SizeOf(dir)
	if err != nil {
		return nil, err
	}
	row.Stored = size / int64(len(corpus.Texts))
	took, err := trial.Time(func() (err error) {
		if m, err = p.open(ctx, dir, corpus); err != nil {
			return err
		}
		_, err = m.search(ctx, 0, corpus.Queries[0])
		return err
	})
	row.Cold = trial.QuantilesOf([]time.Duration{took})
	return m, err
}

// write has clients store the memories of a corpus, each those of a user of its own.
func (p *peer) write(ctx context.Context, corpus *trial.Corpus, clients int) (row *trial.Write, err error) {
	dir, err := os.MkdirTemp("", "einomem-peers-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m, err := p.open(ctx, dir, corpus)
	if err != nil {
		return nil, err
	}
	vector := corpus.Vector("any")
	whole, times, err := trial.Load(ctx, clients, len(corpus.Texts), func(ctx context.Context, client, op int) error {
		return m.put(ctx, client, strconv.Itoa(op), corpus.Texts[op], vector)
	})
	return &trial.Write{
		Where: p.name, What: "add a memory", Clients: clients, PerSec: float64(len(corpus.Texts)) / whole.Seconds(), Took: trial.QuantilesOf(times),
	}, err
}
