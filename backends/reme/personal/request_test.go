// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store"
)

func TestR13OnlyWhatUsersSayIsLearnt(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	extra := func(text string, values map[string]any) backends.Message {
		message := said(0, text)
		message.Extra = values
		return message
	}
	w.summarize(t, ann,
		extra("I like notes", map[string]any{"_einomem": "note"}), extra("I like memories", map[string]any{"memorized": true}),
		backends.Message{Message: schema.UserMessage("For context: [planner] said: I like plans.")}, backends.Message{Message: schema.SystemMessage("I like systems")},
		backends.Message{Message: schema.ToolMessage("I like tools", "c")}, backends.Message{Message: schema.UserMessage(" \n")}, backends.Message{}, said(0, "I like tea"))
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user likes tea."}, active)
	shown := m.last(observations).user
	assert.Contains(t, shown, "I like memories", "what was learnt before is shown")
	for _, hidden := range []string{"notes", "plans", "systems", "tools"} {
		assert.NotContains(t, shown, hidden)
	}
}

func TestR13WhatARequestSaysIsKeptWithEachMemory(t *testing.T) {
	w := open(t, func(s *setting) { s.Author = "gpt" })
	expires := start.Add(time.Hour)
	metadata := map[string]any{"source": "import", "list": []any{"x"}}
	request := &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(0, "I like tea")}, Target: "Ann", Metadata: metadata, Expires: expires}
	resp, err := w.Summarize(ctx, request)
	require.NoError(t, err)
	got := resp.Items[0].Memory
	assert.Equal(t, map[string]any{"source": "import", "list": []any{"x"}, "target": "Ann", "keywords": "tea", "observation_type": "personal_info", "info_score": 3.0}, got.Metadata)
	assert.Equal(t, expires, got.Expires)
	assert.Equal(t, "gpt", got.Origin.Author)
	assert.Equal(t, map[string]any{"source": "import", "list": []any{"x"}}, metadata, "the caller's own stays as it was")
	got.Metadata["list"].([]any)[0] = "changed"
	stored, err := w.keeper.Get(ctx, partitionOf(t, ann), got.ID)
	require.NoError(t, err)
	assert.Equal(t, []any{"x"}, stored.Metadata["list"])
	request.Author, request.Messages = "importer", []backends.Message{said(0, "I like rice")}
	resp, err = w.Summarize(ctx, request)
	require.NoError(t, err)
	assert.Equal(t, "importer", resp.Items[0].Memory.Origin.Author)
}

func TestR13MessagesWithoutTimeAreOfNow(t *testing.T) {
	w := open(t)
	message := backends.Message{Message: schema.UserMessage("I like tea")}
	got := w.summarize(t, ann, message).Items[0].Memory
	assert.Equal(t, start, got.Observed)
	require.Len(t, got.Origin.MessageIDs, 1)
	assert.NotEmpty(t, got.Origin.MessageIDs[0])
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize(t, ann, message)))
}

func TestR13AnAgentHasAMemoryOfItsOwn(t *testing.T) {
	w := open(t)
	agent := backends.Scope{AgentID: "helper"}
	w.summarize(t, agent, said(0, "I live in Rome"))
	active, _ := w.known(t, agent)
	assert.Equal(t, []string{"user lives in Rome."}, active)
	assert.Empty(t, w.all(t, backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "helper"}))
}

func TestR13TheScopeOfTheContextIsTaken(t *testing.T) {
	w := open(t)
	_, err := w.Summarize(backends.WithScope(ctx, ann), &personal.SummaryRequest{Messages: []backends.Message{said(0, "I like tea")}})
	require.NoError(t, err)
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user likes tea."}, active)
}

func TestR13OneUserMayHaveSeveralNames(t *testing.T) {
	w := open(t)
	for i, target := range []string{"", "Ann"} {
		_, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Target: target, Messages: []backends.Message{said(i, []string{"I live in Rome", "I live in Oslo"}[i])}})
		require.NoError(t, err)
	}
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"Ann lives in Oslo."}, active)
	assert.Equal(t, []string{"user lives in Rome."}, past)
	got := w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "lives in", IncludeSuperseded: true})
	assert.Len(t, got.Hits, 2)
	got = w.retrieve(t, &personal.RetrieveRequest{Scope: ann, Query: "lives in", IncludeSuperseded: true, Target: "Ann"})
	assert.Len(t, got.Hits, 1)
}

// Far more statements than one comparison has room for, in both directions.
func TestDEF10ContradictionsAreFoundAcrossQuestions(t *testing.T) {
	m := newMind()
	w := open(t, with(m), within(flow.Limits{Prompt: 300}))
	w.summarize(t, ann, said(0, "I live in Beijing"))
	messages := []backends.Message{said(1, "I live in Rome")}
	for i := range 30 {
		messages = append(messages, said(2+i, fmt.Sprintf("I like thing%02dx", i)))
	}
	messages = append(messages, said(40, "I live in Oslo"))
	resp := w.summarize(t, ann, messages...)
	assert.Greater(t, m.calls(relations), 2)
	active, _ := w.known(t, ann)
	assert.Contains(t, active, "user lives in Oslo.")
	assert.NotContains(t, active, "user lives in Beijing.")
	assert.Len(t, resp.Items, 32)
	assert.Equal(t, 32, resp.Report.Stage(personal.StageStore).Out)
}

