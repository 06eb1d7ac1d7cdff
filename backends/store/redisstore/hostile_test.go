// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// hostileNames look like keys, like parts of them, like patterns, and like each other.
var hostileNames = []string{
	"a", "b", "A", "a:user:b", "a:user", "user:b", "user", ":", "::", "a:", ":a", "a%3Auser%3Ab", "a%3auser", "%", "%%", "%7D", "%7d", "%25", "%41", "%2", "a%00b",
	"}", "{", "{}", "}{", "{a}", "{a", "a}", "}:rec", "a}:rec", "a}:meta", "{em:a:user:b}", "{em:a:user:b}:rec", "em", "em:namespaces", "em:work", "em:partitions:a", "namespaces", "work",
	"partitions", "meta", "rec", "s", "s:", "s:a:st", "a:s:b:log", "sess", "?", "a?", "[a-z]", "[^a]", "\\", "a\\*"[:2], "\"", "'", "a b", "a/b", "/", "..", ".", "-", "_", "+", "(a", "[a", "-inf",
	"(1", "0", "1e5", "nil", "null", "é", "e\u0301", "用户", "🎈", "a\u200b", "a\u2028b", "\u202ea", "＊", "Ａ", "K", "select 0", "a;FLUSHALL", "${a}", "<a>", "a=b&c", "a,b", "a|b", "~", "`a`", "@a", "#a",
	strings.Repeat("x", backends.MaxScopePart), strings.Repeat("x", backends.MaxScopePart-1), strings.Repeat("}", backends.MaxScopePart), strings.Repeat("用", backends.MaxScopePart/3),
}

// illegalNames are refused before anything is sent.
var illegalNames = []string{"", " ", " a", "a ", "a\n", "a\nb", "a\r\nDEL x", "a*", "*", "a\x00b", "\x00", "\x7f", "\u0085", "\xff", "a\xc3", strings.Repeat("x", backends.MaxScopePart+1)}

// hostileIDs may be anything in UTF-8.
var hostileIDs = append([]string{"*", "a*", "\x00", "a\x00", "a\x00b", "\n", "a\nb", "a\r\nDEL x", " ", " a", "k:a", "n:a", "1 {}", "\x7f", strings.Repeat("y", store.MaxID)}, hostileNames...)

// hostile does random things under hostile names, and knows what must come of them.
type hostile struct {
	t     *testing.T
	rnd   *rand.Rand
	c     *redis.Client
	s     *redisstore.Store
	names []string // of scopes and sessions; fewer meet more often
	model map[backends.Partition]*held
	lossy bool // answers get lost
}

// held is what a partition holds.
type held struct {
	records  map[string]bool            // false: deleted
	sessions map[string]map[string]bool // their messages
	blobs    map[[2]string]bool
}

func (h *hostile) in(p backends.Partition) *held {
	if h.model[p] == nil {
		h.model[p] = &held{map[string]bool{}, map[string]map[string]bool{}, map[[2]string]bool{}}
	}
	return h.model[p]
}

// verify has the store itself look at some partitions and at the registry.
func (h *hostile) verify() {
	checkReport(h.t, func() (*redisstore.Report, error) { return h.s.VerifyRegistry(h.t.Context()) })
	some := 100
	for p := range h.model {
		if some--; some < 0 {
			return
		}
		checkReport(h.t, func() (*redisstore.Report, error) { return h.s.Verify(h.t.Context(), p) })
	}
}

func (h *hostile) pick(from []string) string {
	if h.rnd.IntN(8) > 0 {
		return from[h.rnd.IntN(len(from))]
	}
	const letters = "ab:{}%7Ds*"
	b := make([]byte, 1+h.rnd.IntN(6))
	for i := range b {
		b[i] = letters[h.rnd.IntN(len(letters)-1)]
	}
	return string(b)
}

func (h *hostile) partition() backends.Partition {
	kinds := []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace}
	return backends.Partition{Namespace: h.pick(h.names[:len(h.names)/2]), Kind: kinds[h.rnd.IntN(3)], ID: h.pick(h.names)}
}

