// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/transcript"
)

// replay is one way to live through a conversation. Tokens are estimated.
type replay struct {
	compaction string
	mean, p95  int // tokens that the agent's model is sent in a turn
	sent       int // in all turns
	summaries  int // calls for summaries
	spent      int // tokens of these
	over       int // turns with a call that did not fit

	config  func(*summariser) (*compaction.Config, error) // nil: nothing is compacted
	archive *archive.Archive
}

func printTranscript(ctx context.Context, b *bench) error {
	rows, err := replayAll(ctx, 200, compaction.Budget{Window: 32_000})
	if err != nil {
		return err
	}
	fmt.Fprint(b.out, "| compaction | tokens a turn, mean / p95 | all turns | calls for summaries (their tokens) | saved | turns that do not fit |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		saved := 100 * float64(rows[0].sent-r.sent-r.spent) / float64(rows[0].sent)
		fmt.Fprintf(b.out, "| %s | %d / %d | %d | %d (%d) | %.1f %% | %d |\n", r.compaction, r.mean, r.p95, r.sent, r.summaries, r.spent, saved, r.over)
	}
	return nil
}

// replayAll replays a made-up conversation of an agent with and without compaction and
// counts the tokens that its model is sent. Its summaries are made up, too, of the size
// that models write.
func replayAll(ctx context.Context, turns int, b compaction.Budget) (rows []replay, err error) {
	if b, err = b.WithDefaults(); err != nil {
		return nil, err
	}
	s, err := sqliteFile().open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	archives, err := archive.New(&archive.Config{Sessions: s})
	if err != nil {
		return nil, err
	}
	conversation := transcript.Task(transcript.Seed(1), turns)
	rows = replays(b)
	for i := range rows {
		row := &rows[i]
		if row.archive, err = archives.Of(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("replay-", i)}); err != nil {
			return nil, err
		}
		if err := row.run(ctx, b, conversation); err != nil {
			return nil, fmt.Errorf("%s: %w", row.compaction, err)
		}
	}
	return rows, nil
}

// replays returns the ways to live through a transcript that are compared.
func replays(b compaction.Budget) []replay {
	return []replay{
		{compaction: "none"},
		{compaction: "free steps", config: func(*summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Free()}, nil
		}},
		{compaction: "free steps, down to half", config: func(*summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Free(), Trigger: 0.5}, nil
		}},
		{compaction: "all steps", config: func(m *summariser) (*compaction.Config, error) {
			return &compaction.Config{Budget: b, Steps: compaction.Default(m)}, nil
		}},
		{compaction: "ReMe, auto", config: func(m *summariser) (*compaction.Config, error) {
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
	for _, turn := range turns {
		tokens, over := 0, false
		for _, m := range turn {
			if m.Role == schema.Assistant { // the model is asked for it
				if compactor != nil {
					result, err := compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: r.archive})
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
			}
			messages = append(messages, m)
		}
		sent = append(sent, tokens)
		r.sent += tokens
		if over {
			r.over++
		}
	}
	r.mean = r.sent / len(sent)
	slices.Sort(sent)
	r.p95 = sent[int(0.95*float64(len(sent)-1))]
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
	s.replay.summaries++
	s.replay.spent += asked + said
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
