// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
)

// worked is a turn in which a tool says how it went.
func worked(id, verdict string) []backends.Message {
	note := schema.UserMessage("LESSON a note of memory | is never learnt from")
	note = einox.Mark{Kind: einox.Note}.On(note)
	return turn(id,
		note,
		schema.UserMessage("Refund order 7 FACT ann sells tea"),
		schema.AssistantMessage("LESSON refunding an order | check the payment first", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "submit", Arguments: `{}`}}}),
		&schema.Message{Role: schema.Tool, ToolName: "submit", ToolCallID: "c1", Content: verdict},
		schema.AssistantMessage("Done.", nil),
	)
}

func outcomes(items []backends.Item) map[string]backends.Outcome {
	out := map[string]backends.Outcome{}
	for i := range items {
		if text := items[i].Memory.Text; out[text] == "" {
			out[text] = items[i].Outcome
		}
	}
	return out
}

func TestAnOutcomeComesFromACallback(t *testing.T) {
	var asked []*reme.Turn
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Outcome = func(_ context.Context, turn *reme.Turn) (*reme.Outcome, error) {
			asked = append(asked, turn)
			if turn.ID == "t2" {
				return nil, nil
			}
			return &reme.Outcome{Score: 1, TaskID: "refunds", Note: "the customer was happy"}, nil
		}
	})
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: append(worked("t1", "{}"), worked("t2", "{}")...), IdempotencyKey: "k"})
	require.NoError(t, err)
	assert.Equal(t, map[string]backends.Outcome{"check the payment first": backends.OutcomeAdded, "ann sells tea": backends.OutcomeAdded}, outcomes(resp.Items))
	require.Len(t, asked, 2)
	assert.Equal(t, ann, asked[0].Scope)
	assert.Len(t, asked[0].Messages, 4, "without the note")
	got, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "refunding", Kinds: []backends.Kind{backends.KindTask}})
	require.NoError(t, err)
	require.Len(t, got.Hits, 1)
	m := got.Hits[0]
	assert.Equal(t, "refunds", m.Metadata["task_id"])
	assert.Equal(t, "t1", m.Origin.Turn)
	assert.Equal(t, "s1", m.Origin.Session)

	again, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: append(worked("t1", "{}"), worked("t2", "{}")...), IdempotencyKey: "k"})
	require.NoError(t, err)
	assert.True(t, again.Replayed)
	assert.Len(t, find(t, b, ann, "refunding tea"), 2)
}

func TestAnOutcomeThatCannotBeFoundOutStoresNothing(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) { return nil, errors.New("the judge is ill") }
	})
	_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: worked("t1", "{}")})
	require.ErrorContains(t, err, "the judge is ill")
	assert.Empty(t, find(t, b, ann, "refunding tea"))
}

func TestAnOutcomeComesFromAToolsVerdict(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) { c.Verdict = reme.VerdictOf("submit", "passed") })
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed": true}`)})
	require.NoError(t, err)
	assert.Equal(t, backends.OutcomeAdded, outcomes(resp.Items)["check the payment first"])

	other := backends.Scope{UserID: "bob", Workspace: "other"}
	resp, err = b.Add(t.Context(), &backends.AddRequest{Scope: other, Messages: worked("t1", "who knows")})
	require.NoError(t, err)
	assert.Equal(t, map[string]backends.Outcome{"ann sells tea": backends.OutcomeAdded}, outcomes(resp.Items), "an unknown outcome is no failure")
}

func TestVerdictsOfTools(t *testing.T) {
	verdict := reme.VerdictOf("submit", "score")
	for result, want := range map[string]float64{
		`{"score": 0.5}`: 0.5, `{"score": true}`: 1, `{"score": false}`: 0, "```json\n{\"score\": 1}\n```": 1,
		`{"score": "good"}`: -1, `{}`: -1, `[1]`: -1, `nonsense`: -1, ``: -1, `you said {"score": 1}, which is wrong: {"score": 0}`: -1, `{"score": 1e999}`: -1,
	} {
		score, ok := verdict(&schema.Message{Role: schema.Tool, ToolName: "submit", Content: result})
		assert.Equal(t, want >= 0, ok, result)
		if ok {
			assert.InDelta(t, want, score, 1e-9, result)
		}
	}
	_, ok := verdict(&schema.Message{Role: schema.Tool, ToolName: "other", Content: `{"score": 1}`})
	assert.False(t, ok)
}

