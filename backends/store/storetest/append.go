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
	{"the first append creates the session", appendCreates},
	{"a message comes back as it was given", messagesAreKept},
	{"a message without a time was said now", messageTime},
	{"the state sums up what was appended", appendSums},
	{"a message whose id is known is skipped", appendIsIdempotent},
	{"an append without messages creates the session", emptyAppend},
	{"sixteen writers leave no gap and lose nothing", appendTogether},
	{"sixteen writers of the same messages store them once", appendSameTogether},
	{"a deleted session begins anew", deleteSession},
}

func appendCreates(e *env) {
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
}

func messagesAreKept(e *env) {
	index := 1
	entries := []store.Entry{
		{Message: backends.Message{ID: "m1", Turn: "t", Time: e.clock.Now().Add(-time.Hour), Message: &schema.Message{
			Role: schema.User, Name: "Ann", Content: "line\n\"two\" <&> 日本語 🎈 \x00", Extra: map[string]any{"k": "v"}}}},
		{Message: backends.Message{ID: "m2", Turn: "t", Time: e.clock.Now(), Message: &schema.Message{
			Role: schema.Assistant, ReasoningContent: "hm", ToolCalls: []schema.ToolCall{
				{Index: &index, ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":"<b>"}`}}}}}, AgentID: "bot <1> 🤖", Tokens: 7},
		{Message: backends.Message{ID: "m3", Turn: "t", Time: e.clock.Now(), Message: schema.ToolMessage("result", "c1", schema.WithToolName("f"))}, AgentID: "other", Done: true, Tokens: 3},
		{Message: backends.Message{ID: "m4", Turn: "u", Time: e.clock.Now(), Message: &schema.Message{Role: schema.User}}},
	}
	e.append("s", entries...)
	for i := range entries {
		require.Zero(e, entries[i].Seq, "the caller's entries are left alone")
		entries[i].Seq = int64(i + 1)
	}
	require.Equal(e, entries, e.read("s", store.Range{}))
}

func messageTime(e *env) {
	entry := message("m1", "hi")
	e.append("s", entry)
	require.Equal(e, e.clock.Now(), e.read("s", store.Range{})[0].Time)
	require.Zero(e, entry.Time)
}

func appendSums(e *env) {
	created := e.clock.Now()
	version := int64(0)
	for i := range 5 {
		now := e.clock.pass(time.Second)
		a, b := message(fmt.Sprint(i, "a"), "x"), message(fmt.Sprint(i, "b"), "y")
		a.Tokens, b.Tokens = 10, i
		got := e.append("s", a, b)
		require.Equal(e, *got, *e.session("s"))
		require.Equal(e, int64(2*i+2), got.LastSeq)
		require.Greater(e, got.Version, version)
		require.Equal(e, now, got.Updated)
		require.Equal(e, created.Add(time.Second), got.Created)
		version = got.Version
	}
	require.Equal(e, int64(50+10), e.session("s").Tokens)
}

func appendIsIdempotent(e *env) {
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
	e.append("other", m)
	require.Equal(e, []int64{1}, seqs(e.read("other", store.Range{})), "ids are unique in their session only")
}

func emptyAppend(e *env) {
	got := e.append("s")
	require.Zero(e, got.LastSeq)
	require.False(e, got.Pending())
	require.Equal(e, *got, *e.session("s"))
	require.Equal(e, []int64{1}, seqs(func() []store.Entry { e.append("s", message("m1", "x")); return e.read("s", store.Range{}) }()))
}

func appendTogether(e *env) {
	const writers, turns = 16, 20
	together(writers, func(w int) error {
		for i := range turns {
			id := fmt.Sprintf("%d-%d", w, i)
			_, err := e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(id+"a", id), message(id+"b", id)}})
			if err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { require.NoError(e, err) })
	got := e.read("s", store.Range{})
	require.Len(e, got, writers*turns*2)
	next := map[byte]int{}
	for i := 0; i < len(got); i += 2 {
		require.Equal(e, int64(i+1), got[i].Seq)
		require.Equal(e, int64(i+2), got[i+1].Seq)
		require.Equal(e, got[i].Content, got[i+1].Content, "the two of one call stand together")
		require.Equal(e, got[i].Content+"b", got[i+1].ID)
	}
	for _, entry := range got { // each writer's turns are in the order in which it appended them
		var w, i int
		_, err := fmt.Sscanf(entry.Content, "%d-%d", &w, &i)
		require.NoError(e, err)
		require.Equal(e, next[byte(w)]/2, i)
		next[byte(w)]++
	}
	require.Equal(e, int64(writers*turns*2), e.session("s").LastSeq)
}

func appendSameTogether(e *env) {
	const n = 12
	together(16, func(w int) error {
		for i := range n {
			if _, err := e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message(fmt.Sprint((i+w)%n), "x")}}); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { require.NoError(e, err) })
	got := e.read("s", store.Range{})
	require.Len(e, got, n)
	for i, entry := range got {
		require.Equal(e, int64(i+1), entry.Seq)
	}
}

func deleteSession(e *env) {
	require.NoError(e, e.Delete(e.ctx, e.p, "s"), "one that does not exist is left so")
	e.append("s", message("m1", "hi"), message("m2", "ho"))
	e.append("other", message("m1", "hi"))
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b", []byte("x")))
	require.NoError(e, e.PutBlob(e.ctx, e.p, "other", "b", []byte("y")))
	e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(2)), Summary: ptr("x")})
	require.NoError(e, e.Delete(e.ctx, e.p, "s"))
	e.noSession("s")
	_, err := e.GetBlob(e.ctx, e.p, "s", "b")
	require.ErrorIs(e, err, backends.ErrNotFound)
	require.Len(e, e.list(store.SessionQuery{}), 1)
	require.NoError(e, e.Delete(e.ctx, e.p, "s"))

	got := e.append("s", message("m1", "again"))
	require.Equal(e, int64(1), got.LastSeq)
	require.Zero(e, got.Watermark)
	require.Empty(e, got.Summary)
	require.Len(e, e.read("other", store.Range{}), 1)
	data, err := e.GetBlob(e.ctx, e.p, "other", "b")
	require.NoError(e, err)
	require.Equal(e, []byte("y"), data)
}
