// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/text"
)

// answerArm is a way to know a conversation: by the turns themselves, or by a memory.
type answerArm struct {
	name           string
	memory, learns bool
	kinds          []backends.Kind // of the search; nil: all
}

var answerArms = []answerArm{
	{name: "longest"}, {name: "none"}, {name: "full"}, {name: "oracle"},
	{name: "bm25", memory: true, kinds: []backends.Kind{backends.KindEpisode}},
	{name: "facts", memory: true, learns: true, kinds: []backends.Kind{backends.KindFact}},
	{name: "facts+turns", memory: true, learns: true},
	{name: "mem0", memory: true, learns: true},
}

const (
	shownTokens = 1000 // of a memory's hits, for every arm with one
	dayLayout   = "2006-01-02 (Mon)"
)

// said returns the material of an arm without a memory: the empty text, all turns, or the turns
// that answer.
func (a *answerArm) said(c *trial.Conversation, q *trial.Question) string {
	var out strings.Builder
	for _, t := range c.Turns[:cmp.Or(q.After, len(c.Turns))] {
		if (a.name == "full" && t.Role != string(schema.System)) || (a.name == "oracle" && slices.Contains(q.Evidence, t.ID)) {
			out.WriteString(line(t.Time, cmp.Or(t.Speaker, t.Role), t.Text))
		}
	}
	return out.String()
}

// line returns a turn, or a fact.
func line(at time.Time, speaker, said string) string {
	day := ""
	if !at.IsZero() {
		day = at.Format(dayLayout) + " "
	}
	return "- " + day + speaker + ": " + text.Indent(said, "  ") + "\n"
}

// memory learns one conversation, in a file of its own or on a server.
type memory struct {
	backends.Backend
	*trial.Conversation
	*exam
	arm   *answerArm
	close func() error
	now   time.Time
	read  int // turns
}

// open returns a memory that learns with the model, or finds turns by words alone.
func (a *answerArm) open(ctx context.Context, c *trial.Conversation, with *exam) (*memory, error) {
	m := &memory{Conversation: c, exam: with, arm: a}
	if a.name == "mem0" {
		server, err := remote.NewMem0(&remote.Config{BaseURL: cmp.Or(with.mem0, "http://localhost:8888"), APIKey: os.Getenv("MEM0_API_KEY")})
		m.Backend, m.close = server, func() error { return nil }
		return m, err
	}
	s, err := place.SQLite(ctx)
	if err != nil {
		return nil, err
	}
	cfg := &mem0.Config{Store: s, Clock: func() time.Time { return m.now }, Recall: &recall.Config{Without: recall.Signals()}}
	if a.learns {
		cfg.Model, cfg.ModelTimeout, cfg.Recall = with.reader, answerTimeout, nil
	}
	backend, err := mem0.New(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	m.Backend, m.close = backend, func() error { return errors.Join(backend.Close(ctx), s.Remove()) }
	return m, nil
}

// know returns the memory's hits for a question. The hits of a server are recorded like a model's
// answer, so that a replay works offline.
func (m *memory) know(ctx context.Context, q *trial.Question, cost *backends.Usage) (string, error) {
	if m.arm.name != "mem0" {
		return m.find(ctx, q, cost)
	}
	server := &recorded{ToolCallingChatModel: finder{find: func() (string, error) { return m.find(ctx, q, cost) }}, exam: m.exam, name: "mem0"}
	said, err := server.Generate(ctx, []*schema.Message{schema.UserMessage(m.ID + ", " + q.ID + ": " + q.Text)})
	if err != nil {
		return "", fmt.Errorf("-mem0: %w", err)
	}
	if m.guessing {
		return guessed, nil
	}
	return said.Content, nil
}

// finder stands in for a model, and answers with the hits of a server.
type finder struct {
	model.ToolCallingChatModel // nil: only Generate is called
	find                       func() (string, error)
}

// Generate implements model.BaseChatModel.
func (f finder) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	known, err := f.find()
	out := schema.AssistantMessage(known, nil)
	out.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{}}
	return out, err
}

