// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var propertyBehaviours = []behaviour{
	{"a store returns what the model of the contract returns", func(e *env) {
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
				return func(*rapid.T) { do(runs[rapid.IntRange(0, len(runs)-1).Draw(rt, "partition")].anyHandle()) }
			}
			rt.Repeat(map[string]func(*rapid.T){
				"apply": on((*run).apply), "apply with a session": on((*run).applySession), "append": on((*run).append),
				"update": on((*run).update), "read": on((*run).read), "drop": on((*run).drop), "blob": on((*run).blob), "delete": on((*run).delete), "erase": on((*run).erase),
				"pass": func(*rapid.T) {
					e.clock.pass(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
				},
				"": func(*rapid.T) { runs[rapid.IntRange(0, len(runs)-1).Draw(rt, "compared")].anyHandle().compare() },
			})
		})
	}},
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

func (r *run) pick(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r.rt, name) }
func (r *run) number(name string, low, high int) int {
	return rapid.IntRange(low, high).Draw(r.rt, name)
}

// anyHandle lets any of the handles make the next calls.
func (r *run) anyHandle() *run {
	r.Store = r.handles[r.number("handle", 0, len(r.handles)-1)]
	return r
}

func (r *run) recordID() string  { return r.pick("id", "a", "b", "c", "{d}") }
func (r *run) sessionID() string { return r.pick("session", "", "s", "s:t") }

// mutation draws one that is legal, though it may conflict.
func (r *run) mutation() store.Mutation {
	id, drawn := r.recordID(), record(r.recordID(), r.pick("text", "x", "y", ""))
	if v := r.pick("vector", "", "v1", "v2"); v != "" {
		drawn.Vector = []byte(v)
	}
	if r.number("dated", 0, 3) == 0 {
		now := r.clock.Now()
		drawn.Created, drawn.Updated, drawn.Expires = now.Add(-time.Hour), now.Add(-time.Minute), now
	}
	var m store.Mutation
	switch store.Op(r.pick("op", "put", "put", "supersede", "retract", "delete", "increment", "restore", "erase")) {
	case store.OpPut:
		m = store.Put(drawn)
	case store.OpSupersede:
		if drawn.ID == id {
			drawn.ID = "e"
		}
		m = store.Supersede(id, drawn)
	case store.OpRetract:
		m = store.Retract(id, r.clock.Now().Add(-time.Minute))
	case store.OpDelete:
		m = store.Delete(id)
	case store.OpErase:
		m = store.Erase(id)
	case store.OpIncrement:
		m = store.Increment(id, "n", float64(r.number("delta", 1, 9)))
	case store.OpRestore:
		events := []backends.Event{{MemoryID: id, Type: backends.OutcomeAdded, New: "old", Version: int64(r.number("event version", 0, 20))}}
		drawn.ID, drawn.Version = id, int64(r.number("version", 0, 20))
		m = store.Restore(id, drawn, events[:r.number("events", 0, 1)])
		if len(m.Events) > 0 && r.number("deleted", 0, 2) == 0 {
			m.Record = nil
		}
	}
	if m.Actor = r.pick("actor", "", "ann", "model"); m.Actor != "" {
		m.Role = "role of " + m.Actor
	}
	if r.number("expecting", 0, 3) == 0 {
		m.Expect = store.MustNotExist
		if have := r.model.records[id]; have != nil {
			m.Expect = max(1, have.Version-int64(r.number("behind", 0, 1)))
		}
	}
	return m
}

func (r *run) batch() *store.Batch {
	b := keyed(r.pick("key", "", "", "", "k1", "k2"))
	for range r.number("mutations", 0, 4) {
		b.Mutations = append(b.Mutations, r.mutation())
	}
	if dim := r.number("dim", 0, 8); dim == 1 || dim == 2 {
		b.Embedding, b.Reembed = &store.Embedding{Model: "m", Dim: dim}, rapid.Bool().Draw(r.rt, "reembed")
	}
	return b
}

func (r *run) apply() { r.applyBatch(r.batch()) }

func (r *run) applySession() {
	b := r.batch()
	b.Session = r.change()
	r.applyBatch(b)
}

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
		r.written(want.Session, got.Session)
	}
}

