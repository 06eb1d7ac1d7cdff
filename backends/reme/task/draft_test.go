// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store"
)

// What is learnt is kept with all that is known about it (R2), on every store alike.
func TestR2TheFieldsOfATaskMemory(t *testing.T) { eachStore(t, onR2TheFieldsOfATaskMemory) }

func onR2TheFieldsOfATaskMemory(t *testing.T, st store.Store) {
	w := open(t, on(st), config(func(c *task.Config) { c.Author = "qwen3" }))
	tr := attempt(1, login)
	tr.TaskID, tr.Session, tr.Turn = "t7", "s1", "u3"
	scope := backends.Scope{Workspace: "shop", AgentID: "porter"}
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: scope, Trajectories: []trajectory.Trajectory{tr}, Metadata: map[string]any{"run": "r1", "freq": 99}})
	require.NoError(t, err)
	m := w.find(what(login))
	assert.Equal(t, resp.Memories[0], *m)
	assert.Equal(t, backends.KindTask, m.Kind)
	assert.Equal(t, "When a login is refused", m.WhenToUse)
	assert.Equal(t, 0.8, *m.Quality)
	assert.Equal(t, backends.Origin{Session: "s1", Turn: "u3", Author: "qwen3"}, m.Origin)
	assert.True(t, m.Observed.Equal(start.Add(-time.Hour)), "the time of the trajectory")
	assert.Equal(t, backends.Scope{Namespace: "default", Workspace: "shop", AgentID: "porter"}, m.Scope)
	assert.Equal(t, map[string]any{
		"tags": []any{"kettle"}, "confidence": 0.7, "step_type": "action", "tools_used": []any{"sell"}, "source": "success",
		"task_query": "sell a kettle", "task_id": "t7", "outcome": 1.0, "run": "r1",
	}, m.Metadata, "and no counts: it was not used yet")
	events, err := w.keeper.History(ctx, inn, m.ID)
	require.NoError(t, err)
	assert.Equal(t, "qwen3", events[0].Actor)
}

// Secrets are taken out before anything follows from them.
func TestWhatIsStoredIsRedacted(t *testing.T) {
	w := open(t, func(s *setup) { s.redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") } })
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{
		WhenToUse: "login with hunter2", Content: "say hunter2", Tags: []string{"hunter2"}, ToolsUsed: []string{"say hunter2"}, Query: "enter hunter2",
		Extra: map[string]any{"note": []any{map[string]any{"why": "hunter2"}}, "run": "the model's"},
	}}, Metadata: map[string]any{"run": "the caller's"}})
	require.NoError(t, err)
	m := w.find("say ***")
	assert.NotContains(t, encode(m), "hunter2")
	assert.Equal(t, []any{map[string]any{"why": "***"}}, m.Metadata["note"])
	assert.Equal(t, "the caller's", m.Metadata["run"])
	same, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{WhenToUse: "login with ***", Content: "say ***"}}})
	require.NoError(t, err)
	assert.Equal(t, resp.Memories[0].ID, same.Items[0].Memory.ID)
}

// Draft does all work of the model and writes nothing; Store writes, and asks nobody.
func TestDraftThenStore(t *testing.T) {
	w := joining(open(t))
	w.summarize(pages)
	before := w.version()
	d, err := w.Draft(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear, login)})
	require.NoError(t, err)
	assert.Equal(t, before, w.version())
	assert.Equal(t, 1, w.brain.calls("task_duplicates"))
	require.Len(t, d.Candidates, 2)
	assert.NotEmpty(t, d.Report.Stages)

	calls := w.brain.calls()
	d.Candidates = d.Candidates[:1] // somebody looked through them
	resp, err := w.Store(ctx, d)
	require.NoError(t, err)
	assert.Equal(t, calls, w.brain.calls())
	assert.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(resp))
	assert.Equal(t, 3, resp.Report.Usage.ModelCalls, "the report is that of the whole request")
	_, err = w.Store(ctx, &task.Draft{})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// A draft meets the workspace as it is when it is stored.
func TestADraftIsHeldAgainstWhatIsThereNow(t *testing.T) {
	w := open(t)
	d, err := w.Draft(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pagesNear, login)})
	require.NoError(t, err)
	w.summarize(login)
	w.summarize(pages)
	w.brain.decide = func(experience, experience) (string, string, string) { return "same", "", "" }
	resp, err := w.Store(ctx, d)
	require.NoError(t, err)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated, backends.OutcomeUnchanged}, outcomes(resp))
	assert.Equal(t, []string{what(login), what(pages)}, w.active())
}

func TestARequestOfAKnownKeyIsFree(t *testing.T) { eachStore(t, onARequestOfAKnownKeyIsFree) }

