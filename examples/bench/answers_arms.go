// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// answerArm is a way to know a conversation: by the turns themselves, or by the note of a memory.
type answerArm struct {
	name   string
	memory string // one of the constants below; "": the turns themselves
	tokens int    // of the turns, or of the note; 0: without a bound
}

// The memories of the arms.
const (
	ofTurns   = "turns"   // keeps what was said, and has no model
	ofVectors = "vectors" // also has an embedder
	ofFacts   = "facts"   // learns by the model, and forgets the turns
	ofBoth    = "facts and turns"
	ofMem0    = "mem0" // a server
)

var answerArms = []answerArm{
	{name: "longest"}, {name: "none"}, {name: "oracle"}, {name: "full"}, {name: "bm25-400", tokens: 400}, {name: "bm25-1000", tokens: 1000},
	{"note-400", ofTurns, 400}, {"note-1000", ofTurns, 1000}, {"note-400+vectors", ofVectors, 400}, {"note-1000+vectors", ofVectors, 1000},
	{"facts", ofFacts, 1000}, {"facts+turns", ofBoth, 1000}, {"mem0", ofMem0, 1000},
}

const dayLayout = "2006-01-02 (Mon)"

var someDay = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) // for data without times

// knowledge is what the arms know of one conversation.
type knowledge struct {
	*trial.Conversation
	*exam
	plain *plain
	open  map[string]*memory
}

func (k *knowledge) close(ctx context.Context) (err error) {
	for _, m := range k.open {
		err = errors.Join(err, m.Close(ctx), m.store.Remove())
	}
	return err
}

// messages returns what an arm shows a model for a question.
func (k *knowledge) messages(ctx context.Context, a *answerArm, q *trial.Question, cost *backends.Usage) ([]*schema.Message, error) {
	asked := []*schema.Message{schema.SystemMessage(readerRules), schema.UserMessage(q.Text)}
	if q.Options != "" {
		asked[1].Content += "\n" + q.Options + "\nAnswer with the letter of one option alone, such as (a)."
	}
	if a.memory == "" {
		turns, err := k.said(a, q)
		if known := lines(turns); known != "" {
			if now := k.timeOf(q); !now.IsZero() {
				known = "Today is " + now.Format("Monday, 2 January 2006") + ".\n" + known
			}
			asked[1].Content = "<memories>\n" + known + "</memories>\n\n" + asked[1].Content
		}
		return asked, err
	}
	m := k.open[a.memory]
	if m == nil {
		var err error
		if m, err = k.remember(ctx, a.memory); err != nil {
			return nil, err
		}
		k.open[a.memory] = m
	}
	return m.messages(ctx, a, q, asked, cost)
}

// timeOf returns the time of a question, or else of the last turn before it.
func (k *knowledge) timeOf(q *trial.Question) time.Time {
	return cmp.Or(q.Time, k.Turns[cmp.Or(q.After, len(k.Turns))-1].Time)
}

// said returns the turns of an arm without a memory: none, all, those that answer, or the best by
// BM25 that fit. They are in the order in which they were said.
func (k *knowledge) said(a *answerArm, q *trial.Question) (out []trial.Turn, err error) {
	var found []int
	if a.tokens > 0 {
		if k.plain == nil {
			if k.plain, err = newPlain(k.Conversation); err != nil {
				return nil, err
			}
		}
		left := a.tokens
		for _, i := range k.plain.find(q.Text, .6, .2) { // the best pair on LoCoMo: see README.md
			if t := k.Turns[i]; i < cmp.Or(q.After, len(k.Turns)) && t.Role != string(schema.System) {
				if left -= text.Tokens(lines([]trial.Turn{t})); left < 0 {
					break
				}
				found = append(found, i)
			}
		}
	}
	for i, t := range k.Turns[:cmp.Or(q.After, len(k.Turns))] {
		if (a.name == "full" && t.Role != string(schema.System)) || (a.name == "oracle" && slices.Contains(q.Evidence, t.ID)) || slices.Contains(found, i) {
			out = append(out, t)
		}
	}
	return out, nil
}

// lines returns turns, a line each.
func lines(turns []trial.Turn) string {
	var out strings.Builder
	for _, t := range turns {
		out.WriteString("- ")
		if !t.Time.IsZero() {
			out.WriteString(t.Time.Format(dayLayout) + " ")
		}
		out.WriteString(cmp.Or(t.Speaker, t.Role) + ": " + text.Indent(t.Text, "  ") + "\n")
	}
	return out.String()
}

// memory keeps one conversation as a user's, in a file of its own or on a server.
type memory struct {
	backends.Backend
	*knowledge
	name  string
	store *place.Opened
	now   time.Time
	read  int // turns
}

