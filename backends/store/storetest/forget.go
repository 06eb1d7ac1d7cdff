// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"time"

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

// forgotten fails the test unless every write of the handle is refused and the state
// stays the same.
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

// writes fails the test unless each write of the handle is accepted.
func (e *env) writes(id string) {
	e.Helper()
	e.append("s", message(id, "x"))
	e.apply(put(id, "x"))
	e.update(&store.SessionUpdate{Session: "s", Title: ptr(id)})
	e.putBlob("s", id, []byte("x"))
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
	{"a drop that finds nothing ends an epoch, too, and every handle sees it", func(e *env) {
		before := e.begin()
		for i := range 3 {
			e.handle(i).drop()
			before.handle(i + 1).forgotten("dropped by another handle")
		}
		require.NotEqual(e, must(e.Epoch(e.ctx, e.user("bob").p))(e), must(e.Epoch(e.ctx, e.p))(e))
	}},
	{"a drop is known for thirty days", func(e *env) {
		epoch := func() string { return must(e.Epoch(e.ctx, e.p))(e) }
		never := epoch()
		e.drop()
		require.NotEqual(e, never, epoch())
		e.clock.pass(store.KeepEpochs - time.Minute)
		require.NotEqual(e, never, epoch())
		late := e.begin()
		e.clock.pass(2 * time.Minute)
		require.Equal(e, never, epoch())
		late.writes("of the epoch after the drop")
	}},
	{"an epoch of another store says nothing here", func(e *env) {
		other := *e
		other.ctx = store.WithEpoch(e.ctx, e.p, "another.7")
		other.writes("m1")
		e.drop()
		other.writes("m2")
	}},
	{"a fence refuses what began in an earlier epoch of another partition", func(e *env) {
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
		e.clock.pass(store.KeepEpochs + time.Minute)
		in(e.begin()).writes("an epoch later")
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
}