// guessed stands for the hits of a memory while the cost is estimated, since that memory is empty.
var guessed = strings.Repeat("word ", shownTokens)

// find returns as many of the memory's hits as fit, in the order in which they were said. Before
// that it learns the conversation up to the question, a session at a time; content that the model
// refuses is skipped.
func (m *memory) find(ctx context.Context, q *trial.Question, cost *backends.Usage) (string, error) {
	for until := cmp.Or(q.After, len(m.Turns)); m.read < until; {
		turns := nextTurns(m.Conversation, m.read, until)
		m.read += len(turns.Messages)
		m.now = m.Turns[m.read-1].Time
		if m.arm.name == "mem0" { // it lacks fields for the day and the speaker
			for _, t := range turns.Messages {
				t.Content = cmp.Or(t.Name, string(t.Role)) + ": " + t.Content
				if !t.Time.IsZero() {
					t.Content = t.Time.Format(dayLayout) + ", " + t.Content
				}
			}
		}
		learnt, err := m.Add(ctx, turns)
		if err != nil && (m.arm.name == "mem0" || m.fatal(err) != nil) {
			return "", err
		} else if learnt != nil {
			cost.Add(learnt.Usage)
		}
	}
	if m.guessing && m.arm.learns {
		return guessed, nil
	}
	m.now = cmp.Or(q.Time, m.now)
	found, err := m.Search(ctx, &backends.SearchRequest{Scope: backends.Scope{UserID: m.ID}, Query: q.Text, TopK: shownTokens / 20, Kinds: m.arm.kinds})
	if err != nil {
		return "", err
	}
	shown := func(h backends.Hit) string {
		return line(h.Observed, cmp.Or(h.Origin.Speaker, h.Origin.Role, "fact"), cmp.Or(h.Passage, h.Text))
	}
	left := shownTokens
	hits := slices.DeleteFunc(found.Hits, func(h backends.Hit) bool {
		left -= text.Tokens(shown(h))
		return left < 0
	})
	place := func(h backends.Hit) int {
		return slices.IndexFunc(m.Turns, func(t trial.Turn) bool { return t.ID == h.Origin.Turn })
	}
	slices.SortStableFunc(hits, func(a, b backends.Hit) int { return cmp.Compare(place(a), place(b)) })
	var out strings.Builder
	for _, h := range hits {
		out.WriteString(shown(h))
	}
	return out.String(), nil
}

// answerTimeout is how long a model may take.
const answerTimeout = 5 * time.Minute

// call is a line of a record.
type call struct {
	Hash     string            `json:"hash,omitempty"` // of model and messages
	Model    string            `json:"model"`
	Messages []*schema.Message `json:"messages"`
	Answer   *schema.Message   `json:"answer,omitempty"` // with the usage
}

// open opens the models and the record, and reads the recorded answers.
func (c *answersConfig) open(guessing bool) (*exam, error) {
	cfg, _ := openai.FromEnv()
	if cfg == nil { // a server that needs no key, or the record
		cfg = &openai.Config{BaseURL: os.Getenv("OPENAI_BASE_URL"), Model: "gpt-4o-mini"}
	}
	cfg.Timeout, cfg.Temperature = answerTimeout, new(float32)
	chat, err := openai.NewChatModel(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	e := &exam{answersConfig: c, guessing: guessing, known: map[string]*schema.Message{}, of: map[string]trial.Scores{}}
	e.reader = &recorded{ToolCallingChatModel: chat, exam: e, name: cmp.Or(c.model, cfg.Model)}
	e.judge = &recorded{ToolCallingChatModel: chat, exam: e, name: cmp.Or(c.judge, e.reader.name)}
	name, how := c.replay, os.O_RDONLY
	if c.replay == "" {
		name, how = cmp.Or(c.record, os.DevNull), os.O_RDWR|os.O_CREATE|os.O_APPEND
	}
	if e.file, err = os.OpenFile(name, how, 0o600); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(e.file)
	for line := range bytes.Lines(data) {
		var one call
		if json.Unmarshal(line, &one) != nil || one.Answer == nil || one.Answer.ResponseMeta == nil || one.Answer.ResponseMeta.Usage == nil {
			err = fmt.Errorf("%s: %.60q… is no whole line: delete what a killed program left behind", name, line)
		}
		e.known[one.Hash] = one.Answer
	}
	return e, err
}

// fatal returns the error if it ends everything. A refusal of the content and an answer in another
// form do not.
func (e *exam) fatal(err error) error {
	if e.stopped == nil && (errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrModel)) {
		return nil
	}
	return cmp.Or(e.stopped, err)
}