// announce tells the monitor what the call that follows may touch.
func (h *hostile) announce(p *permit) {
	text, err := json.Marshal(p)
	require.NoError(h.t, err)
	require.NoError(h.t, h.c.Echo(h.t.Context(), permitMark+string(text)).Err())
}

// scar is what a text says of its place.
func scar(p backends.Partition, id string) string { return fmt.Sprintf("%s %q", p, id) }

// act does one thing.
func (h *hostile) act() {
	p := h.partition()
	allowed := permitFor(p)
	session := h.pick(h.names)
	if h.rnd.IntN(10) == 0 {
		session = ""
	}
	kind := h.rnd.IntN(100)
	switch {
	case kind < 4:
		h.announce(&permit{Tag: "nothing"})
		h.refused(p)
	case kind < 40:
		h.announce(allowed)
		h.records(p, h.pick(hostileIDs))
	case kind < 85:
		allowed.Session = allowed.Tag + "s:" + percent(session) + ":"
		h.announce(allowed)
		h.session(p, session, h.pick(hostileIDs))
	case kind < 90:
		h.announce(allowed)
		h.drop(p)
	case kind < 97:
		h.announce(allowed)
		h.list(p)
	case kind < 99: // the partitions of a namespace are looked at
		h.announce(&permit{Tag: "nothing", Read: true})
		h.namespace(p.Namespace)
	default:
		pending := h.rnd.IntN(2) == 0
		h.announce(&permit{Tag: "nothing", Read: true, Rest: pending})
		_, err := h.s.List(h.t.Context(), store.SessionQuery{Pending: pending, Page: store.Page{Limit: 10}})
		require.NoError(h.t, err)
	}
}

func (h *hostile) refused(p backends.Partition) {
	bad := illegalNames[h.rnd.IntN(len(illegalNames))]
	session := bad
	switch h.rnd.IntN(3) {
	case 0:
		p.Namespace, session = bad, "a"
	case 1:
		p.ID, session = bad, "a"
	default:
		if bad == "" {
			return // the empty session is legal
		}
	}
	ctx := h.t.Context()
	_, err := h.s.Append(ctx, p, session, &store.Append{Entries: []store.Entry{said("a")}})
	require.ErrorIs(h.t, err, backends.ErrInvalid)
	require.ErrorIs(h.t, h.s.Delete(ctx, p, session), backends.ErrInvalid)
	require.ErrorIs(h.t, h.s.PutBlob(ctx, p, session, "a", []byte("a")), backends.ErrInvalid)
	_, err = h.s.Update(ctx, p, &store.SessionUpdate{Session: session})
	require.ErrorIs(h.t, err, backends.ErrInvalid)
	if session == "a" {
		_, err = h.s.Drop(ctx, p)
		require.ErrorIs(h.t, err, backends.ErrInvalid)
		_, err = h.s.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{put("a", "a")}})
		require.ErrorIs(h.t, err, backends.ErrInvalid)
	}
}

func (h *hostile) records(p backends.Partition, id string) {
	ctx, m := h.t.Context(), h.in(p)
	switch h.rnd.IntN(6) {
	case 0, 1:
		r := &store.Record{Memory: backends.Memory{ID: id, Text: scar(p, id)}, Vector: []byte(scar(p, id))}
		_, err := h.s.Apply(ctx, p, &store.Batch{Key: h.pick(hostileNames) + fmt.Sprint(h.rnd.Uint64()), Mutations: []store.Mutation{store.Put(r)}})
		require.NoError(h.t, err)
		m.records[id] = true
	case 2:
		_, err := h.s.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Delete(id)}})
		require.NoError(h.t, err)
		if _, ok := m.records[id]; ok {
			m.records[id] = false
		}
	case 3:
		got, err := h.s.Get(ctx, p, id, "a", "b")
		require.NoError(h.t, err)
		var want int
		for _, each := range []string{id, "a", "b"} {
			if m.records[each] {
				want++
			}
		}
		require.Len(h.t, got, want)
		for _, r := range got {
			require.Equal(h.t, scar(p, r.ID), r.Text)
			require.Equal(h.t, scar(p, r.ID), string(r.Vector))
		}
	case 4:
		h.changes(p, m)
	default:
		events, err := h.s.History(ctx, p, id)
		require.NoError(h.t, err)
		_, met := m.records[id]
		require.Equal(h.t, met, len(events) > 0)
	}
}