// remember opens an empty memory.
func (k *knowledge) remember(ctx context.Context, name string) (_ *memory, err error) {
	m := &memory{knowledge: k, name: name}
	if m.store, err = place.SQLite(ctx); err != nil {
		return nil, err
	}
	cfg := &mem0.Config{Store: m.store, Clock: func() time.Time { return m.now }, FactsOnly: name == ofFacts}
	if m.learns() {
		cfg.Model, cfg.ModelTimeout = k.reader, answerTimeout
	}
	if called := os.Getenv("OPENAI_EMBEDDING_MODEL"); name == ofVectors && called != "" { // a replay needs none
		cfg.EmbeddingModel = called
		cfg.Embedder, err = openai.NewEmbedder(ctx, &openai.Config{
			APIKey: os.Getenv("OPENAI_API_KEY"), Model: called,
			BaseURL: cmp.Or(os.Getenv("OPENAI_EMBEDDING_BASE_URL"), os.Getenv("OPENAI_BASE_URL")),
		})
	}
	switch {
	case err != nil:
	case name == ofMem0:
		m.Backend, err = remote.NewMem0(&remote.Config{BaseURL: cmp.Or(k.mem0, "http://localhost:8888"), APIKey: os.Getenv("MEM0_API_KEY")})
	default:
		m.Backend, err = mem0.New(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, m.store.Remove())
	}
	return m, nil
}

// learns reports whether the memory learns by a model.
func (m *memory) learns() bool { return m.name == ofFacts || m.name == ofBoth || m.name == ofMem0 }

// messages returns the messages that the model of a user gets. A server's or an embedder's share in
// them is recorded like a model's answer, so that a replay works offline.
func (m *memory) messages(ctx context.Context, a *answerArm, q *trial.Question, asked []*schema.Message, cost *backends.Usage) ([]*schema.Message, error) {
	if m.name != ofMem0 && m.name != ofVectors {
		return m.prepare(ctx, a, q, asked, cost)
	}
	outside := &recorded{exam: m.exam, name: a.name, instead: func() (*schema.Message, error) {
		out, err := m.prepare(ctx, a, q, asked, cost)
		if err != nil {
			return nil, err
		}
		known := schema.AssistantMessage(out[1].Content, nil)
		known.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{}}
		return known, nil
	}}
	said, err := outside.Generate(ctx, []*schema.Message{schema.UserMessage(m.ID + ", " + q.ID + ": " + q.Text)})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	asked[1].Content = said.Content
	if m.guessing {
		asked[1].Content = guessed(a)
	}
	return asked, nil
}

// guessed stands for a note while the cost is estimated and its memory is empty.
func guessed(a *answerArm) string { return strings.Repeat("word ", a.tokens) }

// prepare returns the messages with the note, as a program of a user gets them. Before that the
// memory reads the conversation up to the question, a session at a time; content that the model
// refuses is skipped.
func (m *memory) prepare(ctx context.Context, a *answerArm, q *trial.Question, asked []*schema.Message, cost *backends.Usage) (_ []*schema.Message, err error) {
	for until := cmp.Or(q.After, len(m.Turns)); m.read < until; {
		turns := nextTurns(m.Conversation, m.read, until)
		m.read += len(turns.Messages)
		m.now = cmp.Or(m.Turns[m.read-1].Time, someDay)
		if m.name == ofMem0 { // it lacks fields for the day and the speaker
			for _, t := range turns.Messages {
				t.Content = cmp.Or(t.Name, string(t.Role)) + ": " + t.Content
				if !t.Time.IsZero() {
					t.Content = t.Time.Format(dayLayout) + ", " + t.Content
				}
			}
		}
		learnt, err := m.Add(ctx, turns)
		if err != nil && (m.name == ofMem0 || m.fatal(err) != nil) {
			return nil, err
		} else if learnt != nil {
			cost.Add(learnt.Usage)
		}
	}
	if m.guessing && m.learns() {
		asked[1].Content = guessed(a)
		return asked, nil
	}
	m.now = cmp.Or(m.timeOf(q), someDay)
	var failed error
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: m.Backend, Sessions: m.store, Mode: modes.StaticControl, NoteTokens: a.tokens, SearchTimeout: -1, Clock: func() time.Time { return m.now },
		OnError: func(_ context.Context, _ string, err error) { failed = errors.Join(failed, err) },
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mem.Close(ctx)) }()
	prepared, err := mem.Prepare(middleware.WithScope(ctx, middleware.Scope{UserID: m.ID, SessionID: "questions"}), asked)
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	for i, p := range prepared {
		prepared[i] = &schema.Message{Role: p.Role, Content: p.Content} // without marks, which stay in the process
	}
	return prepared, nil
}
