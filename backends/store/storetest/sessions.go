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

// lease makes an update that acquires the lease of the session "s" for a minute.
func lease(owner string) *store.SessionUpdate {
	return &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: owner, For: time.Minute}}
}

func (e *env) acquire(owner string) store.Lease {
	e.Helper()
	return e.update(lease(owner)).Lease
}

var sessionBehaviours = []behaviour{
	{"a message comes back as it was given", func(e *env) {
		index, now := 1, e.clock.Now()
		entries := []store.Entry{
			{Message: backends.Message{ID: "m1", Turn: "t", Time: now.Add(-time.Hour), Message: &schema.Message{
				Role: schema.User, Name: "Ann", Content: "line\n\"two\" <&> 日本語 🎈 \x00", Extra: map[string]any{"k": "v"}}}},
			{Message: backends.Message{ID: "m2", Turn: "t", Time: now, Message: &schema.Message{
				Role: schema.Assistant, ReasoningContent: "hm", ToolCalls: []schema.ToolCall{
					{Index: &index, ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":"<b>"}`}}}}},
				AgentID: "bot <1> 🤖", Tokens: 7},
			{Message: backends.Message{ID: "m3", Turn: "t", Time: now, Message: schema.ToolMessage("result", "c1", schema.WithToolName("f"))},
				AgentID: "other", Done: true, Tokens: 3},
			{Message: backends.Message{ID: "m4", Turn: "u", Message: &schema.Message{Role: schema.User}}},
		}
		e.append("s", entries...)
		for i := range entries {
			require.Zero(e, entries[i].Seq, "the caller's entries stay as they are")
			entries[i].Seq = int64(i + 1)
		}
		entries[3].Time = now // a zero time means now
		require.Equal(e, entries, e.read("s", store.Range{}))
	}},
	{"a write of which half was done is whole after its repeat", func(e *env) {
		whole := func(session string) (ids []string) {
			for i, m := range e.read(session, store.Range{}) {
				require.Equal(e, int64(i+1), m.Seq)
				ids = append(ids, m.ID)
			}
			state := e.session(session)
			require.EqualValues(e, len(ids), state.LastSeq)
			require.EqualValues(e, len(ids), state.Tokens)
			return ids
		}
		turn := []store.Entry{message("a", "t"), message("b", "t"), message("c", "t")}
		for i := range turn {
			turn[i].Tokens = 1
		}
		other := message("other", "o")
		other.Tokens = 1
		e.append("s", turn[:2]...)
		e.append("s", other)
		for range 2 {
			e.append("s", turn...)
			require.Equal(e, []string{"a", "b", "other", "c"}, whole("s"))
		}
		e.append("s", turn[0], turn[0], turn[2])
		require.Equal(e, []string{"a", "b", "other", "c"}, whole("s"))
		learn := func() *store.Applied {
			return e.applyBatch(&store.Batch{Key: "k", Mutations: []store.Mutation{put("n", "x"), store.Increment("n", "n", 1)},
				Session: &store.SessionUpdate{Session: "s", Watermark: ptr(int64(4))}})
		}
		before := learn()
		e.apply(store.Increment("n", "n", 1))
		e.append("s", other, message("d", "u"))
		require.Equal(e, before.Version, learn().Version)
		require.EqualValues(e, 2, e.one("n").Metadata["n"])
		require.Len(e, e.history("n"), 1)
		require.EqualValues(e, 4, e.session("s").Watermark)
		for range 2 {
			require.NoError(e, errOf(e.EraseMessages(e.ctx, e.p, "s", 1, 2)))
			e.putBlob("s", "b", []byte("x"))
			require.EqualValues(e, 2, e.session("s").Tokens)
		}
	}},
	{"a range has a default and a largest size", func(e *env) {
		a := &store.Append{}
		for i := range 10_050 {
			a.Entries = append(a.Entries, message(fmt.Sprint(i), "x"))
		}
		e.appendAll("s", a)
		require.Len(e, e.read("s", store.Range{}), 1000)
		require.Len(e, e.read("s", store.Range{Limit: 10_050}), 10_000)
	}},
	{"a lease survives clocks that jump by a day in either direction", func(e *env) {
		const day = 24 * time.Hour
		refused := func(owner string) {
			e.Helper()
			require.ErrorIs(e, errOf(e.Update(e.ctx, e.p, lease(owner))), backends.ErrConflict)
		}
		for _, jump := range []time.Duration{-day, day} {
			e.drop()
			e.append("s", message("m1", "x"))
			dead := e.acquire("dead")
			e.clock.pass(jump)
			refused("other")
			refused("third")
			e.clock.pass(time.Minute - time.Second)
			refused("other")
			e.clock.pass(time.Second)
			require.Greater(e, e.acquire("other").Token, dead.Token, "a dead owner's is over after its own length")
			e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: dead.Token, Title: ptr("x")})

			e.clock.pass(time.Hour)
			live := e.acquire("live") // by another clock than the other's
			for range 5 {
				e.clock.pass(jump)
				refused("other")
				e.clock.pass(40 * time.Second)
				refused("other")
				e.clock.pass(-jump)
				require.Equal(e, live.Token, e.acquire("live").Token, "a live owner renews it")
				e.update(&store.SessionUpdate{Session: "s", Token: live.Token, Title: ptr("x")})
			}
		}
	}},
	{"a session that ended is gone, and begins anew with nothing of the old one", func(e *env) {
		for name, end := range map[string]func(){
			"expired": func() { e.clock.pass(time.Microsecond) },
			"deleted": func() { e.deleteSession("s") },
		} {
			e.drop()
			e.append("stays", message("m1", "x"))
			e.putBlob("stays", "b", []byte("y"))
			e.putBlob("s", "before", []byte("x"))
			e.clock.pass(1000 * time.Hour) // the session has not begun: its blob stays
			require.Equal(e, []byte("x"), e.blob("s", "before"))
			e.appendFor(2*time.Hour, "m1")
			e.appendFor(time.Hour, "m2")
			e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(1)), Title: ptr("x"), Summary: ptr("x")})
			e.putBlob("s", "within", []byte("x"))
			e.clock.pass(time.Hour - time.Microsecond)
			old := e.acquire("w1").Token

			end()
			e.noSession("s")
			e.noBlob("s", "before")
			require.Empty(e, e.blobNames("s", "", 0), name)
			require.Equal(e, []string{"stays"}, e.blobSessions(0), name)
			require.ErrorIs(e, errOf(e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Expires: &time.Time{}})), backends.ErrNotFound, name)
			require.Equal(e, []string{"stays"}, names(e.list(store.SessionQuery{})), name)
			e.deleteSession("s") // changes nothing

			now := e.clock.pass(time.Microsecond)
			e.putBlob("s", "new", []byte("z"))
			got := e.append("s", message("m1", "again"))
			require.Equal(e, store.Session{Partition: e.p, ID: "s", Version: got.Version, LastSeq: 1, Created: now, Updated: now}, *got, name)
			require.Equal(e, []int64{1}, seqs(e.read("s", store.Range{})), name)
			require.Equal(e, []string{"new"}, e.blobNames("s", "", 0), name)
			require.Greater(e, e.acquire("w2").Token, old, name)
			e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: old, Watermark: ptr(int64(1))}, name)
			require.Len(e, e.read("stays", store.Range{}), 1, name)
			require.Equal(e, []byte("y"), e.blob("stays", "b"), name)
		}
	}},
	// A store may clear some expired sessions with each write; no call may depend on it.
	{"many expired sessions begin anew, each by itself", func(e *env) {
		const n = 24
		for i := range n {
			id := fmt.Sprint(i)
			e.appendAll(id, &store.Append{TTL: time.Hour, Entries: []store.Entry{message("m1", "x"), message("m2", "y")}})
			e.putBlob(id, "b", []byte("x"))
		}
		e.clock.pass(2 * time.Hour)
		for i := n - 1; i >= 0; i-- {
			id := fmt.Sprint(i)
			require.Equal(e, int64(1), e.append(id, message("m2", "again")).LastSeq)
			require.Equal(e, []int64{1}, seqs(e.read(id, store.Range{})))
			e.noBlob(id, "b")
		}
		require.Equal(e, store.DropCount{Sessions: n, Messages: n}, e.drop())
	}},
	{"an erasure takes title and summary along, and counts each message once", func(e *env) {
		e.append("s", message("m1", "t"), message("m2", "t"))
		e.update(&store.SessionUpdate{Session: "s", Title: ptr("moves"), Summary: ptr("Ann moves"), SummaryUpto: ptr(int64(2))})
		require.Equal(e, 1, must(e.EraseMessages(e.ctx, e.p, "s", 1, 1, 9))(e))
		got := e.session("s")
		require.Equal(e, []any{"", "", int64(0)}, []any{got.Title, got.Summary, got.SummaryUpto})
		require.Zero(e, must(e.EraseMessages(e.ctx, e.p, "s", 1))(e), "it is erased already")
	}},
	{"what a caller passed or got is its own", func(e *env) {
		e.append("s", message("m1", "t"))
		data := []byte("kept")
		e.putBlob("s", "b", data)
		data[0] = 'X'
		e.blob("s", "b")[1] = 'X'
		require.Equal(e, "kept", string(e.blob("s", "b")))
		e.session("s").Title = "changed"
		e.list(store.SessionQuery{})[0].Title = "changed"
		require.Empty(e, e.session("s").Title)
	}},
	{"an expired session is neither read nor changed", func(e *env) {
		e.appendFor(time.Minute, "m1")
		e.clock.pass(time.Minute)
		require.Empty(e, e.read("s", store.Range{}))
		require.ErrorIs(e, errOf(e.Session(e.ctx, e.p, "s")), backends.ErrNotFound)
		e.updateFails(backends.ErrNotFound, &store.SessionUpdate{Session: "s", Title: ptr("x")})
		require.Zero(e, must(e.EraseMessages(e.ctx, e.p, "s", 1))(e))
	}},
}
