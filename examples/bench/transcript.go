// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/transcript"
)

// transcripts replays a made-up conversation of an agent with and without compaction and
// counts the tokens that its model is sent. Its summaries are made up, too, of the size
// that models write.
type transcripts struct {
	turns, window int
	seed          uint64
}

func (m *transcripts) flags(f *flag.FlagSet) {
	f.IntVar(&m.turns, "turns", 200, "how long the conversation is")
	f.IntVar(&m.window, "window", 32_000, "the model's window in `tokens`")
	f.Uint64Var(&m.seed, "seed", 1, "what the conversation is made of")
}

// replay is one way to live through the conversation. Tokens are estimated.
type replay struct {
	Compaction string          `json:"compaction" col:"compaction"`
	Calls      int             `json:"calls" col:"model calls"` // of the agent's model
	Mean       int             `json:"mean" col:"tokens a turn, mean"`
	P95        int             `json:"p95" col:"p95"`
	Last       int             `json:"last" col:"last"` // in the last turn
	Sent       int             `json:"sent" col:"tokens sent"`
	Summaries  int             `json:"summaries" col:"calls for summaries"`
	Spent      int             `json:"summary_tokens" col:"their tokens"`
	Saved      int             `json:"saved" col:"tokens saved"` // that "none" needs more, summaries paid
	Percent    float64         `json:"saved_percent" col:"%;%.1f"`
	Over       int             `json:"over" col:"turns that do not fit"`   // with a call that did not fit
	Took       trial.Quantiles `json:"took" col:"compacting, ms a call, "` // the made-up summary included

	config  func(*summariser) (*compaction.Config, error) // nil: nothing is compacted
	archive *archive.Archive
}

func (m *transcripts) measure(ctx context.Context, _ io.Writer) (r *trial.Report, err error) {
	b, err := compaction.Budget{Window: m.window}.WithDefaults()
	if err != nil || m.turns <= 0 {
		return nil, fmt.Errorf("%w: -turns is above 0, and -window more than its reserves: %w", errUsage, err)
	}
	s, err := inMemory().open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	archives, err := archive.New(&archive.Config{Sessions: s})
	if err != nil {
		return nil, err
	}
	turns, rows := transcript.Task(transcript.Seed(m.seed), m.turns), replays(b)
	for i := range rows {
		row := &rows[i]
		if row.archive, err = archives.Of(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("replay-", i)}); err != nil {
			return nil, err
		}
		if err := row.run(ctx, b, turns); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Compaction, err)
		}
		row.Saved = rows[0].Sent - row.Sent - row.Spent
		row.Percent = 100 * float64(row.Saved) / float64(max(rows[0].Sent, 1))
	}
	return &trial.Report{
		About:  []string{trial.Machine()},
		Tables: []trial.Table{{Title: fmt.Sprintf("%d turns of %d tokens in all; a window of %d tokens, %d of them for the conversation", m.turns, b.Usage(slices.Concat(turns...)).Tokens, b.Window, b.Limit()), Rows: rows}},
	}, nil
}

// replays returns the ways to live through a transcript that are compared.
func replays(b compaction.Budget) []replay {
	return []replay{
		{Compaction: "none"},
		{Compaction: "free steps", config: func(*summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Free()}, nil
		}},
		{Compaction: "free steps, down to half", config: func(*summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Free(), Trigger: 0.5}, nil
		}},
		{Compaction: "all steps", config: func(m *summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Default(m)}, nil
		}},
		{Compaction: "ReMe, auto", config: func(m *summariser) (*compaction.Config, error) {
			params := compaction.DefaultParams()
			params.MaxTotalTokens = min(params.MaxTotalTokens, b.Limit())
			params.Budget, params.Model = b, m
			return compaction.ReMe(params)
		}},
	}
}

// run lives through the turns: before each call of the agent's model the context is
// compacted, and what comes out is what the agent goes on with.
func (r *replay) run(ctx context.Context, b compaction.Budget, turns [][]*schema.Message) error {
	var compactor *compaction.Compactor
	if r.config != nil {
		config, err := r.config(&summariser{replay: r})
		if err != nil {
			return err
		}
		if compactor, err = compaction.New(config); err != nil {
			return err
		}
	}
	var messages []*schema.Message
	var sent []int // a turn
	var times []time.Duration
	for _, turn := range turns {
		tokens, over := 0, false
		for _, m := range turn {
			if m.Role == schema.Assistant { // the model is asked for it
				if compactor != nil {
					begin := time.Now()
					result, err := compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: r.archive})
					times = append(times, time.Since(begin))
					if err != nil && !errors.Is(err, compaction.ErrOver) {
						return fmt.Errorf("turn %d: %w", len(sent), err)
					}
					messages = result.Messages
					if err := transcript.Check(messages); err != nil {
						return fmt.Errorf("turn %d: %w", len(sent), err)
					}
				}
				usage := b.Usage(messages)
				over = over || usage.Over() > 0
				tokens += usage.Tokens
				r.Calls++
			}
			messages = append(messages, m)
		}
		sent = append(sent, tokens)
		r.Sent += tokens
		if over {
			r.Over++
		}
	}
	r.Last, r.Mean, r.Took = sent[len(sent)-1], r.Sent/len(sent), trial.QuantilesOf(times)
	slices.Sort(sent)
	r.P95 = sent[int(0.95*float64(len(sent)-1))]
	return nil
}

// summariser is in the place of a model that writes summaries: what it says is taken from
// what it is asked, and is as long as such answers are, an eighth of the question and at
// least 150 tokens, at most 600. It counts what it would cost.
type summariser struct {
	tools  []*schema.ToolInfo
	replay *replay
}

var _ model.ToolCallingChatModel = (*summariser)(nil)

// Generate implements model.BaseChatModel.
func (s *summariser) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	asked := 0
	for _, m := range in {
		asked += compaction.Estimate.Message(m)
	}
	answer, err := json.Marshal(map[string]any{
		"goal": "finish the reports", "directives": []string{"be brief"}, "facts": snippets(in[len(in)-1].Content, min(max(asked/8, 150), 600)),
		"failed": []string{}, "open": []string{}, "next": []string{"read the next report"},
	})
	if err != nil {
		return nil, err
	}
	m := schema.AssistantMessage(string(answer), nil)
	if len(s.tools) > 0 {
		m = schema.AssistantMessage("", []schema.ToolCall{{ID: "summary", Type: "function", Function: schema.FunctionCall{Name: s.tools[0].Name, Arguments: string(answer)}}})
	}
	said := compaction.Estimate.Message(m)
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{PromptTokens: asked, CompletionTokens: said, TotalTokens: asked + said}}
	s.replay.Summaries++
	s.replay.Spent += asked + said
	return m, nil
}

// Stream implements model.BaseChatModel.
func (s *summariser) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

// WithTools implements model.ToolCallingChatModel.
func (s *summariser) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &summariser{tools: tools, replay: s.replay}, nil
}

// snippets are pieces of a text, from its begin to its end, with so many tokens in all.
func snippets(text string, tokens int) []string {
	const each = 12 // words
	words := strings.Fields(text)
	n := max(1, tokens/(2*each))
	out := make([]string, 0, n)
	for i := range n {
		from := i * max(0, len(words)-each) / n
		out = append(out, strings.Join(words[from:min(from+each, len(words))], " "))
	}
	return out
}
