// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// bigHistory is a conversation with huge results of tools in it.
type bigHistory struct {
	name     string
	messages []*schema.Message
}

// A conversation of LoCoMo has this many turns on average, of about so many tokens
// (its ten conversations, counted by package compaction).
const (
	locomoTurns  = 588
	locomoTokens = 28
)

// histories returns the conversations, with the results spread over them.
func (cfg *compactionConfig) histories() ([]bigHistory, error) {
	if cfg.data == "" {
		return []bigHistory{cfg.withOutputs("made up", transcript.Chat(locomoTurns, locomoTokens))}, nil
	}
	conversations, err := loadDataset(cfg.data)
	if err != nil {
		return nil, err
	}
	var out []bigHistory
	for i := range conversations {
		c := &conversations[i]
		var chat []*schema.Message
		for _, t := range c.Turns {
			if t.Speaker == c.Turns[0].Speaker {
				chat = append(chat, schema.UserMessage(t.Text))
			} else {
				chat = append(chat, schema.AssistantMessage(t.Text, nil))
			}
		}
		out = append(out, cfg.withOutputs(c.ID, chat))
	}
	return out, nil
}

// withOutputs puts an exchange with a huge result behind a user's message, as
// often as configured, the last time at the end: there the agent works.
func (cfg *compactionConfig) withOutputs(name string, chat []*schema.Message) bigHistory {
	out := []*schema.Message{schema.SystemMessage("You are a helpful assistant.")}
	put := 0
	for i, m := range chat {
		out = append(out, m)
		if m.Role == schema.User && put < cfg.outputs-1 && i*cfg.outputs >= (put+1)*len(chat)-len(chat)/2 {
			put++
			out = append(out, transcript.Reading(put, cfg.tokens)...)
		}
	}
	out = append(out, schema.UserMessage("What do the reports have in common?"))
	for ; put < cfg.outputs; put++ {
		out = append(out, transcript.Reading(put+1, cfg.tokens)...)
	}
	return bigHistory{name: name, messages: out}
}

// compactionPlace is a store for archives.
type compactionPlace struct {
	name string
	open func(context.Context) (*bed, error)
}

// openMemory opens a store that ends with the process.
func openMemory(ctx context.Context) (*bed, error) {
	s, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return nil, err
	}
	return &bed{Store: s, remove: s.Close}, nil
}

// measure compacts a history some times, each time in a session of its own.
func (p compactionPlace) measure(ctx context.Context, cfg *compactionConfig, b compaction.Budget, h bigHistory, logged bool) (row *compactionRow, err error) {
	bed, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.remove()) }()
	archives, err := archive.New(&archive.Config{Sessions: bed})
	if err != nil {
		return nil, err
	}
	compactor, err := compaction.New(&compaction.Config{Budget: b, Steps: compaction.Free()})
	if err != nil {
		return nil, err
	}
	row = &compactionRow{History: h.name, Messages: len(h.messages), Store: p.name, Logged: logged}
	var times []time.Duration
	for run := range cfg.runs {
		scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("run-", run)}
		messages := h.messages
		if logged {
			if messages, err = logOf(ctx, bed, scope, h.messages); err != nil {
				return nil, err
			}
		}
		x, err := archives.Of(scope)
		if err != nil {
			return nil, err
		}
		var result *compaction.Result
		took, err := trial.Time(func() (err error) {
			result, err = compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: x})
			return err
		})
		if err != nil {
			return nil, err
		}
		times = append(times, took)
		row.note(result)
	}
	row.Took = trial.QuantilesOf(times)
	return row, nil
}

func (row *compactionRow) note(r *compaction.Result) {
	row.Before, row.After, row.Calls, row.Replaced = r.Before.Tokens, r.After.Tokens, r.Usage.ModelCalls, 0
	for _, s := range r.Steps {
		row.Replaced += s.Replaced
	}
}

// logOf appends the turns that are over to the log of a session, and returns the
// history as loading the session does: their messages carry their places in the log.
func logOf(ctx context.Context, sessions store.Sessions, s backends.Scope, messages []*schema.Message) ([]*schema.Message, error) {
	p, err := s.Speaker()
	if err != nil {
		return nil, err
	}
	out, a := slices.Clone(messages), &store.Append{Scope: s}
	turn, over := 0, len(messages)-1
	for over > 0 && messages[over].Role != schema.User {
		over--
	}
	for i, m := range messages[:over] {
		if m.Role == schema.System {
			continue
		}
		if m.Role == schema.User {
			turn++
		}
		id := fmt.Sprint("t", turn)
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: fmt.Sprint(id, "-", i), Turn: id, Time: backends.SystemClock(), Message: m}})
		out[i] = einox.MarkTurn(einox.MarkSeq(m, int64(len(a.Entries))), id)
	}
	_, err = sessions.Append(ctx, p, s.SessionID, a)
	return out, err
}