func onARequestOfAKnownKeyIsFree(t *testing.T, st store.Store) {
	w := open(t, on(st))
	r := &task.SummaryRequest{Scope: shop, Trajectories: attempts(login), IdempotencyKey: "turn 7"}
	first, err := w.Summarize(ctx, r)
	require.NoError(t, err)
	assert.False(t, first.Replayed)
	calls := w.brain.calls()
	again, err := w.Summarize(ctx, r)
	require.NoError(t, err)
	assert.True(t, again.Replayed)
	assert.Equal(t, first.Memories, again.Memories)
	assert.Equal(t, outcomes(first), outcomes(again))
	assert.Equal(t, calls, w.brain.calls(), "no model was asked")
	d, err := w.Draft(ctx, r)
	require.NoError(t, err)
	stored, err := w.Store(ctx, d)
	require.NoError(t, err)
	assert.True(t, stored.Replayed)
	require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: first.Memories[0].ID}))
	again, err = w.Summarize(ctx, r)
	require.NoError(t, err)
	assert.Empty(t, again.Memories, "what is gone is not told as stored, and not stored again")
	assert.Empty(t, w.active())

	other := backends.Scope{Workspace: "inn"}
	elsewhere, err := w.Summarize(ctx, &task.SummaryRequest{Scope: other, Trajectories: attempts(login), IdempotencyKey: "turn 7"})
	require.NoError(t, err)
	assert.False(t, elsewhere.Replayed, "keys are those of a workspace")
}

// Of two calls with one key at the same time one is told what the other stored.
func TestAKeyThatBecomesKnownMeanwhile(t *testing.T) {
	st := openStore(t)
	other := open(t, on(st))
	f := &faulty{Store: st}
	w := open(t, on(f))
	applies := 0
	f.before = func(call string) {
		if call != "Apply" {
			return
		}
		if applies++; applies == 2 { // the first asks whether the key is known
			f.before = nil
			_, err := other.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(pages), IdempotencyKey: "k"})
			assert.NoError(t, err)
		}
	}
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(login), IdempotencyKey: "k"})
	require.NoError(t, err)
	assert.True(t, resp.Replayed)
	require.Len(t, resp.Memories, 1)
	assert.Equal(t, what(pages), resp.Memories[0].Text)
	assert.Equal(t, []string{what(pages)}, w.active())
}

func TestSummarizeRefusesWhatCannotBeMeant(t *testing.T) {
	w := open(t)
	for name, c := range map[string]struct {
		r    *task.SummaryRequest
		want error
	}{
		"nothing":       {nil, backends.ErrInvalid},
		"no workspace":  {&task.SummaryRequest{Scope: backends.Scope{UserID: "ann"}}, backends.ErrNoScope},
		"a long key":    {&task.SummaryRequest{Scope: shop, IdempotencyKey: strings.Repeat("k", 481)}, backends.ErrInvalid},
		"no situation":  {&task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{Content: "x"}}}, backends.ErrInvalid},
		"no experience": {&task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{WhenToUse: "x", Content: " "}}}, backends.ErrInvalid},
		"no messages":   {&task.SummaryRequest{Scope: shop, Trajectories: make([]trajectory.Trajectory, 1)}, backends.ErrInvalid},
	} {
		_, err := w.Summarize(ctx, c.r)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{WhenToUse: "x", Content: "y"}, {WhenToUse: "x", Content: "\xff"}}})
	require.ErrorContains(t, err, "candidate 1", "an error says what of the request is wrong")
	_, err = open(t, withModel(nil)).Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(login)})
	require.ErrorIs(t, err, backends.ErrInvalid, "without a model nothing is extracted")
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop})
	require.NoError(t, err)
	assert.Empty(t, resp.Items, "nothing teaches nothing")
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	good := open(t)
	for name, c := range map[string]*task.Config{
		"nothing": nil, "no keeper": {}, "duplicate": {Keeper: good.keeper, Duplicate: 1.5}, "words": {Keeper: good.keeper, DuplicateWords: -1},
		"language": {Keeper: good.keeper, Language: "fr"},
	} {
		_, err := task.New(c)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	prompts := &task.Prompts{}
	c := &task.Config{Keeper: good.keeper, Prompts: prompts}
	_, err := task.New(c)
	require.NoError(t, err)
	assert.Nil(t, c.Models, "the configuration is not changed")
}

// A key is used up by a request that taught nothing, too: the repeat asks nobody.
func TestAKnownKeyOfNothingIsFree(t *testing.T) {
	w := open(t)
	r := &task.SummaryRequest{Scope: shop, Trajectories: attempts("login | rubbish"), IdempotencyKey: "turn 8"}
	first, err := w.Summarize(ctx, r)
	require.NoError(t, err)
	assert.Empty(t, first.Items)
	calls := w.brain.calls()
	require.NotZero(t, calls)
	again, err := w.Summarize(ctx, r)
	require.NoError(t, err)
	assert.True(t, again.Replayed)
	assert.Equal(t, calls, w.brain.calls())
}
