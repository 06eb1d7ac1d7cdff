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
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/text"
)

// answerTimeout is how long a model may take.
const answerTimeout = 5 * time.Minute

// call is a line of a record.
type call struct {
	Hash     string            `json:"hash,omitempty"` // of model and messages
	Model    string            `json:"model"`
	Messages []*schema.Message `json:"messages"`
	Answer   *schema.Message   `json:"answer,omitempty"` // with the usage
	Seconds  float64           `json:"seconds,omitempty"`
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
	e := &exam{answersConfig: c, guessing: guessing, known: map[string]*call{}, of: map[string]trial.Scores{}}
	e.reader = &recorded{ToolCallingChatModel: chat, exam: e, name: cmp.Or(c.model, cfg.Model)}
	e.judge = &recorded{ToolCallingChatModel: chat, exam: e, name: c.judge}
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
		e.known[one.Hash] = &one
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
	name    string
	learns  bool                            // answers by a tool
	instead func() (*schema.Message, error) // answers in the model's place
}

// WithTools implements model.ToolCallingChatModel.
func (m *recorded) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	bound, err := m.ToolCallingChatModel.WithTools(tools)
	return &recorded{ToolCallingChatModel: bound, exam: m.exam, name: m.name, learns: true}, err
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
		m.took += known.Seconds
		return known.Answer, nil
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
	case m.instead != nil:
		one.Answer, err = m.instead()
	default:
		began := time.Now()
		one.Answer, err = m.ToolCallingChatModel.Generate(ctx, in, append(opts, model.WithModel(m.name))...)
		one.Seconds = time.Since(began).Seconds()
		m.took += one.Seconds
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
		m.known[one.Hash] = one
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
func (m *recorded) say(ctx context.Context, asked []*schema.Message, cost *backends.Usage) (string, error) {
	out, err := m.Generate(ctx, asked)
	if err != nil {
		return "", err
	}
	used := out.ResponseMeta.Usage
	cost.Add(backends.Usage{ModelCalls: 1, PromptTokens: used.PromptTokens, CompletionTokens: used.CompletionTokens})
	parts := strings.Split(out.Content, "</think>")
	return strings.TrimSpace(parts[len(parts)-1]), nil
}