func (r *run) sameError(want, got error) {
	require.Equal(r, want == nil, got == nil, "%v, not %v", got, want)
	for _, target := range []error{backends.ErrConflict, backends.ErrDimension, backends.ErrNotFound} {
		require.Equal(r, errors.Is(want, target), errors.Is(got, target), "%v, not %v", got, want)
	}
}

// sameSession compares a session with the model's.
func (r *run) sameSession(want, got *store.Session) {
	require.NotNil(r, got)
	g, w := *got, *want
	if len(g.Failures) == 0 && len(w.Failures) == 0 {
		g.Failures, w.Failures = nil, nil // the contract treats them alike
	}
	require.Equal(r, w, g)
}

// written compares the result of a write of a session. The contract only says that
// versions rise, so the model takes over the store's.
func (r *run) written(want, got *store.Session) {
	require.NotNil(r, got)
	require.Positive(r, got.Version)
	require.GreaterOrEqual(r, got.Version, want.Version)
	want.Version, r.model.sessions[want.ID].state.Version = got.Version, got.Version
	r.sameSession(want, got)
}

func (r *run) append() {
	id := r.sessionID()
	a := &store.Append{TTL: time.Duration(r.number("minutes", 0, 2)) * time.Minute, Learnt: rapid.Bool().Draw(r.rt, "learnt"),
		Scope: backends.Scope{UserID: "ann", AgentID: r.pick("agent", "", "g")}}
	if s := r.model.living(id, r.clock.Now()); a.TTL == 0 && s != nil && !s.state.Expires.IsZero() {
		a.TTL = time.Minute // the contract leaves open what a zero TTL does to a session that has one
	}
	for i := range r.number("messages", 0, 3) {
		m := message(fmt.Sprint("m", r.number("message", 1, 8)), r.pick("said", "x", "y"))
		m.Tokens = i
		a.Entries = append(a.Entries, m)
	}
	r.written(r.model.appendTo(r.p, id, a, r.clock.Now()), r.appendAll(id, a))
}

// change draws an update of a session, perhaps under a token that is stale.
func (r *run) change() *store.SessionUpdate {
	u := &store.SessionUpdate{Session: r.sessionID()}
	if rapid.Bool().Draw(r.rt, "under token") {
		u.Token = max(0, r.token[u.Session]+int64(r.number("off", -1, 1)))
	}
	s := r.model.living(u.Session, r.clock.Now())
	if s != nil && r.number("expecting", 0, 3) == 0 {
		u.Version = max(1, s.state.Version-int64(r.number("behind", 0, 1)))
	}
	switch r.pick("change", "acquire", "acquire", "release", "watermark", "title", "summary", "retry", "failures", "expires", "nothing") {
	case "acquire":
		u.Acquire = &store.Acquire{Owner: r.pick("owner", "w1", "w2"), For: time.Minute}
	case "release":
		u.Token, u.Release = max(1, r.token[u.Session]), true
	case "watermark":
		if s != nil {
			u.Watermark = ptr(int64(r.number("watermark", 0, int(s.state.LastSeq))))
		}
	case "title":
		u.Title = ptr(r.pick("title", "", "x", " <b>\"'\\ & {} 日本語 🎈 e\u0301\u2028"))
	case "summary":
		u.Summary, u.SummaryUpto = ptr(r.pick("summary", "", "x", "y")), ptr(int64(r.number("upto", 0, 2)))
		if rapid.Bool().Draw(r.rt, "from one") {
			u.Summarised = ptr(int64(r.number("from", 0, 2)))
		}
	case "retry":
		retries := []store.Retry{{}, {Attempts: 2, After: r.clock.Now(), Reason: "model down", Upto: 2, Whole: 3, InDoubt: true}}
		u.Retry = &retries[r.number("retry", 0, 1)]
	case "failures":
		failures := []store.Failure{{From: 1, Upto: 2, Attempts: 5, Reason: "no", Time: r.clock.Now()}}
		u.Failures = ptr(failures[r.number("failures", 0, 1):])
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
		require.Greater(r, got.Version, want.Version)
		r.written(want, got)
		r.token[u.Session] = got.Lease.Token
	}
}

