// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var appendBehaviours = []behaviour{
	{"the first append creates the session", func(e *env) {
		e.noSession("s")
		scope := backends.Scope{UserID: "ann", AgentID: "g", SessionID: "s"}
		got := e.appendAll("s", &store.Append{Scope: scope, Entries: []store.Entry{message("m1", "hi")}})
		want := store.Session{Partition: e.p, ID: "s", Scope: scope, Version: got.Version, LastSeq: 1, Created: e.clock.Now(), Updated: e.clock.Now()}
		require.Equal(e, want, *got)
		require.Equal(e, want, *e.session("s"))
		require.Positive(e, got.Version)
		require.True(e, got.Pending())
		e.appendAll("s", &store.Append{Scope: backends.Scope{UserID: "other"}, Entries: []store.Entry{message("m2", "ho")}})
		require.Equal(e, scope, e.session("s").Scope, "the scope is that of the creation")
	}},
	{"a message comes back as it was given", func(e *env) {
		index, now := 1, e.clock.Now()
		entries := []store.Entry{
			{Message: backends.Message{ID: "m1", Turn: "t", Time: now.Add(-time.Hour), Message: &schema.Message{
				Role: schema.User, Name: "Ann", Content: "line\n\"two\" <&> 日本語 🎈 \x00", Extra: map[string]any{"k": "v"}}}},
			{Message: backends.Message{ID: "m2", Turn: "t", Time: now, Message: &schema.Message{
				Role: schema.Assistant, ReasoningContent: "hm", ToolCalls: []schema.ToolCall{
					{Index: &index, ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":"<b>"}`}}}}}, AgentID: "bot <1> 🤖", Tokens: 7},
			{Message: backends.Message{ID: "m3", Turn: "t", Time: now, Message: schema.ToolMessage("result", "c1", schema.WithToolName("f"))}, AgentID: "other", Done: true, Tokens: 3},
			{Message: backends.Message{ID: "m4", Turn: "u", Message: &schema.Message{Role: schema.User}}},
		}
		e.append("s", entries...)
		for i := range entries {
			require.Zero(e, entries[i].Seq, "the caller's entries stay as they are")
			entries[i].Seq = int64(i + 1)
		}
		entries[3].Time = now // none given means now
		require.Equal(e, entries, e.read("s", store.Range{}))
	}},
	{"a message whose id is known is skipped", func(e *env) {
		m := message("m2", "ho")
		m.Tokens = 5
		e.append("s", message("m1", "hi"), m)
		changed := m
		changed.Message.Message = schema.UserMessage("another text")
		again := e.append("s", message("m1", "hi"), changed)
		require.Equal(e, int64(2), again.LastSeq)
		require.Equal(e, int64(5), again.Tokens)
		require.Equal(e, "ho", e.read("s", store.Range{})[1].Content)

		e.append("s", message("m0", "new"), m, message("m3", "twice"), message("m3", "in one call"))
		got := e.read("s", store.Range{})
		require.Equal(e, []int64{1, 2, 3, 4}, seqs(got))
		require.Equal(e, "new", got[2].Content)
		require.Equal(e, "twice", got[3].Content)
		require.Equal(e, int64(1), e.append("other", m).LastSeq, "ids are unique in their session only")
	}},
	{"sixteen writers leave no gap and lose nothing", func(e *env) {
		const writers, turns = 16, 20
		e.allTogether(writers, func(w int) error {
			for i := range turns {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := errOf(e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(id+"a", id), message(id+"b", id)}})); err != nil {
					return err
				}
			}
			return nil
		})
		got := e.read("s", store.Range{})
		require.Len(e, got, writers*turns*2)
		next := map[string]int{}
		for i := 0; i < len(got); i += 2 {
			require.Equal(e, []int64{int64(i + 1), int64(i + 2)}, seqs(got[i:i+2]))
			require.Equal(e, got[i].Content+"a", got[i].ID)
			require.Equal(e, got[i].Content+"b", got[i+1].ID, "the two of one call stand together")
			var w, turn int
			require.NoError(e, errOf(fmt.Sscanf(got[i].Content, "%d-%d", &w, &turn)))
			require.Equal(e, next[fmt.Sprint(w)], turn, "each writer's turns are in its order")
			next[fmt.Sprint(w)]++
		}
		require.Equal(e, int64(writers*turns*2), e.session("s").LastSeq)
	}},
	{"sixteen writers of the same messages store them once", func(e *env) {
		const n = 12
		e.allTogether(16, func(w int) error {
			for i := range n {
				if err := errOf(e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(fmt.Sprint((i+w)%n), "x")}})); err != nil {
					return err
				}
			}
			return nil
		})
		got := e.read("s", store.Range{})
		require.Len(e, got, n)
		for i, entry := range got {
			require.Equal(e, int64(i+1), entry.Seq)
		}
	}},
	{"a deleted session begins anew", func(e *env) {
		e.deleteSession("s") // none is there
		e.append("s", message("m1", "hi"), message("m2", "ho"))
		e.append("other", message("m1", "hi"))
		e.putBlob("s", "b", []byte("x"))
		e.putBlob("other", "b", []byte("y"))
		e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(2)), Title: ptr("x"), Summary: ptr("x")})
		e.deleteSession("s")
		e.noSession("s")
		e.noBlob("s", "b")
		require.Len(e, e.list(store.SessionQuery{}), 1)

		got := e.append("s", message("m1", "again"))
		require.Equal(e, store.Session{Partition: e.p, ID: "s", Version: got.Version, LastSeq: 1, Created: e.clock.Now(), Updated: e.clock.Now()}, *got)
		require.Len(e, e.read("other", store.Range{}), 1)
		require.Equal(e, []byte("y"), e.blob("other", "b"))
	}},
}