func logged(t *testing.T, db store.Store, turns ...[]backends.Message) {
	t.Helper()
	p, err := ann.Speaker()
	require.NoError(t, err)
	for _, messages := range turns {
		a := &store.Append{Scope: ann}
		for _, m := range messages {
			a.Entries = append(a.Entries, store.Entry{Message: m})
		}
		_, err = db.Append(t.Context(), p, "s1", a)
		require.NoError(t, err)
	}
}

func TestAnOutcomeComesFromACall(t *testing.T) {
	db := open(t)
	b, learner := newBackend(t, db, nil)
	var noise [][]backends.Message
	for i := range 30 {
		for range 50 {
			noise = append(noise, turn(string(rune('A'+i)), schema.UserMessage("hello")))
		}
	}
	logged(t, db, worked("t1", "{}"))
	for i, n := range noise[:1200] {
		n[0].ID = n[0].ID + string(rune('a'+i%26)) + string(rune('a'+i/26))
		logged(t, db, n)
	}
	logged(t, db, turn("t9", schema.UserMessage("Sell order 9"), schema.AssistantMessage("LESSON selling an order | ask for the colour", nil)))

	resp, err := b.RecordOutcome(t.Context(), &backends.OutcomeRequest{Scope: ann, Turn: "t1", Score: 1, Note: "well done"})
	require.NoError(t, err)
	assert.Equal(t, map[string]backends.Outcome{"check the payment first": backends.OutcomeAdded}, outcomes(resp.Items))

	asked := len(learner.Calls())
	resp, err = b.RecordOutcome(t.Context(), &backends.OutcomeRequest{Scope: ann, Turn: "t1", Score: 1, Note: "well done"})
	require.NoError(t, err)
	assert.True(t, resp.Replayed)
	assert.Len(t, learner.Calls(), asked, "a repeat asks no model")

	resp, err = b.RecordOutcome(t.Context(), &backends.OutcomeRequest{Scope: ann, Score: 0})
	require.NoError(t, err)
	assert.Equal(t, map[string]backends.Outcome{"ask for the colour": backends.OutcomeAdded}, outcomes(resp.Items), "the newest turn")
}

func TestOutcomesOfNothing(t *testing.T) {
	db := open(t)
	b, _ := newBackend(t, db, nil)
	logged(t, db, worked("t1", "{}"))
	for name, c := range map[string]struct {
		r    backends.OutcomeRequest
		want error
	}{
		"an unknown turn":    {backends.OutcomeRequest{Scope: ann, Turn: "t2"}, backends.ErrNotFound},
		"an unknown session": {backends.OutcomeRequest{Scope: backends.Scope{UserID: "ann", SessionID: "s2", Workspace: "lab"}}, backends.ErrNotFound},
		"no workspace":       {backends.OutcomeRequest{Scope: backends.Scope{UserID: "ann", SessionID: "s1"}, Turn: "t1"}, backends.ErrNoScope},
		"no user's session":  {backends.OutcomeRequest{Scope: backends.Scope{Workspace: "lab", SessionID: "s1"}, Turn: "t1"}, backends.ErrNoScope},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.RecordOutcome(t.Context(), &c.r)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestExperienceThatIsWrittenDown(t *testing.T) {
	b, learner := newBackend(t, open(t), nil)
	note := &backends.AddRequest{Scope: backends.Scope{Workspace: "lab"}, Kind: backends.KindTask, Verbatim: true, Author: "agent", Messages: turn("t1", schema.UserMessage("退款之前先核对付款"))}
	resp, err := b.Add(t.Context(), note)
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	assert.Equal(t, backends.OutcomeAdded, resp.Items[0].Outcome)
	assert.Equal(t, "agent", resp.Items[0].Memory.Origin.Author)
	resp, err = b.Add(t.Context(), note)
	require.NoError(t, err)
	assert.Equal(t, backends.OutcomeUnchanged, resp.Items[0].Outcome)
	assert.Empty(t, learner.Calls())
	assert.Equal(t, []string{"退款之前先核对付款"}, find(t, b, ann, "退款"))

	resp, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Kind: backends.KindTask, Messages: turn("t1", schema.UserMessage("FACT ann likes tea"))})
	require.NoError(t, err)
	assert.Empty(t, resp.Items, "it is not known how it went, and nothing else was asked for")
	assert.Empty(t, learner.Calls())
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{UserID: "ann"}, Kind: backends.KindTask, Messages: turn("t1", schema.UserMessage("x"))})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Kind: backends.KindFact, Messages: turn("t1", schema.UserMessage("x"))})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAnAgentMayLearnFromItsWorkAlone(t *testing.T) {
	b, learner := newBackend(t, open(t), func(c *reme.Config) {
		c.Verdict, c.NoPersonal = reme.VerdictOf("submit", "passed"), true
	})
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed": true}`)})
	require.NoError(t, err)
	assert.Equal(t, map[string]backends.Outcome{"check the payment first": backends.OutcomeAdded}, outcomes(resp.Items))
	assert.Zero(t, learner.Asked("personal_statements"))
	resp, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Verbatim: true, Messages: turn("t2", schema.UserMessage("ann sells tea"))})
	require.NoError(t, err)
	assert.Len(t, resp.Items, 1, "what is asked for")
}