func (r *run) read() {
	id := r.sessionID()
	g := store.Range{
		After: int64(r.number("after", 0, 5)), Upto: int64(r.number("upto", 0, 9)),
		Limit: r.number("limit", 0, 4), Last: rapid.Bool().Draw(r.rt, "last"),
	}
	require.Equal(r, r.model.read(id, g, r.clock.Now()), append([]store.Entry{}, r.env.read(id, g)...))
}

// blob puts or removes a blob, and compares the blobs of its session.
func (r *run) blob() {
	id, name := r.sessionID(), r.pick("name", "a", "a/b", "a/c", "{d}", "é")
	data := []byte(r.pick("data", "", "x", "yy"))
	if r.number("remove", 0, 2) == 0 {
		data = nil
	}
	r.putBlob(id, name, data)
	r.model.putBlob(id, name, data, r.clock.Now())
	prefix := r.pick("prefix", "", "a", "a/", "b")
	require.Equal(r, r.model.listBlobs(id, prefix, r.clock.Now()), r.blobs(id, prefix, r.number("limit", 0, 3), nil))
	for name, data := range r.model.blobs[id] {
		require.Equal(r, data, r.env.blob(id, name))
	}
}

func (r *run) delete() {
	id := r.sessionID()
	r.deleteSession(id)
	delete(r.model.sessions, id)
	delete(r.model.blobs, id)
	delete(r.token, id)
}

// erase erases a few messages of a session by their numbers, and some of them may be unknown.
func (r *run) erase() {
	id, seqs := r.sessionID(), []int64{int64(r.number("seq", 0, 9)), int64(r.number("another", 1, 9))}
	n := must(r.EraseMessages(r.ctx, r.p, id, seqs...))(r.env)
	require.Equal(r, r.model.eraseMessages(id, seqs, r.clock.Now()), n)
	if n > 0 {
		r.written(&r.model.sessions[id].state, r.session(id))
	}
	require.Equal(r, r.model.read(id, store.Range{}, r.clock.Now()), append([]store.Entry{}, r.env.read(id, store.Range{})...))
}

func (r *run) drop() {
	if r.number("really", 0, 3) > 0 {
		return
	}
	got := r.env.drop()
	want := store.DropCount{Records: got.Records} // the model has no tombstones
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

// compare compares all that can be read.
func (r *run) compare() {
	r.index.follow()
	want, deleted := []store.Record{}, []string{}
	for _, id := range []string{"a", "b", "c", "e", "{d}"} {
		record, exists := r.model.records[id]
		events := r.model.events[id]
		if exists {
			want = append(want, *record)
		} else if len(events) > 0 {
			deleted = append(deleted, id)
		}
		require.Equal(r, append([]backends.Event{}, events...), append([]backends.Event{}, r.history(id)...))
	}
	require.Equal(r, want, r.index.sorted())
	slices.Reverse(want)
	require.Equal(r, want, append([]store.Record{}, r.get("{d}", "unknown", "e", "", "c", "C", "b", "a")...), "in the order of the ids")
	require.Equal(r, r.model.version, r.index.version)
	require.Equal(r, r.model.space, r.index.space)
	require.Equal(r, deleted, r.deleted(0))
	living, pending, withBlobs := 0, []string{}, []string{}
	for _, id := range []string{"", "s", "s:t"} {
		blobs := r.model.listBlobs(id, "", r.clock.Now())
		require.Equal(r, blobs, r.blobs(id, "", 0, nil))
		if len(blobs) > 0 {
			withBlobs = append(withBlobs, id)
		}
		s := r.model.living(id, r.clock.Now())
		if s == nil {
			r.noSession(id)
			continue
		}
		if living++; s.state.Pending() {
			pending = append(pending, id)
		}
		r.sameSession(&s.state, r.session(id))
	}
	require.Equal(r, withBlobs, r.blobSessions(0))
	listed := r.list(store.SessionQuery{})
	require.Len(r, listed, living)
	for _, s := range listed {
		require.Equal(r, *r.session(s.ID), s)
	}
	require.ElementsMatch(r, pending, names(r.list(store.SessionQuery{Pending: true})))
}
