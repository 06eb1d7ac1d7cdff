// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
)

// with returns ann's scope with another agent.
func with(agent string) backends.Scope {
	s := ann
	s.AgentID = agent
	return s
}

func TestAgentsThatShareASessionAreLearntFromApart(t *testing.T) {
	w := newWorld(t)
	w.append(say("a", with("cook")), say("b", with("cook")), say("c", with("guide")), say("d", with("")), say("e", with("cook")))
	w.consolidate(with("guide"))
	var agents []string
	for _, r := range w.back.offers {
		agents = append(agents, r.Scope.AgentID)
		r.Scope.AgentID = "cook"
		assert.Equal(t, with("cook"), r.Scope, "all else is the session's")
	}
	assert.Equal(t, []string{"cook", "guide", "", "cook"}, agents)
	assert.Equal(t, [][]string{{"a-0", "a-1", "b-0", "b-1"}, {"c-0", "c-1"}, {"d-0", "d-1"}, {"e-0", "e-1"}}, w.back.stored())
	assert.Equal(t, []string{"a-0", "a-1", "b-0", "b-1", "c-0", "c-1", "d-0", "d-1"}, messageIDs(w.back.last().Context), "what the others said grounds it")
	s := w.session(ann)
	assert.Equal(t, s.LastSeq, s.Watermark)
	assert.Equal(t, with("cook"), s.Scope)
}

func TestATurnMayPassFromAgentToAgent(t *testing.T) {
	w := newWorld(t)
	asked, answered := piece("t", 0, false, "plan a trip"), piece("t", 1, true, "booked")
	asked.Scope, answered.Scope = with("boss"), with("worker")
	w.append(asked, answered)
	w.consolidate(ann)
	assert.Equal(t, [][]string{{"t-0"}, {"t-1"}}, w.back.stored())
	assert.Equal(t, "boss", w.back.offers[0].Scope.AgentID)
	assert.Equal(t, "worker", w.back.last().Scope.AgentID)
}

func TestAnAgentsOwnSessionIsAlwaysItsOwn(t *testing.T) {
	w := newWorld(t)
	own := backends.Scope{AgentID: "bot", SessionID: "diary"}
	p, _ := own.Speaker()
	_, err := w.db.Append(t.Context(), p, "diary", &store.Append{Scope: own, Entries: []store.Entry{
		{Done: true, Message: backends.Message{ID: "t-0", Turn: "t", Time: epoch, Message: say("t", own).Messages[0]}}, // names no agent
	}})
	require.NoError(t, err)
	w.consolidate(own)
	assert.Equal(t, own, w.back.last().Scope)
}

func TestWhatWasSaidToAnAgentIsFoundByItsFilter(t *testing.T) {
	var b *mem0.Backend
	w := newWorld(t, func(w *world) {
		var err error
		b, err = mem0.New(t.Context(), &mem0.Config{Store: w.db, Mode: mem0.Verbatim})
		require.NoError(t, err)
		w.cfg.Backend = b
	})
	w.append(say("soup", with("cook")), say("museum", with("guide")))
	w.consolidate(ann)
	for agent, topic := range map[string]string{"cook": "soup", "guide": "museum"} {
		of := backends.Eq("agent_id", agent)
		resp, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "question answer", TopK: 10, Filter: &of})
		require.NoError(t, err)
		require.NotEmpty(t, resp.Hits)
		for _, h := range resp.Hits {
			assert.Contains(t, h.Text, topic)
		}
	}
	require.NoError(t, b.Close(t.Context()))
}

// Several agents talk in one session, their turns open at the same time: each
// message is learnt once, in the order of the log, under its own agent.
func TestAgentsThatInterleave(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, func(w *world) { w.cfg.MaxTurns = 1 << 20 })
		w.t = rt
		agents := []string{"cook", "guide", ""}
		next := map[string]int{}
		for i := range rapid.IntRange(1, 25).Draw(rt, "messages") {
			agent := rapid.SampledFrom(agents).Draw(rt, "agent")
			turn := &working.Turn{Scope: with(agent), ID: "of " + agent, First: next[agent], Messages: say("x", ann).Messages[:1]}
			turn.Done = rapid.Bool().Draw(rt, "done")
			w.append(turn)
			next[agent]++
			if i%7 == 6 {
				w.consolidate(ann)
			}
		}
		w.clock.Advance(3 * time.Minute)
		w.consolidate(ann)
		var got, want []string
		for _, r := range w.back.offers {
			for _, id := range messageIDs(r.Messages) {
				got = append(got, fmt.Sprint(r.Scope.AgentID, ": ", id))
			}
		}
		for _, e := range w.entries(ann) {
			want = append(want, fmt.Sprint(e.AgentID, ": ", e.ID))
			require.Equal(rt, "of "+e.AgentID, e.Turn)
		}
		require.Equal(rt, want, got)
		require.NoError(rt, w.mem.Close(t.Context()))
	})
}
