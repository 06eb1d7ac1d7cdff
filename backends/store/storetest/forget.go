// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// begin returns the tests' handle for the calls of an operation that begins now.
func (e *env) begin() *env {
	e.Helper()
	other := *e
	other.ctx = must(store.Begin(e.ctx, e.Store, e.p))(e)
	return &other
}

// forgotten fails unless every write of the handle is refused, and changes nothing.
func (e *env) forgotten(msg string) {
	e.Helper()
	before, blobs := e.state(), e.blobSessions(0)
	withSession := batch(put("late", "x"))
	withSession.Session = &store.SessionUpdate{Session: "s", Title: ptr("late")}
	for name, err := range map[string]error{
		"append": errOf(e.Append(e.ctx, e.p, "s", &store.Append{Entries: []store.Entry{message("late", "x")}})),
		"apply":  errOf(e.Apply(e.ctx, e.p, batch(put("late", "x")))),
		"both":   errOf(e.Apply(e.ctx, e.p, withSession)),
		"update": errOf(e.Update(e.ctx, e.p, withSession.Session)),
		"blob":   e.PutBlob(e.ctx, e.p, "s", "late", []byte("x")),
		"erase":  errOf(e.EraseMessages(e.ctx, e.p, "s", 1)),
	} {
		require.ErrorIs(e, err, backends.ErrForgotten, "%s: %s", msg, name)
	}
	require.Equal(e, before, e.state(), msg)
	require.Equal(e, blobs, e.blobSessions(0), msg)
}

// writes fails unless each write of the handle is accepted.
func (e *env) writes(id string) {
	e.Helper()
	e.append("s", message(id, "x"))
	e.apply(put(id, "x"))
	e.update(&store.SessionUpdate{Session: "s", Title: ptr(id)})
	e.putBlob("s", id, []byte("x"))
}

// of returns the handle for another partition of the namespace.
func (e *env) of(kind backends.PartitionKind, id string) *env {
	return e.in(backends.Partition{Namespace: e.p.Namespace, Kind: kind, ID: id})
}

// share writes what comes from a user into a partition of others.
func (e *env) share(from *env, text string) {
	e.Helper()
	user := from.p.ID
	for _, id := range []string{"kept of ", "deleted of "} {
		r := record(id+user, text)
		r.Scope.UserID = user
		e.apply(store.Put(r))
	}
	call := message("call of "+user, text)
	call.UserID = user
	e.append("calls", call)
	e.appendAll("of "+user, &store.Append{Scope: backends.Scope{UserID: user}, Entries: []store.Entry{message("m", text)}})
}

// withoutPlaces returns states without what writes of others change: versions, and where
// erased messages were.
func withoutPlaces(all []any) []any {
	for i := range all {
		s := all[i].(state)
		s.Version, s.Sessions = 0, nil
		for j := range s.Records {
			s.Records[j].Version = 0
		}
		for id, entries := range s.Entries {
			s.Entries[id] = slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Erased })
		}
		all[i] = s
	}
	return all
}