func TestDEF16ARequestStaysWithinItsLimits(t *testing.T) {
	m := newMind()
	w := open(t, with(m), within(flow.Limits{Prompt: 200, Calls: 6}))
	filler := strings.Repeat("and so on and so on. ", 20)
	resp, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{
		said(0, "I like tea "+filler), said(1, "I like rice "+filler), said(2, "I like rain "+filler), said(3, "I like snow "+filler)}})
	require.ErrorIs(t, err, flow.ErrLimit)
	assert.Equal(t, 6, resp.Report.Usage.ModelCalls)
	active, _ := w.known(t, ann)
	assert.Empty(t, active)
}

func TestDEF16WhatCannotBeAffordedCostsNothing(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	messages := make([]backends.Message, 10_000)
	for i := range messages {
		messages[i] = said(i, fmt.Sprint("I like tea", i))
	}
	resp, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: messages})
	require.ErrorIs(t, err, flow.ErrLimit)
	require.ErrorContains(t, err, "200 model calls")
	assert.Len(t, resp.Items, len(messages), "each is told of")
	assert.Zero(t, m.calls(""))
	resp, err = w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: messages, KeepPartial: true})
	require.ErrorIs(t, err, flow.ErrLimit)
	assert.Equal(t, 64, resp.Report.Usage.ModelCalls, "who keeps parts gets what the limits allow")
}

func TestR13WhatCouldNotBeComparedIsNotKept(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	w.summarize(t, ann, said(0, "I live in Beijing"))
	m.fail = func(tool string) error {
		if tool == relations {
			return errDown
		}
		return nil
	}
	resp, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(1, "I moved to Shanghai"), said(2, "I live in Beijing")}, KeepPartial: true})
	require.ErrorIs(t, err, errDown)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged, backends.OutcomeFailed}, outcomes(resp))
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Beijing."}, active)
	assert.Empty(t, past)
}

func TestDEF10AnOlderStatementThatSaysMoreStandsBeside(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	w.summarize(t, ann, said(0, "I like tea"))
	m.change = func(tool string, _ shown, answer string) string {
		if tool == relations {
			return `{"relations":[{"n":1,"relation":"extends","other":0}]}`
		}
		return answer
	}
	w.summarize(t, ann, said(-9, "I like teapots"))
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"user likes tea.", "user likes teapots."}, active)
	assert.Empty(t, past)
}

func TestR13WhatExpiredIsNotKnown(t *testing.T) {
	now := start
	w := open(t, func(s *setting) { s.Clock = func() time.Time { return now } })
	_, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(0, "I like tea")}, Expires: start.Add(time.Hour)})
	require.NoError(t, err)
	now = start.Add(2 * time.Hour)
	resp := w.summarize(t, ann, said(1, "I like tea"))
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp))
	assert.Len(t, w.all(t, partitionOf(t, ann)), 2)
}

func TestR13IDsMayBeGiven(t *testing.T) {
	n := 0
	w := open(t, func(s *setting) {
		s.IDs = func() string { n++; return fmt.Sprintf("id-%d", n) }
	})
	resp := w.summarize(t, ann, said(0, "I live in Rome"), said(1, "I moved to Oslo"))
	assert.Equal(t, "id-1", resp.Items[0].Memory.ID)
	assert.Equal(t, "id-2", resp.Items[0].Memory.SupersededBy)
}

func TestR13ADraftWritesNothing(t *testing.T) {
	w := open(t)
	d, err := w.Draft(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(0, "I like tea")}})
	require.NoError(t, err)
	assert.Empty(t, w.all(t, partitionOf(t, ann)))
	require.Len(t, d.Memories(), 1)
	d.Memories()[0].Metadata["target"] = "changed"
	assert.Equal(t, "user likes tea.", d.Memories()[0].Text)
	assert.Equal(t, 1, d.Report().Stage(personal.StageObserve).Out)
	_, err = open(t).Store(ctx, d)
	require.ErrorIs(t, err, backends.ErrInvalid, "it belongs to other flows")
	resp, err := w.Store(ctx, d)
	require.NoError(t, err)
	assert.Equal(t, "user", resp.Items[0].Memory.Metadata["target"])
}

// A partition with many memories costs one look at each of them.
func BenchmarkVerbatim(b *testing.B) {
	w := open(b, with(nil))
	p := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	batch := &store.Batch{}
	for i := range 100_000 {
		m := memory(fmt.Sprint("m", i), fmt.Sprintf("user likes the number %d more than most others do", i), 0)
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
	}
	_, err := w.keeper.Commit(ctx, p, batch, nil)
	require.NoError(b, err)
	_, err = w.keeper.All(ctx, p)
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		_, err := w.Verbatim(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(0, fmt.Sprint("I like tea of the sort ", i))}})
		require.NoError(b, err)
	}
}
