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

var updateBehaviours = []behaviour{
	{"a session that does not exist cannot be updated", func(e *env) {
		u := &store.SessionUpdate{Session: "s", Summary: ptr("x")}
		require.ErrorIs(e, errOf(e.Update(e.ctx, e.p, u)), backends.ErrNotFound)
		e.append("s", message("m", "x"))
		require.ErrorIs(e, errOf(e.Update(e.ctx, e.user("bob").p, u)), backends.ErrNotFound)
	}},
	{"an update sets the fields it names and leaves the others", func(e *env) {
		want := *e.append("s", message("m1", "hi"), message("m2", "ho"))
		at := e.clock.Now().Add(time.Hour)
		title := " <b>\"'\\ & {} 日本語 🎈 e\u0301\u2028"
		retry := store.Retry{Attempts: 2, After: at, Reason: "model down", Upto: 2, Whole: 3, InDoubt: true}
		failures := []store.Failure{{From: 1, Upto: 2, Attempts: 5, Reason: "no", Time: at}}
		for _, step := range []struct {
			u   store.SessionUpdate
			set func(*store.Session)
		}{
			{store.SessionUpdate{Summary: ptr("greetings")}, func(s *store.Session) { s.Summary = "greetings" }},
			{store.SessionUpdate{Title: &title}, func(s *store.Session) { s.Title = title }},
			{store.SessionUpdate{SummaryUpto: ptr(int64(2))}, func(s *store.Session) { s.SummaryUpto = 2 }},
			{store.SessionUpdate{Watermark: ptr(int64(1))}, func(s *store.Session) { s.Watermark = 1 }},
			{store.SessionUpdate{Retry: &retry}, func(s *store.Session) { s.Retry = retry }},
			{store.SessionUpdate{Failures: &failures}, func(s *store.Session) { s.Failures = failures }},
			{store.SessionUpdate{Expires: &at}, func(s *store.Session) { s.Expires = at }},
			{store.SessionUpdate{}, func(*store.Session) {}},
			{store.SessionUpdate{Title: ptr(""), Summary: ptr(""), SummaryUpto: ptr(int64(0)), Retry: &store.Retry{}, Failures: &[]store.Failure{}, Expires: &time.Time{}},
				func(s *store.Session) {
					s.Title, s.Summary, s.SummaryUpto, s.Retry, s.Failures, s.Expires = "", "", 0, store.Retry{}, nil, time.Time{}
				}},
		} {
			step.u.Session = "s"
			now := e.clock.pass(time.Second)
			got := e.update(&step.u)
			require.Greater(e, got.Version, want.Version)
			step.set(&want)
			want.Version, want.Updated = got.Version, now
			if len(got.Failures) == 0 {
				got.Failures = nil
			}
			require.Equal(e, want, *got)
			require.Equal(e, want, *e.session("s"))
		}
		require.Len(e, e.read("s", store.Range{}), 2)
	}},
	{"an update of a version that is not current is refused", func(e *env) {
		v := e.append("s", message("m1", "hi")).Version
		next := e.update(&store.SessionUpdate{Session: "s", Version: v, Summary: ptr("1")}).Version
		e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: v, Summary: ptr("2")})
		e.append("s", message("m2", "ho"))
		e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Version: next, Title: ptr("2")})
	}},
	{"of many updates of one version one succeeds", func(e *env) {
		v := e.append("s", message("m1", "hi")).Version
		e.oneOf(16, func(int) error {
			return errOf(e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Version: v, Summary: ptr("x")}))
		})
	}},
}

// lease makes an update that acquires the lease of the session "s" for a minute.
func lease(owner string) *store.SessionUpdate {
	return &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: owner, For: time.Minute}}
}

func (e *env) acquire(owner string) store.Lease {
	e.Helper()
	return e.update(lease(owner)).Lease
}

func (e *env) refused(owner string) {
	e.Helper()
	e.updateFails(backends.ErrConflict, lease(owner))
}

var leaseBehaviours = []behaviour{
	{"a session begun anew does not reuse the tokens of the old one", func(e *env) {
		e.append("s", message("m1", "hi"), message("m2", "ho"))
		old := e.acquire("w1")
		e.deleteSession("s")
		e.append("s", message("m1", "another"))
		e.clock.pass(time.Microsecond)
		require.Greater(e, e.acquire("w2").Token, old.Token)
		e.updateFails(backends.ErrConflict, &store.SessionUpdate{Session: "s", Token: old.Token, Watermark: ptr(int64(2))})
	}},
	{"a write under a token that is not held is refused", func(e *env) {
		e.append("s", message("m1", "hi"))
		write := func(token int64) *store.Batch {
			b := batch(put("a", "1"))
			b.Session = &store.SessionUpdate{Session: "s", Token: token, Watermark: ptr(int64(1)), Summary: ptr("x")}
			return b
		}
		refused := func(token int64, msg string) {
			e.Helper()
			e.updateFails(backends.ErrConflict, write(token).Session, msg)
			e.fails(backends.ErrConflict, write(token), msg)
		}
		refused(1, "never leased")
		first := e.acquire("w1")
		e.clock.pass(time.Minute)
		refused(first.Token, "expired")
		second := e.acquire("w2")
		refused(first.Token, "another owner has the lease")
		refused(second.Token+1, "a token of the future")
		require.Equal(e, int64(1), e.applyBatch(write(second.Token)).Session.Watermark)
		e.update(&store.SessionUpdate{Session: "s", Summary: ptr("no token, no lease needed")})
	}},
	{"of many that ask one gets the lease", func(e *env) {
		e.append("s", message("m1", "hi"))
		for range 3 {
			e.oneOf(16, func(i int) error { return errOf(e.Update(e.ctx, e.p, lease(fmt.Sprint("w", i)))) })
			e.update(&store.SessionUpdate{Session: "s", Token: e.session("s").Lease.Token, Release: true})
		}
	}},
}

var expiryBehaviours = []behaviour{
	{"an expired session is gone for every call", func(e *env) {
		e.appendFor(time.Hour, "m1")
		e.append("stays", message("m1", "x"))
		e.putBlob("s", "b", []byte("x"))
		require.Len(e, e.list(store.SessionQuery{Pending: true}), 2)
		e.clock.pass(time.Hour)
		e.noSession("s")
		e.noBlob("s", "b")
		require.Empty(e, e.blobSessions(0))
		require.ErrorIs(e, errOf(e.Update(e.ctx, e.p, &store.SessionUpdate{Session: "s", Expires: &time.Time{}})), backends.ErrNotFound)
		for _, pending := range []bool{true, false} {
			require.Equal(e, []string{"stays"}, names(e.list(store.SessionQuery{Pending: pending})))
		}
		e.deleteSession("s")
	}},
	{"an expired session begins anew with nothing of the old one", func(e *env) {
		e.appendFor(time.Hour, "m1")
		e.appendFor(time.Hour, "m2")
		e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(2)), Title: ptr("x"), Summary: ptr("x"), Acquire: &store.Acquire{Owner: "w", For: 2 * time.Hour}})
		e.putBlob("s", "b", []byte("x"))
		now := e.clock.pass(time.Hour)
		e.putBlob("s", "new", []byte("y"))
		got := e.append("s", message("m1", "again"))
		require.Equal(e, store.Session{Partition: e.p, ID: "s", Version: got.Version, LastSeq: 1, Created: now, Updated: now}, *got)
		require.Equal(e, []int64{1}, seqs(e.read("s", store.Range{})))
		e.noBlob("s", "b")
		require.Equal(e, []byte("y"), e.blob("s", "new"))
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
}

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
