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
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// compactionTimes times the steps of compaction that call no model.
type compactionTimes struct {
	data    string // a file in LoCoMo's format; empty: a made-up chat of that size
	outputs int    // results of tools between the messages
	tokens  int    // of each
	limit   int    // that the context must fit
	runs    int
}

func (m *compactionTimes) flags(f *flag.FlagSet) {
	f.StringVar(&m.data, "data", "", "a `file` in LoCoMo's format; without it, a made-up chat of that size")
	f.IntVar(&m.outputs, "outputs", 10, "how many results of tools there are")
	f.IntVar(&m.tokens, "tokens", 50_000, "how many tokens each of them has")
	f.IntVar(&m.limit, "limit", 20_000, "how many tokens the context may have")
	f.IntVar(&m.runs, "runs", 20, "how often each history is compacted, each time into an empty archive")
}

// compactionRow is how long it takes to make one history fit.
type compactionRow struct {
	History  string          `json:"history" col:"history"`
	Messages int             `json:"messages" col:"messages"`
	Store    string          `json:"store" col:"store"`
	Logged   bool            `json:"logged" col:"in the log"` // the session's log holds the turns that are over
	Before   int             `json:"before" col:"tokens before"`
	After    int             `json:"after" col:"after"`
	Replaced int             `json:"replaced" col:"replaced"`
	Calls    int             `json:"calls" col:"model calls"`
	Took     trial.Quantiles `json:"took" col:"ms "`
}

func (m *compactionTimes) measure(ctx context.Context, _ io.Writer) (*trial.Report, error) {
	if err := positive("-outputs, -tokens, -limit and -runs", m.outputs, m.tokens, m.limit, m.runs); err != nil {
		return nil, err
	}
	histories, err := m.histories()
	if err != nil {
		return nil, err
	}
	stores := []*place{inMemory(), sqliteFile()}
	r := &trial.Report{About: []string{
		fmt.Sprintf("%s; %d runs of each sort", trial.Machine(), m.runs),
		fmt.Sprintf("%d results of tools of %d tokens each between the messages, a budget of %d; the steps that call no model", m.outputs, m.tokens, m.limit),
		stores[0].about, stores[1].about,
		"in the log: the session holds the messages of the turns that are over already, as those of an agent with sessions does",
	}}
	var rows []compactionRow
	for _, p := range stores {
		for _, h := range histories {
			for _, logged := range []bool{false, true} {
				row, err := m.compact(ctx, p, h, logged)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", p.name, h.name, err)
				}
				rows = append(rows, *row)
			}
		}
	}
	r.Tables = []trial.Table{{Title: "Making a history fit, in milliseconds", Rows: rows}}
	return r, nil
}

// history is a conversation with huge results of tools in it.
type history struct {
	name     string
	messages []*schema.Message
}

// A conversation of LoCoMo has this many turns on average, of about so many tokens
// (its ten conversations, counted by compaction.Estimate).
const (
	locomoTurns  = 588
	locomoTokens = 28
)

// histories returns the conversations, with the results spread over them.
func (m *compactionTimes) histories() ([]history, error) {
	if m.data == "" {
		return []history{{"made up", m.withOutputs(transcript.Chat(locomoTurns, locomoTokens))}}, nil
	}
	conversations, err := loadConversations(m.data)
	if err != nil {
		return nil, err
	}
	var out []history
	for _, c := range conversations {
		var chat []*schema.Message
		for _, t := range c.turns {
			if t.speaker == c.turns[0].speaker {
				chat = append(chat, schema.UserMessage(t.text))
			} else {
				chat = append(chat, schema.AssistantMessage(t.text, nil))
			}
		}
		out = append(out, history{c.id, m.withOutputs(chat)})
	}
	return out, nil
}

// withOutputs puts an exchange with a huge result behind a user's message, as often as
// configured, the last time at the end: there the agent works.
func (m *compactionTimes) withOutputs(chat []*schema.Message) []*schema.Message {
	out := []*schema.Message{schema.SystemMessage("You are a helpful assistant.")}
	put := 0
	for i, said := range chat {
		out = append(out, said)
		if said.Role == schema.User && put < m.outputs-1 && i*m.outputs >= (put+1)*len(chat)-len(chat)/2 {
			put++
			out = append(out, transcript.Reading(put, m.tokens)...)
		}
	}
	out = append(out, schema.UserMessage("What do the reports have in common?"))
	for ; put < m.outputs; put++ {
		out = append(out, transcript.Reading(put+1, m.tokens)...)
	}
	return out
}

// compact compacts a history some times, each time in a session of its own.
func (m *compactionTimes) compact(ctx context.Context, p *place, h history, logged bool) (row *compactionRow, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	archives, err := archive.New(&archive.Config{Sessions: s})
	if err != nil {
		return nil, err
	}
	compactor, err := compaction.New(&compaction.Config{
		Budget: compaction.Budget{Window: m.limit, Answer: -1, Tools: -1, Memories: -1}, Steps: compaction.Free(),
	})
	if err != nil {
		return nil, err
	}
	row = &compactionRow{History: h.name, Messages: len(h.messages), Store: p.name, Logged: logged}
	var times []time.Duration
	for run := range m.runs {
		scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("run-", run)}
		messages := h.messages
		if logged {
			if messages, err = appendToLog(ctx, s, scope, h.messages); err != nil {
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
		row.Before, row.After, row.Calls, row.Replaced = result.Before.Tokens, result.After.Tokens, result.Usage.ModelCalls, 0
		for _, step := range result.Steps {
			row.Replaced += step.Replaced
		}
	}
	row.Took = trial.QuantilesOf(times)
	return row, nil
}

// appendToLog appends the turns that are over to the log of a session, and returns the
// history as loading the session does: their messages carry their places in the log.
func appendToLog(ctx context.Context, log store.Sessions, s backends.Scope, messages []*schema.Message) ([]*schema.Message, error) {
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
	_, err = log.Append(ctx, p, s.SessionID, a)
	return out, err
}
