// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/transcript"
)

// sessions lets sessions grow and measures at some lengths what it costs to save a turn
// and to load the newest turns: times, and bytes on the wire.
type sessions struct {
	n      int   // as many clients, when they work at the same time
	turns  []int // at which lengths is measured, the shortest first
	window int   // turns that are loaded
	rounds int   // how often each session is saved to and loaded, at each length
}

// sessionsRow is what saving and loading cost at one length of the sessions.
type sessionsRow struct {
	turns      int          // in each session, before
	clients    int          // at the same time
	save, load sessionsCost // of one turn, of the window
}

// sessionsCost is what one call takes: milliseconds, and bytes on the wire, on average.
type sessionsCost struct {
	trial.Quantiles
	sent, received int64
}

func printSessions(ctx context.Context, b *bench) error {
	m := &sessions{n: 64, turns: []int{10, 100, 1000}, window: 20, rounds: 3}
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	trial.Head(b.out, "where", "turns so far", "clients", "save p50 (p95) ms", "load p50 (p95) ms",
		"bytes sent by a save", "received by a load")
	for _, p := range stores {
		rows, err := m.measure(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, r := range rows {
			trial.Row(b.out, p.name, r.turns, r.clients,
				fmt.Sprintf("%.2f (%.2f)", r.save.P50, r.save.P95), fmt.Sprintf("%.2f (%.2f)", r.load.P50, r.load.P95),
				r.save.sent, r.load.received)
		}
	}
	return nil
}

func (m *sessions) measure(ctx context.Context, p place) (rows []sessionsRow, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	var unused struct{ backends.Backend } // nothing is learnt before the end: it would be measured with the rest
	memory, err := working.New(ctx, &working.Config{
		Sessions: s, Backend: unused, Sweep: -1, Idle: 24 * time.Hour, MaxTurns: 1 << 30, MaxTokens: 1 << 30,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close(context.WithoutCancel(ctx))) }()
	w, err := window.New(&window.Config{Sessions: s, Budget: compaction.Budget{Window: 128_000}})
	if err != nil {
		return nil, err
	}
	length := make([]int, m.n) // turns in each session
	save := func(ctx context.Context, n int) error {
		length[n]++
		return memory.Append(ctx, turnOf(n, length[n]))
	}
	load := func(ctx context.Context, n int) error {
		_, err := w.Sessions().Load(ctx, &window.LoadRequest{Scope: scopeOf(n), Messages: 4 * m.window})
		return err
	}
	for _, turns := range m.turns {
		_, _, err := trial.Load(ctx, m.n, m.n, func(ctx context.Context, client, _ int) (err error) {
			for err == nil && length[client] < turns {
				err = save(ctx, client)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, clients := range []int{1, m.n} {
			row := sessionsRow{turns: turns, clients: clients}
			// The first calls open connections: they are not measured.
			_, opening := m.cost(ctx, s, clients, load)
			var loading, saving error
			row.load, loading = m.cost(ctx, s, clients, load)
			row.save, saving = m.cost(ctx, s, clients, save)
			if err := errors.Join(opening, loading, saving); err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// cost has clients call some times for each session.
func (m *sessions) cost(ctx context.Context, s *opened, clients int, call func(ctx context.Context, n int) error) (sessionsCost, error) {
	sent, received := s.sent.Load(), s.received.Load()
	ops := m.n * m.rounds
	_, times, err := trial.Load(ctx, clients, ops, func(ctx context.Context, _, op int) error { return call(ctx, op%m.n) })
	return sessionsCost{
		Quantiles: trial.QuantilesOf(times), sent: (s.sent.Load() - sent) / int64(ops), received: (s.received.Load() - received) / int64(ops),
	}, err
}

// turnOf is a question, a call, its result of about 300 tokens, and an answer.
func turnOf(n, turn int) *working.Turn {
	question := fmt.Sprintf("What does report %d of client %d say?", turn, n)
	answer := fmt.Sprintf("Report %d says that every job was finished in time, and nothing is left to do.", turn)
	messages := append([]*schema.Message{schema.UserMessage(question)}, transcript.Reading(turn, 300)...)
	messages = append(messages, schema.AssistantMessage(answer, nil))
	return &working.Turn{Scope: scopeOf(n), ID: fmt.Sprint("t", turn), Messages: messages, Done: true}
}

func scopeOf(n int) backends.Scope {
	return backends.Scope{UserID: fmt.Sprint("user-", n), SessionID: "long"}
}
