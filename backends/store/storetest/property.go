// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var propertyBehaviours = []behaviour{
	{"whatever is done, the store does as the model of the contract", storeEqualsModel},
}

// run is one run of the property test: a partition beside its model, with an
// index that follows it.
type run struct {
	*env
	rt    *rapid.T
	model *model
	index *index
	token map[string]int64 // the last lease granted, by session
}

func storeEqualsModel(e *env) {
	rapid.Check(e.TB, func(rt *rapid.T) {
		e := e.in(backends.Partition{Namespace: e.p.Namespace, Kind: backends.PartitionUser, ID: backends.NewID()})
		e.TB = rt
		var runs []*run
		for _, p := range []backends.Partition{e.p, {Namespace: e.p.Namespace, Kind: backends.PartitionAgent, ID: e.p.ID}} {
			r := &run{env: e.in(p), rt: rt, model: newModel(), token: map[string]int64{}}
			r.index = r.env.index()
			runs = append(runs, r)
		}
		on := func(do func(*run)) func(*rapid.T) {
			return func(*rapid.T) { do(runs[rapid.IntRange(0, len(runs)-1).Draw(rt, "partition")]) }
		}
		rt.Repeat(map[string]func(*rapid.T){
			"apply": on((*run).apply), "apply with a session": on((*run).applySession), "append": on((*run).append),
			"update": on((*run).update), "read": on((*run).read), "drop": on((*run).drop), "blob": on((*run).blob), "delete": on((*run).deleteSession),
			"pass": func(*rapid.T) {
				e.clock.pass(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
			},
			"": func(*rapid.T) {
				for _, r := range runs {
					r.compare()
				}
			},
		})
	})
}

func (r *run) pick(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r.rt, name) }

func (r *run) recordID() string { return r.pick("id", "a", "b", "c", "{d}") }

func (r *run) sessionID() string { return r.pick("session", "", "s", "s:t") }

// mutation draws one that is legal, though it may conflict.
func (r *run) mutation() store.Mutation {
	put := record(r.recordID(), r.pick("text", "x", "y", ""))
	put.Vector = []byte(r.pick("vector", "", "v1", "v2"))
	if len(put.Vector) == 0 {
		put.Vector = nil
	}
	id := r.recordID()
	var m store.Mutation
	switch store.Op(r.pick("op", "put", "put", "supersede", "retract", "delete", "increment")) {
	case store.OpPut:
		m = store.Put(put)
	case store.OpSupersede:
		if put.ID == id {
			put.ID = "e"
		}
		m = store.Supersede(id, put)
	case store.OpRetract:
		m = store.Retract(id, r.clock.Now().Add(-time.Minute))
	case store.OpDelete:
		m = store.Delete(id)
	case store.OpIncrement:
		m = store.Increment(id, "n", float64(rapid.IntRange(1, 9).Draw(r.rt, "delta")))
	}
	if rapid.IntRange(0, 3).Draw(r.rt, "expecting") == 0 {
		m.Expect = max(1, r.model.records[id].Version-int64(rapid.IntRange(0, 1).Draw(r.rt, "behind")))
		if m.Op == store.OpPut && m.Expect == 1 {
			m.Expect = store.MustNotExist
		}
	}
	return m
}

func (r *run) batch() *store.Batch {
	b := &store.Batch{Key: r.pick("key", "", "", "", "k1", "k2")}
	for range rapid.IntRange(0, 4).Draw(r.rt, "mutations") {
		b.Mutations = append(b.Mutations, r.mutation())
	}
	if dim := rapid.IntRange(0, 8).Draw(r.rt, "dim"); dim == 1 || dim == 2 {
		b.Embedding, b.Reembed = &store.Embedding{Model: "m", Dim: dim}, rapid.Bool().Draw(r.rt, "reembed")
	}
	return b
}

func (r *run) apply()        { r.applyBatch(r.batch()) }
func (r *run) applySession() { b := r.batch(); b.Session = r.change(); r.applyBatch(b) }

func (r *run) applyBatch(b *store.Batch) {
	want, wantErr := r.model.apply(b, r.clock.Now())
	got, err := r.Apply(r.ctx, r.p, b)
	r.sameError(wantErr, err)
	if err != nil {
		return
	}
	require.Equal(r, want.Version, got.Version)
	require.Equal(r, want.Replayed, got.Replayed)
	require.ElementsMatch(r, want.Results, got.Results)
	if want.Session != nil {
		r.sameSession(want.Session, got.Session)
	}
}

func (r *run) sameError(want, got error) {
	if want == nil {
		require.NoError(r, got)
		return
	}
	require.ErrorIs(r, got, want)
}

// sameSession compares all but the versions: the contract says only that they
// rise.
func (r *run) sameSession(want, got *store.Session) {
	require.NotNil(r, got)
	g, w := *got, *want
	g.Version, w.Version = 0, 0
	require.Equal(r, w, g)
}

