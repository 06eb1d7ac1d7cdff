// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
)

func TestConsolidateOffersTheNewWithSomeMessagesBefore(t *testing.T) {
	e := newEnv(t)
	e.append(said("a", ann), said("b", ann), part("c", 0, true, strings.Split(strings.Repeat("x", 8), "")...))
	resp := e.consolidate(ann)
	assert.Len(t, resp.Items, 12)
	assert.True(t, resp.Checkpointed)
	assert.Empty(t, e.back.last().Context)

	e.append(said("d", ann))
	e.consolidate(ann)
	r := e.back.last()
	assert.Equal(t, []string{"d-0", "d-1"}, messageIDs(r.Messages))
	assert.Equal(t, []string{"b-0", "b-1", "c-0", "c-1", "c-2", "c-3", "c-4", "c-5", "c-6", "c-7"}, messageIDs(r.Context))
	assert.Equal(t, "question d", r.Messages[0].Content)
	assert.Equal(t, ann, r.Scope)
	assert.Equal(t, &backends.Checkpoint{Session: "s1", Upto: 14, Token: r.Checkpoint.Token}, r.Checkpoint)
	assert.NotEmpty(t, r.IdempotencyKey)

	s := e.session(ann)
	assert.EqualValues(t, 14, s.Watermark)
	assert.Empty(t, s.Lease.Owner, "the lease is released")
	assert.Zero(t, s.Retry)
	assert.Equal(t, &backends.AddResponse{}, e.consolidate(ann), "nothing is left")
	assert.Zero(t, e.mem.Stats())
}

func TestSessionsOfOneIDAreIsolated(t *testing.T) {
	e := newEnv(t)
	bob, bot, unnamed := ann, backends.Scope{AgentID: "ann", SessionID: "s1"}, backends.Scope{UserID: "ann"}
	bob.UserID = "bob"
	scopes := []backends.Scope{ann, bob, bot, unnamed}
	for i, s := range scopes {
		e.append(said(fmt.Sprint("t", i), s))
	}
	for i, s := range scopes {
		e.consolidate(s)
		assert.Equal(t, []string{fmt.Sprintf("t%d-0", i), fmt.Sprintf("t%d-1", i)}, messageIDs(e.back.last().Messages))
		assert.Equal(t, s, e.back.last().Scope)
	}
	_, err := e.mem.Consolidate(t.Context(), backends.Scope{})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestOnlyCompleteTurnsAreLearnt(t *testing.T) {
	e := newEnv(t)
	e.append(part("a", 0, true, "1"), part("open", 0, false, "2"), part("b", 0, true, "3"))
	e.consolidate(ann)
	assert.Equal(t, [][]string{{"a-0"}}, e.back.stored(), "what follows an open turn stays pending, so that the order holds")

	e.clock.Advance(time.Minute)
	e.append(part("open", 1, false, "4"))
	e.clock.Advance(119 * time.Second)
	e.consolidate(ann)
	assert.Len(t, e.back.stored(), 1)

	e.clock.Advance(time.Second)
	e.consolidate(ann)
	assert.Equal(t, []string{"open-0", "b-0", "open-1"}, e.back.stored()[1], "2 minutes after its last message it counts as complete")
	e.append(part("open", 2, true, "5"))
	e.consolidate(ann)
	assert.Equal(t, []string{"open-2"}, e.back.stored()[2], "a late end is not lost")
}

func TestBatchesAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		turns map[string][]int // the tokens of their messages
		want  [][]string
	}{
		"by turns":                   {map[string][]int{"a": {1, 1}, "b": {1}, "c": {1}, "d": {1}}, [][]string{{"a-0", "a-1", "b-0", "c-0"}, {"d-0"}}},
		"by tokens, whole turns":     {map[string][]int{"a": {40}, "b": {30, 31}, "c": {9}}, [][]string{{"a-0"}, {"b-0", "b-1", "c-0"}}},
		"exactly":                    {map[string][]int{"a": {60}, "b": {40}, "c": {10}}, [][]string{{"a-0", "b-0"}, {"c-0"}}},
		"a turn larger than a batch": {map[string][]int{"a": {60, 30, 60}, "b": {40}}, [][]string{{"a-0", "a-1"}, {"a-2", "b-0"}}},
		"a giant message goes alone": {map[string][]int{"a": {10, 5000, 10}, "b": {9000}}, [][]string{{"a-0"}, {"a-1"}, {"a-2"}, {"b-0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, func(e *env) { e.cfg.MaxTurns, e.cfg.MaxTokens = 3, 100 })
			p, _ := ann.Speaker()
			for _, id := range []string{"a", "b", "c", "d"} { // without the Memory: nothing is due
				var entries []store.Entry
				for i, tokens := range tc.turns[id] {
					entries = append(entries, store.Entry{Tokens: tokens, Done: i == len(tc.turns[id])-1, Message: backends.Message{
						ID: fmt.Sprintf("%s-%d", id, i), Turn: id, Time: e.clock.Now(), Message: said(id, ann).Messages[0],
					}})
				}
				_, err := e.db.Append(t.Context(), p, "s1", &store.Append{Scope: ann, Entries: entries})
				require.NoError(t, err)
			}
			e.consolidate(ann)
			assert.Equal(t, tc.want, e.back.stored())
		})
	}
}