// learnt appends messages that are no material to learn from.
func (e *env) learnt(session string, ids ...string) *store.Session {
	e.Helper()
	a := &store.Append{Learnt: true}
	for _, id := range ids {
		a.Entries = append(a.Entries, message(id, "x"))
	}
	return e.appendAll(session, a)
}

// watermark proves that a session of so many messages was learnt from up to one.
func (e *env) watermark(s *store.Session, upto, of int64) {
	e.Helper()
	require.Equal(e, []int64{upto, of}, []int64{s.Watermark, s.LastSeq})
	require.Equal(e, *s, *e.session(s.ID))
	want := []string{}
	if upto < of {
		want = append(want, s.ID)
	}
	require.Equal(e, want, names(e.list(store.SessionQuery{Pending: true})))
}

var learntBehaviours = []behaviour{
	{"many learnt entries and updates at the same time leave nothing pending", func(e *env) {
		const n = 30
		e.append("s")
		e.allTogether(8, func(w int) error {
			for i := range n {
				var err error
				if w%2 == 0 {
					err = errOf(e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(fmt.Sprint(w, "-", i), "x")}, Learnt: true}))
				} else {
					err = errOf(e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Summary: ptr(fmt.Sprint(w, i))}))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		e.watermark(e.session("s"), 4*n, 4*n)
	}},
}

var readBehaviours = []behaviour{
	{"a range has a default and a largest size", func(e *env) {
		const n = 10_050
		a := &store.Append{}
		for i := range n {
			a.Entries = append(a.Entries, message(fmt.Sprint(i), "x"))
		}
		e.appendAll("s", a)
		got := e.read("s", store.Range{})
		require.Len(e, got, 1000)
		require.Equal(e, int64(1), got[0].Seq)
		got = e.read("s", store.Range{Last: true})
		require.Len(e, got, 1000)
		require.Equal(e, int64(n), got[999].Seq)
		require.Len(e, e.read("s", store.Range{Limit: n}), 10_000)
	}},
}