// recorded is a model whose calls of Generate are recorded, since this program never streams.
type recorded struct {
	model.ToolCallingChatModel
	*exam
	name   string
	learns bool // answers by a tool
}

// WithTools implements model.ToolCallingChatModel.
func (m *recorded) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	bound, err := m.ToolCallingChatModel.WithTools(tools)
	return &recorded{bound, m.exam, m.name, true}, err
}

// Generate implements model.BaseChatModel.
func (m *recorded) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	one := &call{Model: m.name, Messages: in}
	request, err := json.Marshal(one)
	if err != nil {
		return nil, err
	}
	one.Hash = fmt.Sprintf("%x", sha256.Sum256(request))[:32]
	if known := m.known[one.Hash]; known != nil {
		return known, nil
	}
	tokens := text.Tokens(string(request))
	switch {
	case m.stopped != nil:
	case m.guessing:
		one.Answer = guess(tokens, m.learns)
	case m.replay != "":
		m.stopped = errors.New("a call is not in the file: it was made with other flags, data, prompts or rankings, and -record makes it anew")
	case m.spent()+tokens > m.budget:
		m.stopped = errors.New("the -budget is spent: with a higher one and the same -record it goes on, and asks nothing twice")
	default:
		one.Answer, err = m.ToolCallingChatModel.Generate(ctx, in, append(opts, model.WithModel(m.name))...)
	}
	if err := cmp.Or(m.stopped, err); err != nil {
		return nil, err
	}
	used := one.Answer.ResponseMeta.Usage
	used.PromptTokens = cmp.Or(used.PromptTokens, tokens) // for a service that leaves counting out
	m.cost.Add(backends.Usage{ModelCalls: 1, PromptTokens: used.PromptTokens, CompletionTokens: used.CompletionTokens})
	if !m.guessing {
		m.stopped = json.NewEncoder(m.file).Encode(one)
	}
	if !m.guessing || m.learns { // two arms learn the same, but answer differently
		m.known[one.Hash] = one.Answer
	}
	return one.Answer, m.stopped
}

// guess makes up a model's answer while the cost is estimated: a short no, or in learning an empty
// answer, with as many tokens as a quarter of the prompt.
func guess(prompt int, learns bool) *schema.Message {
	out, tokens := schema.AssistantMessage("no", nil), 40
	if learns {
		nothing := schema.FunctionCall{Name: "remember", Arguments: `{"operations":[]}`}
		out, tokens = schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Type: "function", Function: nothing}}), prompt/4
	}
	out.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: prompt, CompletionTokens: tokens}}
	return out
}

// say returns a model's answer, cut off from the thoughts before it, and adds to the cost.
func (m *recorded) say(ctx context.Context, rules, asked string, cost *backends.Usage) (string, error) {
	out, err := m.Generate(ctx, []*schema.Message{schema.SystemMessage(rules), schema.UserMessage(asked)})
	if err != nil {
		return "", err
	}
	used := out.ResponseMeta.Usage
	cost.Add(backends.Usage{ModelCalls: 1, PromptTokens: used.PromptTokens, CompletionTokens: used.CompletionTokens})
	parts := strings.Split(out.Content, "</think>")
	return strings.TrimSpace(parts[len(parts)-1]), nil
}