func TestLongTurnsAreLearntOnceTheyAreComplete(t *testing.T) {
	texts := strings.Split(strings.Repeat("x", 10_000), "")
	for _, messages := range []int{500, 10_000} {
		e := newEnv(t, func(e *env) { e.cfg.MaxTokens = 1 << 20 })
		e.append(part("t", 0, false, texts[:messages]...))
		e.consolidate(ann)
		if messages == 10_000 {
			assert.Equal(t, []int{200}, e.back.tried, "no turn is as long: its end was forgotten")
			continue
		}
		assert.Empty(t, e.back.tried)
		e.append(part("t", messages, true, "end"))
		e.consolidate(ann)
		assert.Equal(t, []int{200, 200, 101}, e.back.tried)
	}
}

func TestConsolidationComesDue(t *testing.T) {
	for name, tc := range map[string]struct {
		configure func(*working.Config)
		turns     []*working.Turn
	}{
		"by turns":                             {func(c *working.Config) { c.MaxTurns = 2 }, []*working.Turn{said("a", ann), said("b", ann)}},
		"by tokens":                            {func(c *working.Config) { c.MaxTokens = 200 }, []*working.Turn{part("a", 0, true, strings.Repeat("word ", 300))}},
		"by idling":                            {func(c *working.Config) { c.Idle = time.Millisecond }, []*working.Turn{said("a", ann)}},
		"once an open turn counts as complete": {func(c *working.Config) { c.OpenTurn, c.Clock = 50*time.Millisecond, nil }, []*working.Turn{part("a", 0, false, "hi")}},
	} {
		t.Run(name, func(t *testing.T) {
			learnt := make(chan int, 10)
			e := newEnv(t, func(e *env) {
				tc.configure(&e.cfg)
				e.back.after = func(r *backends.AddRequest) error { learnt <- len(r.Messages); return nil }
			})
			e.append(tc.turns...)
			assert.Positive(t, <-learnt)
		})
	}
}

func TestBackgroundWorkKeepsTheValuesButNotTheCancellation(t *testing.T) {
	type tenant struct{}
	type seen struct {
		tenant any
		err    error
	}
	got := make(chan seen, 10)
	e := newEnv(t, func(e *env) {
		e.cfg.Idle = time.Millisecond
		e.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
			got <- seen{ctx.Value(tenant{}), ctx.Err()}
			return nil
		}
	})
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tenant{}, "acme"))
	cancel()
	require.NoError(t, e.mem.Record(ctx, said("a", ann)), "a reply that was cut off is recorded too")
	assert.Equal(t, seen{"acme", nil}, <-got)
}

func TestAnswersOfTheBackend(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func() *backends.AddResponse
		report string
	}{
		"an item that failed": {func() *backends.AddResponse {
			return &backends.AddResponse{Items: []backends.Item{{Outcome: backends.OutcomeFailed, Err: errors.New("too long to embed")}}}
		}, `consolidate: session einomem/user/ann "s1": not learnt (failed): too long to embed`},
		"an item that is skipped": {func() *backends.AddResponse {
			return &backends.AddResponse{Items: []backends.Item{{Outcome: backends.OutcomeAdded}, {Outcome: backends.OutcomeSkipped, Err: errors.New("a picture")}}}
		}, `consolidate: session einomem/user/ann "s1": not learnt (skipped): a picture`},
		"a panic": {func() *backends.AddResponse { panic("nil map") },
			`consolidate: consolidating session einomem/user/ann "s1": the backend: panic: nil map`},
		"none": {func() *backends.AddResponse { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, func(e *env) { e.back.answer, e.cfg.Idle = tc.answer, time.Millisecond })
			e.append(said("a", ann))
			if tc.report != "" {
				require.EqualError(t, <-e.errs, strings.Replace(tc.report, "einomem", backends.DefaultNamespace, 1))
				require.Empty(t, e.errs, "once")
				return
			}
			require.Eventually(t, func() bool { return e.session(ann).Watermark == 2 }, time.Minute, time.Millisecond)
		})
	}
}

func TestAgentsThatShareASessionAreLearntFromApart(t *testing.T) {
	e := newEnv(t)
	asked, answered := part("t", 0, false, "plan a trip"), part("t", 1, true, "booked")
	asked.Scope, answered.Scope = with("boss"), with("worker") // a turn may pass from agent to agent
	e.append(said("a", with("cook")), said("b", with("cook")), said("c", with("guide")), said("d", with("")), asked, answered)
	e.consolidate(with("guide"))
	var agents []string
	for _, r := range e.back.offers {
		agents = append(agents, r.Scope.AgentID)
		r.Scope.AgentID = "cook"
		assert.Equal(t, with("cook"), r.Scope, "all else is the session's")
	}
	assert.Equal(t, []string{"cook", "guide", "", "boss", "worker"}, agents)
	assert.Equal(t, [][]string{{"a-0", "a-1", "b-0", "b-1"}, {"c-0", "c-1"}, {"d-0", "d-1"}, {"t-0"}, {"t-1"}}, e.back.stored())
	assert.Equal(t, []string{"a-0", "a-1", "b-0", "b-1", "c-0", "c-1", "d-0", "d-1", "t-0"}, messageIDs(e.back.last().Context), "the other agents' messages are context")
	s := e.session(ann)
	assert.Equal(t, s.LastSeq, s.Watermark)
	assert.Equal(t, with("cook"), s.Scope)
}