func (r *run) append() {
	id := r.sessionID()
	a := &store.Append{TTL: time.Duration(rapid.IntRange(0, 2).Draw(r.rt, "minutes")) * time.Minute}
	if s := r.model.living(id, r.clock.Now()); a.TTL == 0 && s != nil && !s.state.Expires.IsZero() {
		a.TTL = time.Minute // the contract does not say what no TTL does to one that is there
	}
	for i := range rapid.IntRange(1, 3).Draw(r.rt, "messages") {
		m := message(fmt.Sprint("m", rapid.IntRange(1, 30).Draw(r.rt, "message")), "x")
		m.Tokens = i
		a.Entries = append(a.Entries, m)
	}
	a.Learnt = rapid.Bool().Draw(r.rt, "learnt")
	want := r.model.appendTo(r.p, id, a, r.clock.Now())
	got, err := r.Append(r.ctx, r.p, id, a)
	require.NoError(r, err)
	r.sameSession(want, got)
}

// change draws an update of a session, perhaps under a token that is stale.
func (r *run) change() *store.SessionUpdate {
	u := &store.SessionUpdate{Session: r.sessionID()}
	if rapid.Bool().Draw(r.rt, "under token") {
		u.Token = r.token[u.Session]
	}
	switch r.pick("change", "acquire", "acquire", "release", "watermark", "title", "summary", "expires") {
	case "acquire":
		u.Acquire = &store.Acquire{Owner: r.pick("owner", "w1", "w2"), For: time.Minute}
	case "release":
		u.Token, u.Release = max(1, r.token[u.Session]), true
	case "watermark":
		if s := r.model.living(u.Session, r.clock.Now()); s != nil {
			u.Watermark = ptr(int64(rapid.IntRange(0, int(s.state.LastSeq)).Draw(r.rt, "watermark")))
		}
	case "title":
		u.Title = ptr(r.pick("title", "", "x", "y"))
	case "summary":
		u.Summary = ptr(r.pick("summary", "", "x", "y"))
		u.SummaryUpto = ptr(int64(rapid.IntRange(0, 2).Draw(r.rt, "upto")))
		if rapid.Bool().Draw(r.rt, "from one") {
			u.Summarised = ptr(int64(rapid.IntRange(0, 2).Draw(r.rt, "from")))
		}
	case "expires":
		u.Expires = ptr(r.clock.Now().Add(time.Minute))
		if rapid.Bool().Draw(r.rt, "never") {
			u.Expires = &time.Time{}
		}
	}
	return u
}

func (r *run) update() {
	u := r.change()
	want, wantErr := r.model.update(u, r.clock.Now())
	got, err := r.Update(r.ctx, r.p, u)
	r.sameError(wantErr, err)
	if err == nil {
		r.sameSession(want, got)
		r.token[u.Session] = got.Lease.Token
	}
}

func (r *run) read() {
	id := r.sessionID()
	g := store.Range{
		After: int64(rapid.IntRange(0, 5).Draw(r.rt, "after")), Upto: int64(rapid.IntRange(0, 9).Draw(r.rt, "upto")),
		Limit: rapid.IntRange(0, 4).Draw(r.rt, "limit"), Last: rapid.Bool().Draw(r.rt, "last"),
	}
	got, err := r.Read(r.ctx, r.p, id, g)
	require.NoError(r, err)
	require.Equal(r, append([]store.Entry{}, r.model.read(id, g, r.clock.Now())...), append([]store.Entry{}, got...))
}

func (r *run) drop() {
	if rapid.IntRange(0, 3).Draw(r.rt, "really") > 0 {
		return
	}
	got, err := r.Drop(r.ctx, r.p)
	require.NoError(r, err)
	want := store.DropCount{Records: got.Records} // tombstones are not in the model
	for id := range r.model.sessions {
		if s := r.model.living(id, r.clock.Now()); s != nil {
			want.Sessions++
			want.Messages += len(s.entries)
		}
	}
	for id := range r.model.blobs {
		want.Blobs += len(r.model.listBlobs(id, "", r.clock.Now()))
	}
	require.Equal(r, want, got)
	require.GreaterOrEqual(r, got.Records, len(r.model.records))
	r.model = newModel()
	clear(r.token)
}

// compare looks at everything that can be seen.
func (r *run) compare() {
	r.index.follow()
	want := []store.Record{}
	for _, record := range r.model.records {
		want = append(want, record)
	}
	slices.SortFunc(want, func(a, b store.Record) int { return strings.Compare(a.ID, b.ID) })
	require.Equal(r, want, r.index.sorted())
	require.Equal(r, r.model.version, r.index.version)
	require.Equal(r, r.model.space, r.index.space)
	for _, id := range []string{"a", "b", "c", "{d}", "e"} {
		record, exists := r.model.records[id]
		got := r.get(id)
		require.Equal(r, exists, len(got) == 1)
		if exists {
			require.Equal(r, record, got[0])
		}
		require.Equal(r, append([]backends.Event{}, r.model.events[id]...), append([]backends.Event{}, r.history(id)...))
	}
	living := 0
	for _, id := range []string{"", "s", "s:t"} {
		require.Equal(r, r.model.listBlobs(id, "", r.clock.Now()), r.listBlobs(id, "", 0, nil))
		s := r.model.living(id, r.clock.Now())
		if s == nil {
			r.noSession(id)
			continue
		}
		living++
		r.sameSession(&s.state, r.session(id))
	}
	require.Len(r, r.list(store.SessionQuery{}), living)
}
