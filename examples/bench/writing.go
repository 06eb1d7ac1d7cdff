// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// writing is a sort of write. Clients write to partitions of their own, or to one.
type writing struct {
	name string
	do   func(ctx context.Context, b *bed, partition, op int) error
}

// measureWrites has clients write to a place at the same time, and adds how many
// writes there were in a second.
func measureWrites(ctx context.Context, p *place, cfg *redisConfig, r *trial.Report) error {
	vectors, err := newVectors(ctx, cfg.dim)
	if err != nil {
		return err
	}
	for _, w := range []writing{{"append a turn", appendTurn}, {"apply a memory", vectors.apply}} {
		for _, shared := range []bool{false, true} {
			for _, clients := range cfg.clients {
				if shared && clients == 1 {
					continue
				}
				row, err := w.measure(ctx, p, clients, cfg.writes, shared)
				if err != nil {
					return fmt.Errorf("%s, %d clients: %w", w.name, clients, err)
				}
				r.Writes = append(r.Writes, *row)
			}
		}
	}
	return nil
}

func (w *writing) measure(ctx context.Context, p *place, clients, writes int, shared bool) (row *trial.Write, err error) {
	b, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.remove()) }()
	whole, times, err := trial.Load(ctx, clients, writes, func(ctx context.Context, client, op int) error {
		if shared {
			client = 0
		}
		return w.do(ctx, b, client, op)
	})
	row = &trial.Write{Where: p.name, What: w.name, Clients: clients}
	if shared {
		row.What += ", all of one user"
	}
	row.PerSec, row.Took = float64(writes)/whole.Seconds(), trial.QuantilesOf(times)
	return row, err
}

// appendTurn appends what a user said, and the answer, to a session.
func appendTurn(ctx context.Context, b *bed, partition, op int) error {
	turn := fmt.Sprintf("turn-%d", op)
	message := func(role schema.RoleType, text string) store.Entry {
		return store.Entry{Message: backends.Message{ID: turn + string(role), Turn: turn, Message: &schema.Message{Role: role, Content: text}}, Done: role == schema.Assistant}
	}
	_, err := b.Append(ctx, userOf(partition), "chat", &store.Append{
		Scope: backends.Scope{Namespace: "bench", UserID: userOf(partition).ID, SessionID: "chat"},
		Entries: []store.Entry{
			message(schema.User, "I moved to Hangzhou in March, and my sister lives in Berlin with her two cats."),
			message(schema.Assistant, "Noted: you live in Hangzhou, and your sister in Berlin."),
		},
	})
	return err
}

// vectors are stored forms of some vectors, made before time is taken.
type vectors struct {
	stored [][]byte
	space  *store.Embedding
}

func newVectors(ctx context.Context, dim int) (*vectors, error) {
	c := trial.NewCorpus(256, 1, dim)
	ranker, err := recall.New(ctx, &recall.Config{Records: noRecords{}, Embedder: embedder{c.Topics}, EmbeddingModel: embeddingModel})
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	var v vectors
	v.stored, v.space, err = ranker.Embed(ctx, c.Texts)
	return &v, err
}

// noRecords stands for a store where none is asked.
type noRecords struct{ store.Records }

// apply stores one memory with its vector.
func (v *vectors) apply(ctx context.Context, b *bed, partition, op int) error {
	rec := &store.Record{
		Memory: backends.Memory{ID: fmt.Sprintf("m%06d", op), Kind: backends.KindFact, Text: fmt.Sprintf("The user's friend number %d lives in Rome and likes tea.", op)},
		Vector: v.stored[op%len(v.stored)],
	}
	_, err := b.Apply(ctx, userOf(partition), &store.Batch{Mutations: []store.Mutation{store.Put(rec)}, Embedding: v.space})
	return err
}
