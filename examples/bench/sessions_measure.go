// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/transcript"
)

// sessionsResult is about how many tokens the result of a tool has.
const sessionsResult = 300

// sessionsRun is one store with sessions that grow.
type sessionsRun struct {
	*sessionsPlace
	cfg     *sessionsConfig
	memory  *working.Memory
	service *window.Sessions
	length  []int // turns in each session
}

// measure lets the sessions grow, and measures at each length.
func (p *sessionsPlace) measure(ctx context.Context, cfg *sessionsConfig) (rows []sessionsRow, err error) {
	b, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.remove()) }()
	r := &sessionsRun{sessionsPlace: p, cfg: cfg, length: make([]int, cfg.sessions)}
	// Nothing is learnt from what is said: it would be measured with the rest.
	r.memory, err = working.New(ctx, &working.Config{Sessions: b, Backend: idle{}, Sweep: -1, Idle: 24 * time.Hour, MaxTurns: 1 << 30, MaxTokens: 1 << 30})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.memory.Close(context.WithoutCancel(ctx))) }()
	w, err := window.New(&window.Config{Sessions: b, Budget: compaction.Budget{Window: 128_000}})
	if err != nil {
		return nil, err
	}
	r.service = w.Sessions()
	for _, turns := range cfg.turns {
		if err := r.grow(ctx, turns); err != nil {
			return nil, err
		}
		for _, clients := range []int{1, cfg.sessions} {
			row, err := r.row(ctx, turns, clients)
			if err != nil {
				return nil, err
			}
			rows = append(rows, *row)
		}
	}
	return rows, nil
}

// grow appends to the sessions until they have so many turns.
func (r *sessionsRun) grow(ctx context.Context, turns int) error {
	_, _, err := trial.Load(ctx, r.cfg.sessions, r.cfg.sessions, func(ctx context.Context, client, _ int) error {
		for r.length[client] < turns {
			if err := r.save(ctx, client); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// row measures with so many clients at the same time.
func (r *sessionsRun) row(ctx context.Context, turns, clients int) (*sessionsRow, error) {
	row := &sessionsRow{Where: r.name, Turns: turns, Clients: clients}
	var err error
	// The first calls open connections: they are not measured.
	if _, err = r.cost(ctx, clients, r.load(new(atomic.Int64))); err != nil {
		return nil, err
	}
	var loaded atomic.Int64
	if row.Load, err = r.cost(ctx, clients, r.load(&loaded)); err != nil {
		return nil, err
	}
	row.Loaded = float64(loaded.Load()) / float64(r.cfg.sessions*r.cfg.rounds)
	row.Save, err = r.cost(ctx, clients, r.save)
	return row, err
}

// cost measures a call on each session, some times.
func (r *sessionsRun) cost(ctx context.Context, clients int, call func(ctx context.Context, n int) error) (sessionsCost, error) {
	sent, received := r.wire.bytes()
	ops := r.cfg.sessions * r.cfg.rounds
	_, times, err := trial.Load(ctx, clients, ops, func(ctx context.Context, _, op int) error { return call(ctx, op%r.cfg.sessions) })
	if err != nil {
		return sessionsCost{}, err
	}
	sentNow, receivedNow := r.wire.bytes()
	return sessionsCost{
		Took: trial.QuantilesOf(times), Sent: (sentNow - sent) / int64(ops), Received: (receivedNow - received) / int64(ops),
	}, nil
}

// save appends the next turn of a session.
func (r *sessionsRun) save(ctx context.Context, n int) error {
	turn := r.length[n]
	r.length[n]++
	messages := append([]*schema.Message{schema.UserMessage(fmt.Sprintf("What does report %d of client %d say?", turn, n))}, transcript.Reading(turn, sessionsResult)...)
	messages = append(messages, schema.AssistantMessage(fmt.Sprintf("Report %d says that every job was finished in time, and nothing is left to do.", turn), nil))
	return r.memory.Append(ctx, &working.Turn{Scope: scopeOf(n), ID: fmt.Sprint("t", turn), Messages: messages, Done: true})
}

// load returns a call that loads the window of a session, and counts messages.
func (r *sessionsRun) load(loaded *atomic.Int64) func(ctx context.Context, n int) error {
	return func(ctx context.Context, n int) error {
		h, err := r.service.Load(ctx, &window.LoadRequest{Scope: scopeOf(n), Messages: 4 * r.cfg.window})
		if err == nil {
			loaded.Add(int64(len(h.Messages)))
		}
		return err
	}
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
