// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/testkit"
)

const secret = "hunter2"

func hushed(s *setup) {
	s.redact = func(text string) string { return strings.ReplaceAll(text, secret, "***") }
}

// leaks returns where the secret stands in what is stored, and in what models were asked.
func (w *world) leaks() []string {
	w.t.Helper()
	var out []string
	look := func(where, text string) {
		if strings.Contains(text, secret) {
			out = append(out, where)
		}
	}
	var dump bytes.Buffer
	_, err := w.keeper.Dump(ctx, inn, &dump)
	require.NoError(w.t, err)
	for line := range strings.Lines(dump.String()) {
		look("dump: "+line, line)
	}
	all, err := w.keeper.All(ctx, inn)
	require.NoError(w.t, err)
	for _, m := range all {
		events, err := w.keeper.History(ctx, inn, m.ID)
		require.NoError(w.t, err)
		look("history: "+encode(events), encode(events))
	}
	for tool, prompts := range w.brain.asked {
		for _, p := range prompts {
			look("prompt of "+tool+": "+p, p)
		}
	}
	return out
}

// A secret is taken out of everything that is stored and everything that a model is
// shown, whichever way it came.
func TestASecretIsNowhere(t *testing.T) {
	told := func(score float64, lessons ...string) trajectory.Trajectory {
		tr := attempt(score, lessons...)
		tr.TaskID, tr.Query = "log in as "+secret, "enter "+secret
		tr.Messages = append(tr.Messages, schema.ToolMessage("the password is "+secret, "c1"))
		return tr
	}
	lesson := func(n int) string {
		return fmt.Sprintf("When %s is asked for the %d. time | Say %s %d times, then wait.", secret, n, secret, n)
	}
	w := open(t, hushed, config(func(c *task.Config) { c.Author = "model of " + secret }))
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		return "merge", known.WhenToUse, known.Content + " And " + secret + " " + fresh.Content
	}
	w.brain.query, w.brain.rewrite = "asking for "+secret, "advice"
	w.brain.rank = func(int) string { return `{"ranked_indices":[0]}` }

	for i, r := range []*task.SummaryRequest{
		{Trajectories: []trajectory.Trajectory{told(1, lesson(1)), told(0, lesson(2))}},
		{Trajectories: []trajectory.Trajectory{told(1, lesson(3))}, Simple: true},
		{Candidates: []extract.Candidate{{
			WhenToUse: "login " + secret, Content: "say " + secret, Tags: []string{secret}, ToolsUsed: []string{secret}, TaskID: secret, Query: secret,
			Source: secret, StepType: secret, Extra: map[string]any{secret: []any{map[string]any{"why": secret}}},
		}}, Metadata: map[string]any{"note": secret, "list": []string{secret}, "typed": map[string]string{"k": secret}, "deep": []map[string]any{{"k": secret}}}, Author: secret},
	} {
		r.Scope = shop
		_, err := w.Summarize(ctx, r)
		require.NoError(t, err, i)
	}
	_, err := w.Retry(ctx, &task.RetryRequest{
		Scope: shop, TaskID: secret, Query: "ask for " + secret, Rerank: true, Rewrite: true, Metadata: map[string]any{"m": secret}, Author: secret,
		Run: func(_ context.Context, a *task.Attempt) (*trajectory.Trajectory, error) {
			tr := told(float64(a.N-1), lesson(3+a.N))
			return &tr, nil
		},
	})
	require.NoError(t, err)
	w.put(backends.Memory{ID: "old", WhenToUse: "asking for *** in ***", Text: strings.Repeat("x", 1497) + secret + strings.Repeat("y", 2000)}) // of a time without redaction
	found, err := w.Retrieve(ctx, &task.RetrieveRequest{Scope: shop, Rerank: true, Rewrite: true, Messages: []*schema.Message{schema.UserMessage("what is " + secret)}})
	require.NoError(t, err)
	assert.NotContains(t, found.Query, secret)
	require.Contains(t, w.brain.last("task_rerank"), "xxx***", "what is cut is cut after it was redacted")
	require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: "old"}))
	require.NotZero(t, w.brain.calls("task_duplicates"))
	require.NotZero(t, w.brain.calls("task_rerank"))
	require.NotZero(t, w.brain.calls("task_rewrite"))
	require.NotZero(t, w.brain.calls("task_query"))
	assert.Empty(t, w.leaks())
}

// An embedder is a model, too.
func TestAnEmbedderIsShownNoSecret(t *testing.T) {
	e := &heard{Embedder: &testkit.Embedder{Dim: 8}}
	w := open(t, hushed, embedded(e))
	w.summarize("login with "+secret+" | say "+secret, pages)
	_, err := w.Retrieve(ctx, &task.RetrieveRequest{Scope: shop, Query: "login with " + secret})
	require.NoError(t, err)
	require.NotEmpty(t, e.texts)
	assert.NotContains(t, strings.Join(e.texts, "\n"), secret)
}

// Of what a redaction leaves nothing of, nothing is stored.
func TestWhatIsRedactedAwayIsNotStored(t *testing.T) {
	w := open(t, func(s *setup) { s.redact = func(text string) string { return strings.ReplaceAll(text, "hush", "") } })
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{
		{WhenToUse: "hush", Content: "say it"}, {WhenToUse: "say it", Content: " hush "}, {WhenToUse: "When reading paginated results of an API", Content: what(pages)},
	}})
	require.NoError(t, err)
	assert.Len(t, resp.Items, 1)
	w.brain.decide = func(experience, experience) (string, string, string) { return "merge", "when", "hush" }
	w.summarize(pagesNear)
	assert.Equal(t, []string{what(pages), what(pagesNear)}, w.active(), "a joining of which nothing is left is none")
}
