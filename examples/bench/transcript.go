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
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// replay is one way to live through a conversation. Tokens are estimated.
type replay struct {
	compaction string
	config     *compaction.Config
	summaries  cost // of the calls that the config makes

	turns []int // tokens that the agent's model is sent in each turn
	sent  int   // in all turns
	over  int   // turns with a call that did not fit
}

// cost is what calls of a model cost.
type cost struct{ calls, tokens int }

func printTranscript(ctx context.Context, b *bench) error {
	rows, err := replayAll(ctx, 200, compaction.Budget{Window: 32_000})
	if err != nil {
		return err
	}
	trial.Head(b.out, "compaction", "tokens a turn, mean / p95", "all turns", "calls for summaries (their tokens)", "saved",
		"turns that do not fit")
	for _, r := range rows {
		n := len(r.turns)
		slices.Sort(r.turns)
		saved := 100 * float64(rows[0].sent-r.sent-r.summaries.tokens) / float64(rows[0].sent)
		trial.Row(b.out, r.compaction, fmt.Sprintf("%d / %d", r.sent/n, r.turns[int(0.95*float64(n-1))]), r.sent,
			fmt.Sprintf("%d (%d)", r.summaries.calls, r.summaries.tokens), fmt.Sprintf("%.1f %%", saved), r.over)
	}
	return nil
}

// replayAll replays a made-up conversation of an agent with and without compaction and
// counts the tokens that its model is sent. Its summaries are made up, too, of the size
// that models write.
func replayAll(ctx context.Context, turns int, b compaction.Budget) (rows []*replay, err error) {
	if b, err = b.WithDefaults(); err != nil {
		return nil, err
	}
	s, err := openSQLite(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	archives, err := archive.New(&archive.Config{Sessions: s})
	if err != nil {
		return nil, err
	}
	if rows, err = replays(b); err != nil {
		return nil, err
	}
	conversation := transcript.Task(transcript.Seed(1), turns)
	for i, r := range rows {
		x, err := archives.Of(backends.Scope{UserID: "ann", SessionID: fmt.Sprint("replay-", i)})
		if err != nil {
			return nil, err
		}
		if err := r.run(ctx, x, conversation); err != nil {
			return nil, fmt.Errorf("%s: %w", r.compaction, err)
		}
	}
	return rows, nil
}

// replays returns the ways to live through a transcript that are compared.
func replays(b compaction.Budget) ([]*replay, error) {
	none, free, half := &replay{compaction: "none"}, &replay{compaction: "free steps"}, &replay{compaction: "free steps, down to half"}
	none.config = &compaction.Config{Budget: b, Steps: []compaction.Step{}}
	free.config = &compaction.Config{Budget: b, Steps: compaction.Free()}
	half.config = &compaction.Config{Budget: b, Steps: compaction.Free(), Trigger: 0.5}
	all, auto := &replay{compaction: "all steps"}, &replay{compaction: "ReMe, auto"}
	all.config = &compaction.Config{Budget: b, Steps: compaction.Default(summariser(&all.summaries))}
	params := compaction.DefaultParams()
	params.MaxTotalTokens = min(params.MaxTotalTokens, b.Limit())
	params.Budget, params.Model = b, summariser(&auto.summaries)
	var err error
	auto.config, err = compaction.ReMe(params)
	return []*replay{none, free, half, all, auto}, err
}

// run lives through the turns: before each call of the agent's model the context is
// compacted, and what comes out is what the agent goes on with.
func (r *replay) run(ctx context.Context, x *archive.Archive, turns [][]*schema.Message) error {
	compactor, err := compaction.New(r.config)
	if err != nil {
		return err
	}
	var messages []*schema.Message
	for n, turn := range turns {
		tokens, over := 0, false
		for _, m := range turn {
			if m.Role == schema.Assistant { // the model is asked for it
				result, err := compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: x})
				if errors.As(err, new(*compaction.OverError)) {
					over, err = true, nil
				}
				if err = errors.Join(err, transcript.Check(result.Messages)); err != nil {
					return fmt.Errorf("turn %d: %w", n, err)
				}
				messages = result.Messages
				tokens += result.After.Tokens
			}
			messages = append(messages, m)
		}
		r.turns = append(r.turns, tokens)
		r.sent += tokens
		if over {
			r.over++
		}
	}
	return nil
}

// summariser is in the place of a model that writes summaries: what it says is taken from
// what it is asked, and is as long as such answers are, an eighth of the question and at
// least 150 tokens, at most 600. It counts what it would cost.
func summariser(cost *cost) model.ToolCallingChatModel {
	return testkit.New(func(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		asked := 0
		for _, m := range in {
			asked += compaction.Estimate.Message(m)
		}
		answer, _ := json.Marshal(map[string]any{ // texts always marshal
			"goal": "finish the reports", "directives": []string{"be brief"}, "next": []string{"read the next report"},
			"facts":  snippets(in[len(in)-1].Content, min(max(asked/8, 150), 600)),
			"failed": []string{}, "open": []string{},
		})
		m := schema.AssistantMessage(string(answer), nil)
		if len(opts.Tools) > 0 {
			m = demomodel.Call("summary", opts.Tools[0].Name, json.RawMessage(answer))
		}
		cost.calls++
		cost.tokens += asked + compaction.Estimate.Message(m)
		return m, nil
	})
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