var forgetBehaviours = []behaviour{
	{"what began before a drop is refused after it, and what begins then is new", func(e *env) {
		never := e.begin() // before anything of the partition exists
		e.drop()
		never.forgotten("the first words ever")
		require.Empty(e, e.partitions(0), "what a drop leaves is not listed")

		first := e.begin()
		first.writes("m1")
		first.writes("m2")
		again := e.begin()
		e.drop()
		first.forgotten("with nothing there")
		e.begin().writes("new")
		again.forgotten("beside new words")
		e.drop()
		again.forgotten("after two drops")
		e.writes("of no operation")
		other := e.user("bob").begin()
		e.drop()
		other.writes("another partition")
	}},
	{"a drop that finds nothing ends a life, too, and every handle sees it", func(e *env) {
		before := e.begin()
		for i := range 3 {
			e.handle(i).drop()
			before.handle(i + 1).forgotten("dropped by another handle")
		}
		require.NotEqual(e, must(e.Life(e.ctx, e.user("bob").p))(e), must(e.Life(e.ctx, e.p))(e))
	}},
	{"a drop is known for thirty days", func(e *env) {
		life := func() string { return must(e.Life(e.ctx, e.p))(e) }
		never := life()
		e.drop()
		require.NotEqual(e, never, life())
		e.clock.pass(store.KeepLives - time.Minute)
		require.NotEqual(e, never, life())
		late := e.begin()
		e.clock.pass(2 * time.Minute)
		require.Equal(e, never, life())
		late.writes("of the life after the drop")
	}},
	{"a life of another store says nothing here", func(e *env) {
		other := *e
		other.ctx = store.WithLife(e.ctx, e.p, "another.7")
		other.writes("m1")
		e.drop()
		other.writes("m2")
	}},
	{"a fence refuses what began in an earlier life of another partition", func(e *env) {
		shared := e.in(backends.Partition{Namespace: e.p.Namespace, Kind: backends.PartitionWorkspace, ID: "w"})
		shared.writes("m1")
		in := func(of *env) *env { other := *shared; other.ctx = of.ctx; return &other }
		before, bob := in(e.begin()), in(e.user("bob").begin())
		e.drop()
		require.NoError(e, e.Fence(e.ctx, shared.p, e.p))
		before.forgotten("in the workspace")
		in(e.begin()).writes("after")
		bob.writes("of another user")
		shared.writes("of no user")
		e.clock.pass(store.KeepLives + time.Minute)
		in(e.begin()).writes("a life later")
	}},
	{"an erased record leaves no history, and readers see that it is gone", func(e *env) {
		e.apply(put("a", "secret"), put("stays", "x"))
		e.apply(put("a", "secret too"), put("deleted", "secret"))
		e.apply(store.Delete("deleted"))
		x := e.index().follow()
		e.apply(store.Erase("a"), store.Erase("deleted"), store.Erase("unknown"))
		require.Equal(e, []string{"a"}, x.page().Removed)
		require.Empty(e, e.get("a", "deleted"))
		for _, id := range []string{"a", "deleted", "unknown"} {
			require.Empty(e, e.history(id), id)
		}
		require.Empty(e, e.deleted(0))
		require.Len(e, e.history("stays"), 1)
		e.apply(put("a", "new"))
		require.Len(e, e.history("a"), 1)
	}},
	{"a record is restored with another history by the batch that erases it", func(e *env) {
		e.apply(put("old", "Beijing"))
		e.apply(store.Supersede("old", record("new", "secret")))
		old := e.one("old")
		old.SupersededBy, old.Invalidated = "", time.Time{}
		events := e.history("old")[:1]
		x := e.index().follow()
		e.apply(store.Erase("new"), store.Erase("old"), store.Restore("old", &old, events))
		require.True(e, ptr(e.one("old").Memory).Active())
		require.Equal(e, events, e.history("old"))
		require.Equal(e, []store.Record{e.one("old")}, x.follow().sorted())
	}},
	{"a user is forgotten with what came from them elsewhere, and others are as before", func(e *env) {
		bob, team, agent := e.user("bob"), e.of(backends.PartitionWorkspace, "team"), e.of(backends.PartitionAgent, "bot")
		e.fill()
		bob.fill()
		team.share(bob, "bob's")
		agent.share(bob, "bob's")
		others := func() []any { return []any{bob.state(), team.state(), agent.state()} }
		before := others()
		team.share(e, "ann's")
		agent.share(e, "ann's")
		team.apply(store.Delete("deleted of ann"))

		got := must(store.Forget(e.ctx, e.Store, e.p, nil))(e)
		require.Equal(e, backends.Erased{Memories: 4, Sessions: 2, Messages: 3, Blobs: 2}, got.Erased)
		require.ElementsMatch(e, []backends.Share{
			{Partition: team.p, Erased: backends.Erased{Memories: 2, Sessions: 1, Messages: 2}},
			{Partition: agent.p, Erased: backends.Erased{Memories: 2, Sessions: 1, Messages: 2}},
		}, got.Elsewhere)
		require.NotEmpty(e, got.Checked)
		require.Equal(e, withoutPlaces(before), withoutPlaces(others()))
		require.Empty(e, team.history("deleted of ann"))
		again := must(store.Forget(e.ctx, e.Store, e.p, nil))(e)
		require.Zero(e, again.Erased)
		require.Empty(e, again.Elsewhere)
	}},
	{"a session is forgotten with what it taught, and what it replaced holds again", func(e *env) {
		taught := func(id, session, message, text string) *store.Record {
			r := record(id, text)
			r.Scope.UserID, r.Origin = e.p.ID, backends.Origin{Session: session, MessageIDs: []string{message}}
			return r
		}
		e.append("old", message("m1", "I live in Beijing"))
		e.append("secret", message("m1", "I moved to Shanghai"))
		e.putBlob("secret", "archive", []byte("Shanghai"))
		e.apply(store.Put(taught("beijing", "old", "m1", "Beijing")), store.Put(taught("other", "old", "m1", "other")))
		history := e.history("beijing")
		e.apply(store.Supersede("beijing", taught("shanghai", "secret", "m1", "Shanghai")), store.Put(taught("gone", "secret", "m1", "Shanghai")))
		e.apply(store.Delete("gone"))

		got := must(store.Forget(e.ctx, e.Store, e.p, &backends.Part{Session: ptr("secret")}))(e)
		require.Equal(e, backends.Erased{Memories: 2, Sessions: 1, Messages: 1}, got.Erased)
		require.Equal(e, []string{"beijing", "other"}, ids(e.index().follow().sorted()))
		require.True(e, ptr(e.one("beijing").Memory).Active())
		require.Equal(e, history, e.history("beijing"))
		require.Empty(e, append(e.history("shanghai"), e.history("gone")...))
		e.noSession("secret")
		e.noBlob("secret", "archive")
		require.Len(e, e.read("old", store.Range{}), 1)
	}},
	{"a message and a range of time are forgotten", func(e *env) {
		said := func(id string, at time.Time) store.Entry {
			m := message(id, id)
			m.Time, m.Turn = at, "t "+id
			return m
		}
		now := e.clock.Now()
		e.append("s", said("m1", now), said("m2", now.Add(time.Hour)), said("m3", now.Add(2*time.Hour)))
		e.putBlob("s", "archive", []byte("m2"))
		for _, id := range []string{"m1", "m2", "m3"} {
			r := record("of "+id, id)
			r.Origin = backends.Origin{Session: "s", MessageIDs: []string{id}}
			e.apply(store.Put(r))
		}
		left := func() []string {
			return append(pluck(e.read("s", store.Range{}), func(m *store.Entry) string { return m.Content }), ids(e.index().follow().sorted())...)
		}
		forget := func(part backends.Part) { e.Helper(); must(store.Forget(e.ctx, e.Store, e.p, &part))(e) }
		forget(backends.Part{Session: ptr("s"), Messages: []string{"m2", "unknown"}})
		require.Equal(e, []string{"m1", "", "m3", "of m1", "of m3"}, left())
		e.noBlob("s", "archive")
		forget(backends.Part{Session: ptr("s"), Messages: []string{"t m3"}})
		require.Equal(e, []string{"m1", "", "", "of m1"}, left(), "a turn")
		forget(backends.Part{From: now.Add(time.Minute)})
		require.Equal(e, []string{"m1", "", "", "of m1"}, left())
		forget(backends.Part{To: now})
		require.Equal(e, []string{"m1", "", "", "of m1"}, left())
		for _, part := range []backends.Part{{}, {Messages: []string{"m1"}}} {
			require.ErrorIs(e, errOf(store.Forget(e.ctx, e.Store, e.p, &part)), backends.ErrInvalid)
		}
	}},
	{"an erased message keeps its place and loses its content", func(e *env) {
		call := message("m2", "")
		call.Message.Message = schema.AssistantMessage("secret", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "f", Arguments: "secret"}}})
		call.Extra, call.AgentID, call.Done, call.Tokens = map[string]any{"k": "secret"}, "bot", true, 7
		e.append("s", message("m1", "x"), call, message("m3", "y"))
		e.update(&store.SessionUpdate{Session: "s", Title: ptr("secret"), Summary: ptr("secret"), SummaryUpto: ptr(int64(2))})
		before := e.session("s")
		require.Equal(e, 1, must(e.EraseMessages(e.ctx, e.p, "s", 2, 9, 0))(e))

		got := e.read("s", store.Range{})
		want := store.Entry{Seq: 2, AgentID: "bot", Done: true, Erased: true, Message: backends.Message{ID: "m2", Turn: "t1", Time: got[1].Time,
			Message: &schema.Message{Role: schema.Assistant}}}
		require.Equal(e, want, got[1])
		require.Equal(e, []string{"x", "", "y"}, pluck(got, func(e *store.Entry) string { return e.Content }))
		s := e.session("s")
		require.Empty(e, s.Title+s.Summary)
		require.Zero(e, s.SummaryUpto)
		require.Zero(e, s.Tokens)
		require.Greater(e, s.Version, before.Version)
		require.Equal(e, int64(3), e.append("s", message("m2", "again")).LastSeq, "its id is still known")
		require.Zero(e, must(e.EraseMessages(e.ctx, e.p, "s", 2))(e), "it is erased already")
		require.Equal(e, s.Version, e.session("s").Version)
		require.Zero(e, must(e.EraseMessages(e.ctx, e.p, "unknown", 1))(e))
	}},
}