func (h *hostile) changes(p backends.Partition, m *held) {
	set, err := h.s.Changes(h.t.Context(), p, "")
	require.NoError(h.t, err)
	var want, got []string
	for id, there := range m.records {
		if there {
			want = append(want, id)
		}
	}
	for _, r := range set.Records {
		require.Equal(h.t, scar(p, r.ID), r.Text)
		got = append(got, r.ID)
	}
	require.ElementsMatch(h.t, want, got)
}

func (h *hostile) session(p backends.Partition, session, id string) {
	ctx, m := h.t.Context(), h.in(p)
	blob := [2]string{session, id}
	switch h.rnd.IntN(10) {
	case 0, 1, 2:
		_, err := h.s.Append(ctx, p, session, &store.Append{Entries: []store.Entry{said(id)}})
		require.NoError(h.t, err)
		if m.sessions[session] == nil {
			m.sessions[session] = map[string]bool{}
		}
		m.sessions[session][id] = true
	case 3:
		entries, err := h.s.Read(ctx, p, session, store.Range{})
		require.NoError(h.t, err)
		require.Len(h.t, entries, len(m.sessions[session]))
		for _, e := range entries {
			require.True(h.t, m.sessions[session][e.ID])
		}
	case 4:
		st, err := h.s.Update(ctx, p, &store.SessionUpdate{Session: session, Summary: text(scar(p, session))})
		if m.sessions[session] == nil {
			require.ErrorIs(h.t, err, backends.ErrNotFound)
			return
		}
		require.NoError(h.t, err)
		require.Equal(h.t, p, st.Partition)
	case 5:
		require.NoError(h.t, h.s.PutBlob(ctx, p, session, id, []byte(scar(p, id))))
		m.blobs[blob] = true
	case 6:
		data, err := h.s.GetBlob(ctx, p, session, id)
		if !m.blobs[blob] {
			require.ErrorIs(h.t, err, backends.ErrNotFound)
			return
		}
		require.NoError(h.t, err)
		require.Equal(h.t, scar(p, id), string(data))
	case 7:
		require.NoError(h.t, h.s.PutBlob(ctx, p, session, id, nil))
		delete(m.blobs, blob)
	case 8:
		h.blobs(p, session, m)
	default:
		require.NoError(h.t, h.s.Delete(ctx, p, session))
		delete(m.sessions, session)
		for b := range m.blobs {
			if b[0] == session {
				delete(m.blobs, b)
			}
		}
	}
}

// blobs lists what begins like one of the names.
func (h *hostile) blobs(p backends.Partition, session string, m *held) {
	prefix := ""
	if h.rnd.IntN(2) == 0 {
		prefix = string([]rune(hostileIDs[h.rnd.IntN(len(hostileIDs))])[:1])
	}
	page, err := h.s.ListBlobs(h.t.Context(), p, session, prefix, store.Page{Limit: 1000})
	require.NoError(h.t, err)
	want := []store.BlobInfo{}
	for b, there := range m.blobs {
		if there && b[0] == session && strings.HasPrefix(b[1], prefix) {
			want = append(want, store.BlobInfo{Name: b[1], Size: int64(len(scar(p, b[1])))})
		}
	}
	slices.SortFunc(want, func(a, b store.BlobInfo) int { return strings.Compare(a.Name, b.Name) })
	require.Equal(h.t, want, append([]store.BlobInfo{}, page.Blobs...))
}

func (h *hostile) drop(p backends.Partition) {
	m := h.in(p)
	want := store.DropCount{Records: len(m.records), Sessions: len(m.sessions), Blobs: len(m.blobs)}
	for _, messages := range m.sessions {
		want.Messages += len(messages)
	}
	got, err := h.s.Drop(h.t.Context(), p)
	require.NoError(h.t, err)
	if !h.lossy { // what was dropped before an answer was lost is not counted
		require.Equal(h.t, want, got, "%s", p)
	}
	delete(h.model, p)
}