// Sessions and turns of two users may have the same names.
func TestOutcomesOfTwoUsersAreTwo(t *testing.T) {
	db := open(t)
	b, _ := newBackend(t, db, nil)
	for user, lesson := range map[string]string{"ann": "LESSON refunding an order | check the payment first", "bob": "LESSON selling an order | ask for the colour"} {
		s := backends.Scope{UserID: user, SessionID: "s1", Workspace: "lab"}
		p, err := s.Speaker()
		require.NoError(t, err)
		a := &store.Append{Scope: s}
		for _, m := range turn("t1", schema.UserMessage("do it"), schema.AssistantMessage(lesson, nil)) {
			a.Entries = append(a.Entries, store.Entry{Message: m})
		}
		_, err = db.Append(t.Context(), p, "s1", a)
		require.NoError(t, err)
		resp, err := b.RecordOutcome(t.Context(), &backends.OutcomeRequest{Scope: s, Turn: "t1", Score: 1})
		require.NoError(t, err)
		assert.False(t, resp.Replayed, user)
		require.Len(t, resp.Items, 1)
		assert.Equal(t, backends.OutcomeAdded, resp.Items[0].Outcome)
	}
}

// The log gives a long turn piece by piece: how it went is asked once, of all of it.
func TestALongTurnIsLearntFromAsAWhole(t *testing.T) {
	db := open(t)
	asked := map[string][]int{}
	b, learner := newBackend(t, db, func(c *reme.Config) {
		c.Outcome = func(_ context.Context, turn *reme.Turn) (*reme.Outcome, error) {
			asked[turn.ID] = append(asked[turn.ID], len(turn.Messages))
			return &reme.Outcome{Score: 1}, nil
		}
	})
	memory, err := working.New(t.Context(), &working.Config{Sessions: db, Backend: b, MaxTokens: 60})
	require.NoError(t, err)
	defer func() { require.NoError(t, memory.Close(context.Background())) }()
	long := []*schema.Message{schema.UserMessage("Refund order 7 FACT ann sells tea")}
	for range 6 {
		long = append(long, schema.AssistantMessage(strings.Repeat("thinking about it ", 10), nil))
	}
	long = append(long, schema.AssistantMessage("LESSON refunding an order | check the payment first", nil))
	for _, turn := range []*working.Turn{
		{Scope: ann, ID: "before", Messages: []*schema.Message{schema.UserMessage("hello"), schema.AssistantMessage("LESSON greeting | say hello", nil)}, Done: true},
		{Scope: ann, ID: "long", Messages: long},
		{Scope: ann, ID: "long", First: len(long), Done: true}, // the end, marked alone
		{Scope: ann, ID: "after", Messages: []*schema.Message{schema.UserMessage("bye"), schema.AssistantMessage("LESSON parting | say goodbye", nil)}, Done: true},
	} {
		require.NoError(t, memory.Append(t.Context(), turn))
	}
	_, err = memory.Consolidate(t.Context(), ann)
	require.NoError(t, err)
	assert.Equal(t, map[string][]int{"before": {2}, "long": {len(long)}, "after": {2}}, asked)
	assert.Equal(t, 3, learner.Asked("extract_experiences"))
	assert.ElementsMatch(t, []string{"say hello", "check the payment first", "say goodbye"}, find(t, b, ann, "greeting refunding parting", backends.KindTask))
}

// A turn in which nothing was done teaches nothing, and prevents no learning.
func TestATurnOfNothingIsNoAttempt(t *testing.T) {
	b, learner := newBackend(t, open(t), func(c *reme.Config) {
		c.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) { return &reme.Outcome{Score: 1}, nil }
	})
	messages := append(turn("t0", schema.SystemMessage("be kind")), turn("t1", schema.UserMessage("FACT ann sells tea"))...)
	_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: messages})
	require.NoError(t, err)
	assert.Equal(t, []string{"ann sells tea"}, find(t, b, ann, "tea"))
	assert.Zero(t, learner.Asked("extract_experiences"), "without an answer it is no attempt at a task")
}

