// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

var (
	ann   = backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}
	today = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
)

// partition is a store with what must succeed on one partition of it.
type partition struct {
	*testing.T
	store.Store
	p backends.Partition
}

func newPartition(t *testing.T, now time.Time) *partition {
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, &sqlitestore.Config{Clock: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return &partition{T: t, Store: s, p: ann}
}

func (p *partition) apply(ms ...store.Mutation) {
	p.Helper()
	_, err := p.Apply(p.Context(), p.p, &store.Batch{Embedding: &store.Embedding{Model: "m", Dim: 2}, Mutations: ms})
	require.NoError(p, err)
}

// say appends messages from the number after on.
func (p *partition) say(session string, after, n int) {
	p.Helper()
	a := &store.Append{Scope: backends.Scope{UserID: "ann", SessionID: session}}
	for i := range n {
		m := backends.Message{ID: fmt.Sprint("m", after+i+1), Turn: "t", Message: schema.UserMessage(fmt.Sprint(session, i))}
		a.Entries = append(a.Entries, store.Entry{Message: m, AgentID: "bot", Tokens: 3, Done: i%2 == 1})
	}
	_, err := p.Append(p.Context(), p.p, session, a)
	require.NoError(p, err)
}

// fill stores something of everything that a partition can hold.
func (p *partition) fill() {
	p.Helper()
	with := func(id, text string) *store.Record {
		r := rec(id, text)
		r.Vector, r.Metadata = []byte("vector of "+id), map[string]any{"n": 1.0}
		return r
	}
	p.apply(store.Put(with("a", "lives in Rome")), store.Put(with("gone", "likes tea")), store.Put(rec("bare", "")))
	p.apply(store.Supersede("a", with("b", "lives in Oslo")), store.Increment("b", "n", 2))
	p.apply(store.Put(rec("bare", "x")), store.Retract("bare", today), store.Delete("gone"))
	p.say("first", 0, 5)
	p.say("second", 0, 2)
	p.say("", 0, 1)
	mark, upto, at := int64(3), int64(2), today.Add(24*time.Hour)
	for _, u := range []store.SessionUpdate{
		{Session: "second", Watermark: &upto},
		{Session: "first", Watermark: &mark, Title: ptr("a trip"), Summary: ptr("Ann moved."), SummaryUpto: &upto, Expires: &at,
			Retry: &store.Retry{Attempts: 2, After: at, Upto: 4}, Failures: &[]store.Failure{{From: 1, Upto: 2, Attempts: 3, Reason: "no", Time: today}}},
	} {
		_, err := p.Update(p.Context(), p.p, &u)
		require.NoError(p, err)
	}
	for _, b := range [][2]string{{"first", "archive/1"}, {"first", "archive/2"}, {"not begun", "turn"}} {
		require.NoError(p, p.PutBlob(p.Context(), p.p, b[0], b[1], []byte("data of "+b[1])))
	}
}

func ptr[T any](v T) *T { return &v }

// contents is all that a partition holds, without what a transfer does not move.
func (p *partition) contents() map[string]any {
	p.Helper()
	ctx, out := p.Context(), map[string]any{}
	var order, sessions []string
	for cursor, more := "", true; more; {
		set, err := p.Changes(ctx, p.p, cursor)
		require.NoError(p, err)
		for _, r := range set.Records {
			order, r.Version = append(order, r.ID), 0
			out["record "+r.ID] = r
			events, err := p.History(ctx, p.p, r.ID)
			require.NoError(p, err)
			out["history "+r.ID] = events
		}
		cursor, more, out["embedding"] = set.Cursor, set.More, set.Embedding
	}
	deleted, err := p.Deleted(ctx, p.p, store.Page{})
	require.NoError(p, err)
	for _, id := range deleted.IDs {
		out["deleted "+id], err = p.History(ctx, p.p, id)
		require.NoError(p, err)
	}
	list, err := p.List(ctx, store.SessionQuery{Partition: &p.p})
	require.NoError(p, err)
	for _, s := range list.Sessions {
		s.Version, s.Lease, s.Created, s.Updated = 0, store.Lease{}, time.Time{}, time.Time{}
		sessions = append(sessions, s.ID)
		out["session "+s.ID] = s
		out["log "+s.ID], err = p.Read(ctx, p.p, s.ID, store.Range{Limit: 10_000})
		require.NoError(p, err)
	}
	blobs, err := p.BlobSessions(ctx, p.p, store.Page{})
	require.NoError(p, err)
	for _, id := range blobs.IDs {
		page, err := p.ListBlobs(ctx, p.p, id, "", store.Page{})
		require.NoError(p, err)
		for _, b := range page.Blobs {
			out["blob "+id+"/"+b.Name], err = p.GetBlob(ctx, p.p, id, b.Name)
			require.NoError(p, err)
		}
	}
	out["order"], out["sessions"] = order, sessions
	return out
}

func TestTransferMovesEverything(t *testing.T) {
	from, to := newPartition(t, today), newPartition(t, today.Add(time.Hour))
	from.fill()
	var reports []store.TransferCount
	want := store.TransferCount{Partitions: 1, Records: 3, Deleted: 1, Sessions: 3, Messages: 8, Blobs: 3}
	done, err := store.Transfer(t.Context(), from, to, &store.TransferOptions{Progress: func(p backends.Partition, c store.TransferCount) {
		require.Equal(t, ann, p)
		reports = append(reports, c)
	}})
	require.NoError(t, err)
	require.Equal(t, want, done)
	want.Partitions = 0
	require.Equal(t, want, reports[len(reports)-1])
	require.Equal(t, from.contents(), to.contents())
	pending, err := to.List(t.Context(), store.SessionQuery{Pending: true})
	require.NoError(t, err)
	require.Len(t, pending.Sessions, 2)

	done, err = store.Transfer(t.Context(), from, to, nil)
	require.NoError(t, err)
	require.Equal(t, store.TransferCount{Partitions: 1}, done, "a repeat writes nothing")
	to.apply(store.Put(rec("b", "lives in Bergen")))
	events, err := to.History(t.Context(), ann, "b")
	require.NoError(t, err)
	require.Greater(t, events[len(events)-1].Version, events[len(events)-2].Version, "the history goes on")
}

func TestTransferOfManyPages(t *testing.T) {
	from, to := newPartition(t, today), newPartition(t, today)
	var big []store.Mutation
	for i := range 2500 {
		big = append(big, store.Put(rec(fmt.Sprintf("big%d", i), "x")))
	}
	from.apply(big...)
	for i := range 1100 {
		from.apply(store.Put(rec(fmt.Sprintf("one%d", i), "x")), store.Put(rec("gone", "y")))
		from.apply(store.Delete("gone"), store.Put(rec(fmt.Sprintf("gone%d", i), "x")), store.Delete(fmt.Sprintf("gone%d", i)))
	}
	from.say("long", 0, 2600)
	_, err := from.Update(t.Context(), ann, &store.SessionUpdate{Session: "long", Watermark: ptr(int64(1500))})
	require.NoError(t, err)
	for i := range 1100 {
		from.say(fmt.Sprint("s", i), 0, 1)
	}
	done, err := store.Transfer(t.Context(), from, to, nil)
	require.NoError(t, err)
	require.Equal(t, store.TransferCount{Partitions: 1, Records: 3600, Deleted: 1101, Sessions: 1101, Messages: 3700}, done)
	require.Equal(t, from.contents(), to.contents())
}

func TestTransferChoosesPartitions(t *testing.T) {
	from, to := newPartition(t, today), newPartition(t, today)
	var all []backends.Partition
	for _, id := range []string{"ann", "bob", "eve"} {
		from.p.ID = id
		from.fill()
		all = append(all, from.p)
	}
	from.p.Namespace = "other"
	from.fill()
	transfer := func(o *store.TransferOptions) int {
		done, err := store.Transfer(t.Context(), from, to, o)
		require.NoError(t, err)
		return done.Records
	}
	require.Equal(t, 3, transfer(&store.TransferOptions{Partitions: all[1:2]}))
	require.Equal(t, 6, transfer(nil))
	require.Equal(t, 3, transfer(&store.TransferOptions{Namespace: "other"}))
	require.Zero(t, transfer(&store.TransferOptions{Namespace: "nothing"}))
	require.Zero(t, transfer(&store.TransferOptions{Partitions: []backends.Partition{}}))
}

// countdown is a context that is cancelled once it was looked at so many times: every
// call of a store looks, before and while it works.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestTransferContinuesWhereverItWasInterrupted(t *testing.T) {
	from := newPartition(t, today)
	from.fill()
	want := from.contents()
	for calls := 0; ; calls++ {
		to := newPartition(t, today)
		_, err := store.Transfer(&countdown{t.Context(), calls}, from, to, nil)
		if err == nil {
			require.Greater(t, calls, 50)
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		if _, err = store.Transfer(&countdown{t.Context(), calls}, from, to, nil); err != nil { // and once more
			require.ErrorIs(t, err, context.Canceled)
		}
		_, err = store.Transfer(t.Context(), from, to, nil)
		require.NoError(t, err, "after %d calls", calls)
		require.Equal(t, want, to.contents(), "after %d calls", calls)
	}
	complete := newPartition(t, today)
	_, err := store.Transfer(t.Context(), from, complete, nil)
	for calls := 0; err == nil || errors.Is(err, context.Canceled); calls++ {
		if _, err = store.Transfer(&countdown{t.Context(), calls}, from, complete, nil); err == nil {
			break // all was compared, nothing written
		}
	}
	require.NoError(t, err)
}

func TestTransferRefusesATargetWithOtherData(t *testing.T) {
	for name, other := range map[string]func(*partition){
		"another memory":   func(to *partition) { to.apply(store.Put(rec("z", "x"))) },
		"another text":     func(to *partition) { to.apply(store.Put(rec("b", "lives in Bonn"))) },
		"another vector":   func(to *partition) { to.apply(store.Put(rec("bare", "x"))) },
		"another history":  func(to *partition) { to.apply(store.Put(rec("gone", "x")), store.Delete("gone")) },
		"another session":  func(to *partition) { to.say("third", 0, 1) },
		"another message":  func(to *partition) { to.say("first", 1, 1) },
		"a longer log":     func(to *partition) { to.say("second", 0, 3) },
		"what is to learn": func(to *partition) { to.say("second", 0, 1) },
		"another blob":     func(to *partition) { require.NoError(t, to.PutBlob(t.Context(), ann, "third", "b", []byte("x"))) },
		"another blob's data": func(to *partition) {
			require.NoError(t, to.PutBlob(t.Context(), ann, "first", "archive/1", []byte("x")))
		},
		"another title": func(to *partition) {
			_, err := to.Append(t.Context(), ann, "first", &store.Append{})
			require.NoError(t, err)
			_, err = to.Update(t.Context(), ann, &store.SessionUpdate{Session: "first", Title: ptr("another")})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newPartition(t, today), newPartition(t, today)
			from.fill()
			other(to)
			before := to.contents()
			_, err := store.Transfer(t.Context(), from, to, nil)
			require.ErrorIs(t, err, backends.ErrConflict)
			require.ErrorContains(t, err, "drop the partition")
			require.Equal(t, before, to.contents())
			_, err = to.Drop(t.Context(), ann)
			require.NoError(t, err)
			_, err = store.Transfer(t.Context(), from, to, nil)
			require.NoError(t, err, "the way out")
			require.Equal(t, from.contents(), to.contents())
		})
	}
}

// changing writes to the source after its first page of changes was read.
type changing struct {
	*partition
	change func(*partition)
}

func (s *changing) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	set, err := s.partition.Changes(ctx, p, cursor)
	if cursor == "" {
		s.change(s.partition)
	}
	return set, err
}

func TestTransferReportsASourceThatChanges(t *testing.T) {
	for name, change := range map[string]func(*partition){
		"a memory changes": func(p *partition) { p.apply(store.Put(rec("0", "y"))) },
		"a memory goes":    func(p *partition) { p.apply(store.Delete("0")) },
		"it is dropped": func(p *partition) {
			_, err := p.Drop(t.Context(), ann)
			require.NoError(t, err)
			p.apply(store.Put(rec("new", "x")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newPartition(t, today), newPartition(t, today)
			for i := range 1100 {
				from.apply(store.Put(rec(fmt.Sprint(i), "x")))
			}
			_, err := store.Transfer(t.Context(), &changing{from, change}, to, nil)
			require.ErrorIs(t, err, backends.ErrConflict)
			require.ErrorContains(t, err, "stop all writers")
		})
	}
}
