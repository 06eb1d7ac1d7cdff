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

// resultTokens is about how many tokens the result of a tool has.
const resultTokens = 300

func printSessions(ctx context.Context, b *bench) error {
	m := &sessions{n: 64, turns: []int{10, 100, 1000}, window: 20, rounds: 3}
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	fmt.Fprint(b.out, "| where | turns so far | clients | save p50 (p95) ms | load p50 (p95) ms | bytes sent by a save | received by a load |\n|---|---|---|---|---|---|---|\n")
	for _, p := range stores {
		rows, err := m.measure(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, r := range rows {
			fmt.Fprintf(b.out, "| %s | %d | %d | %.2f (%.2f) | %.2f (%.2f) | %d | %d |\n",
				p.name, r.turns, r.clients, r.save.P50, r.save.P95, r.load.P50, r.load.P95, r.save.sent, r.load.received)
		}
	}
	return nil
}

// growing are sessions in one place, each with a user of its own.
type growing struct {
	*sessions
	place  *place
	memory *working.Memory
	log    *window.Sessions
	length []int // turns in each session
}

func (m *sessions) measure(ctx context.Context, p *place) (rows []sessionsRow, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	g := &growing{sessions: m, place: p, length: make([]int, m.n)}
	// Nothing is learnt from what is said: it would be measured with the rest.
	g.memory, err = working.New(ctx, &working.Config{Sessions: s, Backend: idle{}, Sweep: -1, Idle: 24 * time.Hour, MaxTurns: 1 << 30, MaxTokens: 1 << 30})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.memory.Close(context.WithoutCancel(ctx))) }()
	w, err := window.New(&window.Config{Sessions: s, Budget: compaction.Budget{Window: 128_000}})
	if err != nil {
		return nil, err
	}
	g.log = w.Sessions()
	for _, turns := range m.turns {
		_, _, err := trial.Load(ctx, m.n, m.n, func(ctx context.Context, client, _ int) error {
			for g.length[client] < turns {
				if err := g.save(ctx, client); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, clients := range []int{1, m.n} {
			row := sessionsRow{turns: turns, clients: clients}
			// The first calls open connections: they are not measured.
			_, opening := g.cost(ctx, clients, g.load)
			row.load, err = g.cost(ctx, clients, g.load)
			if err = errors.Join(opening, err); err != nil {
				return nil, err
			}
			if row.save, err = g.cost(ctx, clients, g.save); err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// cost has clients call some times for each session.
func (g *growing) cost(ctx context.Context, clients int, call func(ctx context.Context, n int) error) (sessionsCost, error) {
	sent, received := g.place.sent.Load(), g.place.received.Load()
	ops := g.n * g.rounds
	_, times, err := trial.Load(ctx, clients, ops, func(ctx context.Context, _, op int) error { return call(ctx, op%g.n) })
	return sessionsCost{trial.QuantilesOf(times), (g.place.sent.Load() - sent) / int64(ops), (g.place.received.Load() - received) / int64(ops)}, err
}

// save appends a turn to a session: a question, a call, its result, an answer.
func (g *growing) save(ctx context.Context, n int) error {
	turn := g.length[n]
	g.length[n]++
	messages := append([]*schema.Message{schema.UserMessage(fmt.Sprintf("What does report %d of client %d say?", turn, n))}, transcript.Reading(turn, resultTokens)...)
	messages = append(messages, schema.AssistantMessage(fmt.Sprintf("Report %d says that every job was finished in time, and nothing is left to do.", turn), nil))
	return g.memory.Append(ctx, &working.Turn{Scope: scopeOf(n), ID: fmt.Sprint("t", turn), Messages: messages, Done: true})
}

// load loads the window of a session.
func (g *growing) load(ctx context.Context, n int) error {
	_, err := g.log.Load(ctx, &window.LoadRequest{Scope: scopeOf(n), Messages: 4 * g.window})
	return err
}

func scopeOf(n int) backends.Scope {
	return backends.Scope{UserID: fmt.Sprint("user-", n), SessionID: "long"}
}

// idle learns nothing.
type idle struct{}

// Search implements backends.Backend.
func (idle) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, nil
}

// Add implements backends.Backend.
func (idle) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, nil
}

// Close implements backends.Backend.
func (idle) Close(context.Context) error { return nil }