func (h *hostile) list(p backends.Partition) {
	page, err := h.s.List(h.t.Context(), store.SessionQuery{Partition: &p, Page: store.Page{Limit: 1000}})
	require.NoError(h.t, err)
	m := h.in(p)
	require.Len(h.t, page.Sessions, len(m.sessions))
	for _, s := range page.Sessions {
		require.Contains(h.t, m.sessions, s.ID)
		require.Equal(h.t, p, s.Partition)
	}
}

func (h *hostile) namespace(ns string) {
	var got []backends.Partition
	for cursor := ""; ; {
		page, err := h.s.Partitions(h.t.Context(), ns, store.Page{Limit: 7, Cursor: cursor})
		require.NoError(h.t, err)
		got = append(got, page.Partitions...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	var want []backends.Partition
	for p, m := range h.model {
		if p.Namespace == ns && m.holds() {
			want = append(want, p)
		}
	}
	require.ElementsMatch(h.t, want, got)
}

func (m *held) holds() bool { return len(m.records)+len(m.sessions)+len(m.blobs) > 0 }

// scan proves that each key on the server is of a partition that holds something or
// once did, and was not dropped since.
func (h *hostile) scan() (n int) {
	tags := map[string]bool{}
	for p := range h.model {
		tags[permitFor(p).Tag] = true
	}
	for it := h.c.Scan(h.t.Context(), 0, "*", 1000).Iterator(); it.Next(h.t.Context()); n++ {
		key := it.Val()
		if key == "em:namespaces" || key == "em:work" || strings.HasPrefix(key, "em:partitions:") {
			continue
		}
		tag, _, ok := strings.Cut(key, "}:")
		require.True(h.t, ok && tags[tag+"}:"], "%q", key)
	}
	return n
}

// No call touches a key outside its partition, whatever its names are.
func TestHostileNamesStayInTheirPartition(t *testing.T) {
	cases := several(3000, 100_000)
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	h := &hostile{t: t, rnd: rand.New(rand.NewPCG(1, 2)), c: c, s: newStore(t, c, nil), names: hostileNames, model: map[backends.Partition]*held{}}
	m := startMonitor(t, server)
	for range cases {
		h.act()
	}
	keys := h.scan()
	for _, p := range slices.Collect(maps.Keys(h.model)) {
		if h.rnd.IntN(2) == 0 {
			h.announce(permitFor(p))
			h.drop(p)
		}
	}
	require.NoError(t, c.Echo(t.Context(), lastMark).Err())
	<-m.done
	require.Empty(t, m.wrong)
	h.verify()
	for _, p := range slices.Collect(maps.Keys(h.model)) {
		h.drop(p)
	}
	left, err := c.Keys(t.Context(), "{*").Result()
	require.NoError(t, err)
	require.Empty(t, left, "everything was dropped")
	t.Logf("%d cases, %d commands, %d keys", cases, m.commands, keys)
	require.Greater(t, m.commands, 5*cases)
}

// Every call does once what it says, though the answer to every fifth command or so is
// lost: to any one, those to the registry too.
func TestEveryCallHoldsWhenAnswersAreLost(t *testing.T) {
	w := newWeather(t)
	c := w.server.Client(t)
	behind := redis.NewClient(&redis.Options{Addr: w.proxy.Addr(), MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 2 * time.Millisecond})
	t.Cleanup(func() { _ = behind.Close() })
	s := newStore(t, behind, &redisstore.Config{Retry: 10 * time.Second})
	h := &hostile{t: t, rnd: rand.New(rand.NewPCG(3, 4)), c: c, s: s, names: hostileNames[:6], model: map[backends.Partition]*held{}, lossy: true}
	cases := several(1000, 20_000)
	for range cases {
		if h.rnd.IntN(3) == 0 {
			w.proxy.LoseReplies(1 + h.rnd.IntN(2))
		}
		h.act()
	}
	w.proxy.LoseReplies(0)
	h.verify()
	t.Logf("%d cases, %d answers lost", cases, w.proxy.Cuts())
	require.Greater(t, w.proxy.Cuts(), cases/10)
}
