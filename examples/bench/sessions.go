// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
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

// sessions lets sessions grow and measures at some lengths what it costs to save a turn
// and to load the newest turns: times, and bytes on the wire.
type sessions struct {
	url    string        // of a server; empty: SQLite alone
	n      int           // as many clients, when they work at the same time
	turns  trial.Numbers // at which lengths is measured
	window int           // turns that are loaded
	rounds int           // how often each session is saved to and loaded, at each length
}

func (m *sessions) flags(f *flag.FlagSet) {
	m.turns = trial.Numbers{10, 100, 1000}
	f.StringVar(&m.url, "redis", "", "the `URL` of a server without other users; without it, SQLite alone")
	f.IntVar(&m.n, "sessions", 64, "how many sessions, each with a client of its own")
	f.Var(&m.turns, "turns", "at how many turns is measured, separated by commas")
	f.IntVar(&m.window, "window", 20, "how many turns are loaded")
	f.IntVar(&m.rounds, "rounds", 3, "how often each session is saved to and loaded")
}

// sessionsRow is what saving and loading cost at one length of the sessions.
type sessionsRow struct {
	Where   string       `json:"where" col:"where"`
	Turns   int          `json:"turns" col:"turns"`          // in each session, before
	Clients int          `json:"clients" col:"clients"`      // at the same time
	Save    sessionsCost `json:"save" col:"save "`           // of one turn
	Load    sessionsCost `json:"load" col:"load "`           // of the window
	Loaded  float64      `json:"loaded" col:"messages;%.0f"` // in a window, on average
}

// sessionsCost is what one call takes: milliseconds, and bytes on the wire, on average.
type sessionsCost struct {
	trial.Quantiles `col:""`
	Sent            int64 `json:"sent_bytes,omitempty" col:"sent;%d;blank"`
	Received        int64 `json:"received_bytes,omitempty" col:"received;%d;blank"`
}

// resultTokens is about how many tokens the result of a tool has.
const resultTokens = 300

func (m *sessions) measure(ctx context.Context, progress io.Writer) (*trial.Report, error) {
	if err := positive("-sessions, -window and -rounds", m.n, m.window, m.rounds); err != nil {
		return nil, err
	}
	slices.Sort(m.turns)
	r := &trial.Report{About: []string{
		fmt.Sprintf("%s; %d sessions, %d calls of each sort in each row", trial.Machine(), m.n, m.n*m.rounds),
		fmt.Sprintf("a turn: a question, a call, its result of about %d tokens, an answer; loaded are the newest %d turns", resultTokens, m.window),
	}}
	stores, err := places(ctx, m.url, r)
	if err != nil {
		return nil, err
	}
	var rows []sessionsRow
	for _, p := range stores {
		fmt.Fprintf(progress, "%s: %d sessions\n", p.name, m.n)
		more, err := m.measureIn(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, more...)
	}
	r.Tables = []trial.Table{{Title: "Milliseconds, and bytes on the wire, of one call", Rows: rows}}
	return r, nil
}

// growing is one store with sessions that grow.
type growing struct {
	*sessions
	place  *place
	memory *working.Memory
	log    *window.Sessions
	length []int // turns in each session
}

func (m *sessions) measureIn(ctx context.Context, p *place) (rows []sessionsRow, err error) {
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
			row, err := g.row(ctx, turns, clients)
			if err != nil {
				return nil, err
			}
			rows = append(rows, *row)
		}
	}
	return rows, nil
}

// row measures with so many clients at the same time.
func (g *growing) row(ctx context.Context, turns, clients int) (row *sessionsRow, err error) {
	row = &sessionsRow{Where: g.place.name, Turns: turns, Clients: clients}
	// The first calls open connections: they are not measured.
	if _, err = g.cost(ctx, clients, g.load(new(atomic.Int64))); err != nil {
		return nil, err
	}
	var loaded atomic.Int64
	if row.Load, err = g.cost(ctx, clients, g.load(&loaded)); err != nil {
		return nil, err
	}
	row.Loaded = float64(loaded.Load()) / float64(g.n*g.rounds)
	row.Save, err = g.cost(ctx, clients, g.save)
	return row, err
}

// cost measures a call on each session, some times.
func (g *growing) cost(ctx context.Context, clients int, call func(ctx context.Context, n int) error) (sessionsCost, error) {
	sent, received := g.place.sent.Load(), g.place.received.Load()
	ops := g.n * g.rounds
	_, times, err := trial.Load(ctx, clients, ops, func(ctx context.Context, _, op int) error { return call(ctx, op%g.n) })
	return sessionsCost{
		Quantiles: trial.QuantilesOf(times),
		Sent:      (g.place.sent.Load() - sent) / int64(ops), Received: (g.place.received.Load() - received) / int64(ops),
	}, err
}

// save appends the next turn of a session.
func (g *growing) save(ctx context.Context, n int) error {
	turn := g.length[n]
	g.length[n]++
	messages := append([]*schema.Message{schema.UserMessage(fmt.Sprintf("What does report %d of client %d say?", turn, n))}, transcript.Reading(turn, resultTokens)...)
	messages = append(messages, schema.AssistantMessage(fmt.Sprintf("Report %d says that every job was finished in time, and nothing is left to do.", turn), nil))
	return g.memory.Append(ctx, &working.Turn{Scope: scopeOf(n), ID: fmt.Sprint("t", turn), Messages: messages, Done: true})
}

// load returns a call that loads the window of a session, and counts messages.
func (g *growing) load(loaded *atomic.Int64) func(ctx context.Context, n int) error {
	return func(ctx context.Context, n int) error {
		h, err := g.log.Load(ctx, &window.LoadRequest{Scope: scopeOf(n), Messages: 4 * g.sessions.window})
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