// What an agent notes down is known about the user, and is no attempt at a task.
func TestNotesOfTheAgentAreLearntFrom(t *testing.T) {
	b, learner := newBackend(t, open(t), func(c *reme.Config) {
		c.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) { return &reme.Outcome{Score: 1}, nil }
	})
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: backends.AuthorAgent, Messages: turn("t1",
		schema.AssistantMessage("FACT ann sells tea", nil), schema.AssistantMessage("ann was born in Oslo", nil))})
	require.NoError(t, err)
	assert.Equal(t, map[string]backends.Outcome{"ann sells tea": backends.OutcomeAdded, "ann was born in Oslo": backends.OutcomeAdded}, outcomes(resp.Items))
	for _, item := range resp.Items {
		assert.Equal(t, "assistant", item.Memory.Origin.Role)
		assert.Equal(t, backends.AuthorAgent, item.Memory.Origin.Author)
	}
	assert.Zero(t, learner.Asked("extract_experiences"))
	assert.Len(t, learner.Calls(), 1)
}

// A stretch of the log that costs more than a request may is divided at once, and not
// tried again and again.
func TestAStretchThatCostsTooMuchIsDivided(t *testing.T) {
	db := open(t)
	b, learner := newBackend(t, db, func(c *reme.Config) {
		c.Limits.Calls = 4 // a turn needs two for its lesson, and two for its fact
		c.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) { return &reme.Outcome{Score: 1}, nil }
	})
	memory, err := working.New(t.Context(), &working.Config{Sessions: db, Backend: b})
	require.NoError(t, err)
	defer func() { require.NoError(t, memory.Close(context.Background())) }()
	for i, what := range []string{"greeting | say hello", "parting | say goodbye", "refunding | check the payment", "selling | ask for the colour", "buying | compare", "packing | keep it dry"} {
		require.NoError(t, memory.Append(t.Context(), &working.Turn{Scope: ann, ID: fmt.Sprint("t", i), Messages: []*schema.Message{schema.UserMessage("do it"), schema.AssistantMessage("LESSON "+what, nil)}, Done: true}))
	}
	_, err = memory.Consolidate(t.Context(), ann)
	require.NoError(t, err)
	assert.Len(t, find(t, b, ann, "greeting parting refunding selling buying packing", backends.KindTask), 5, "as many as a search gives")
	assert.Less(t, len(learner.Calls()), 60)
}

func TestWithoutAModelNothingIsLearntFromOutcomes(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Model, c.NoPersonal = nil, true
		c.Outcome = func(context.Context, *reme.Turn) (*reme.Outcome, error) { return &reme.Outcome{Score: 1}, nil }
	})
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: worked("t1", "{}")})
	require.NoError(t, err)
	assert.Empty(t, resp.Items)
}

func TestWhatIsLearntEndsWhenTheRequestSays(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) { c.Verdict = reme.VerdictOf("submit", "passed") })
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed": true}`), Expires: end})
	require.NoError(t, err)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t2", schema.UserMessage("ask for the colour")), Kind: backends.KindTask, Verbatim: true, Expires: end})
	require.NoError(t, err)
	got, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "refunding tea, colour"})
	require.NoError(t, err)
	require.Len(t, got.Hits, 3)
	for _, hit := range got.Hits {
		assert.True(t, end.Equal(hit.Expires), hit.Text)
	}
}

// A repeat that finds one half of an Add done and does the other is no mere repeat.
func TestARepeatThatDoesTheRestIsNotReplayed(t *testing.T) {
	db := open(t)
	add := func(alone bool) *backends.AddResponse {
		b, _ := newBackend(t, db, func(c *reme.Config) { c.Verdict, c.NoPersonal = reme.VerdictOf("submit", "passed"), alone })
		resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: worked("t1", `{"passed": true}`), IdempotencyKey: "k"})
		require.NoError(t, err)
		return resp
	}
	assert.False(t, add(true).Replayed)
	assert.True(t, add(true).Replayed)
	rest := add(false)
	assert.False(t, rest.Replayed)
	assert.Equal(t, backends.OutcomeAdded, outcomes(rest.Items)["ann sells tea"])
	assert.True(t, add(false).Replayed)
}
