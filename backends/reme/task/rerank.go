// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// How many characters of a text a model is shown.
const (
	maxExperienceShown = 3000
	maxQueryShown      = 4000
	maxMessageShown    = 2000
)

const (
	queryMessages   = 6 // newest messages that the model makes a query of
	plainMessages   = 3 // newest messages that are a query themselves
	rewriteMessages = 3 // newest messages that the model is shown when it rewrites
)

// newest returns the last n messages that are part of the conversation, redacted, as
// texts and as a model is shown them: no system prompts, no notes of memory, nothing
// empty.
func (m *Memory) newest(messages []*schema.Message, n int) (texts []string, shown fenced) {
	var blocks []string
	for _, msg := range slices.Backward(messages) {
		if msg == nil || msg.Role == schema.System || einox.IsNote(msg) || len(texts) == n {
			continue
		}
		s := einox.Text(msg)
		for _, c := range msg.ToolCalls {
			s += "\n" + c.Function.Name + " " + c.Function.Arguments
		}
		if s = text.Middle(m.redact(s), maxMessageShown); s != "" {
			texts, blocks = append(texts, s), append(blocks, string(msg.Role)+"\n"+indent(s))
		}
	}
	slices.Reverse(texts)
	slices.Reverse(blocks)
	return texts, fenced{"messages", strings.Join(blocks, "")}
}

// query returns what to look for: the request's query, else one that the model makes of
// its messages, else the last of these. With an error it is the last messages.
func (m *Memory) query(ctx context.Context, run *ask.Run, r *RetrieveRequest) (string, error) {
	if q := m.redact(r.Query); q != "" {
		return q, nil
	}
	texts, shown := m.newest(r.Messages, queryMessages)
	plain := strings.Join(texts[max(0, len(texts)-plainMessages):], "\n")
	if r.Simple || m.config.Model == nil || len(texts) == 0 {
		return plain, nil
	}
	stage := run.Stage(stageQuery)
	stage.In(len(texts))
	q := m.question(m.config.Language.For(texts...), func(p *Prompts) string { return p.Query }, shown)
	query, err := ask.Text(ctx, run, q, nil)
	if err != nil {
		return plain, fmt.Errorf("task: the query is the last messages: %w", err)
	}
	stage.Out(1)
	return m.redact(query), nil
}

// shown is an experience as a model is shown it, under a heading. It is redacted as a
// whole before it is shortened, so that no half of a secret is left.
func (m *Memory) shown(heading, when, content string) string {
	short := func(s string) string { return indent(text.Middle(m.redact(s), maxExperienceShown)) }
	return heading + "\nwhen_to_use:\n" + short(when) + "experience:\n" + short(content)
}

// shownHits are hits as one prompt shows them, numbered from 0, each within an even share
// of its tokens.
func (m *Memory) shownHits(hits []backends.Hit) fenced {
	var b strings.Builder
	for i := range hits {
		shown := m.shown(fmt.Sprint("experience ", i), hits[i].WhenToUse, hits[i].Text)
		b.WriteString(text.Fit(shown, m.config.PromptTokens/len(hits), text.Tokens))
	}
	return fenced{"experiences", b.String()}
}

// order is what the model answers about memories.
type order struct {
	Ranked    []int  `json:"ranked_indices" jsonschema_description:"numbers, the most helpful first; empty if none helps"`
	Reasoning string `json:"reasoning,omitempty" jsonschema_description:"why, in a sentence"`
}

// rerank lets the model put the hits in order: those that it names first, in its order,
// then the others as they were. Their Rerank part falls from 1 by even steps; it is 0 for
// those that were not named. On an error the order is as before.
func (m *Memory) rerank(ctx context.Context, run *ask.Run, query string, hits []backends.Hit) error {
	if len(hits) < 2 {
		return nil
	}
	stage := run.Stage(stageRerank)
	stage.In(len(hits))
	q := m.question(m.config.Language.For(query), func(p *Prompts) string { return p.Rerank }, fenced{"task", indent(text.Middle(query, maxQueryShown))}, m.shownHits(hits))
	q.Tool, q.Purpose = "task_rerank", "Give the order of the experiences."
	answer, err := ask.For(ctx, run, q, func(o *order) error {
		for i, n := range o.Ranked {
			if n < 0 || n >= len(hits) || slices.Contains(o.Ranked[:i], n) {
				return fmt.Errorf("ranked_indices: %d stands there twice, or is no number from 0 to %d", n, len(hits)-1)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("task: the order is that of the search: %w", err)
	}
	ranked := answer.Value.Ranked
	for i, n := range ranked {
		hits[n].Parts.Rerank = 1 - float64(i)/float64(len(hits))
	}
	slices.SortStableFunc(hits, func(a, b backends.Hit) int { return cmp.Compare(b.Parts.Rerank, a.Parts.Rerank) })
	stage.Out(len(ranked))
	stage.Drop(len(hits) - len(ranked))
	return nil
}

// rewrite makes one piece of advice of the hits.
func (m *Memory) rewrite(ctx context.Context, run *ask.Run, r *RetrieveRequest, resp *RetrieveResponse) error {
	stage := run.Stage(stageRewrite)
	stage.In(len(resp.Hits))
	l := m.config.Language.For(resp.Query)
	_, said := m.newest(r.Messages, rewriteMessages)
	q := m.question(l, func(p *Prompts) string { return p.Rewrite }, fenced{"task", indent(text.Middle(resp.Query, maxQueryShown))}, said, m.shownHits(resp.Hits))
	advice, err := ask.Text(ctx, run, q, func(s string) error {
		if !text.HasWords(s) {
			return errors.New("the advice is blank")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("task: the answer is not rewritten: %w", err)
	}
	stage.Out(1)
	resp.Answer, resp.Rewritten = advice, true
	return nil
}
