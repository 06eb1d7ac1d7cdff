// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// person is one user of the crowd.
type person struct {
	scope middleware.Scope
	mark  string
	holds map[string]string // id → text
	ids   []string          // ids ever held, for the others to try
	keys  map[string]bool   // idempotency keys used
}

// crowd is all users, what they share, and what they did.
type crowd struct {
	t       *testing.T
	rng     *rand.Rand
	backend *mem0.Backend
	mem     *middleware.MemoryMiddleware
	tools   map[string]tool.InvokableTool
	users   []*person
	done    int
	counts  map[string]int
}

func newCrowd(t *testing.T, rng *rand.Rand) *crowd {
	ctx := context.Background()
	file, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Synchronous: sqlitestore.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	w := &crowd{t: t, rng: rng, backend: verbatim(t, file), counts: map[string]int{}, tools: map[string]tool.InvokableTool{}}
	w.mem = open(t, &middleware.Config{
		Backend: w.backend, Mode: modes.AgentControl, UpdateTool: true, DeleteTool: true, TopK: 50,
		OnError: func(context.Context, string, error) {},
	})
	tools, err := w.mem.Tools(ctx)
	require.NoError(t, err)
	for _, b := range tools {
		info, err := b.Info(ctx)
		require.NoError(t, err)
		w.tools[info.Name] = b.(tool.InvokableTool)
	}
	for i, s := range hostile {
		w.users = append(w.users, &person{scope: s, mark: fmt.Sprintf("mark%03dend", i), holds: map[string]string{}, keys: map[string]bool{}})
	}
	return w
}

// act has u do one thing.
func (w *crowd) act(u *person) {
	acts := []struct {
		name   string
		weight int
		do     func(context.Context, *person)
	}{
		{"add", 6, w.add}, {"search", 30, w.search}, {"filtered search", 10, w.searchFiltered}, {"list", 10, w.list},
		{"get", 10, w.get}, {"update", 4, w.update}, {"delete", 4, w.remove}, {"delete all", 1, w.removeAll}, {"history", 8, w.history},
		{"search tool", 8, w.searchTool}, {"add tool", 2, w.addTool}, {"update tool", 3, w.updateTool}, {"delete tool", 3, w.deleteTool}, {"dump", 1, w.dump},
	}
	n := w.rng.IntN(100)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			w.done++
			w.counts[a.name]++
			a.do(middleware.WithScope(context.Background(), u.scope), u)
			return
		}
	}
}

// other returns somebody who is not u.
func (w *crowd) other(u *person) *person {
	for {
		if o := w.users[w.rng.IntN(len(w.users))]; o != u {
			return o
		}
	}
}

// anyID returns an id to try: u's own (mine), or one that somebody else has or had.
func (w *crowd) anyID(u *person) (id string, mine bool) {
	if w.rng.IntN(2) == 0 && len(u.holds) > 0 {
		ids := slices.Sorted(maps.Keys(u.holds))
		return ids[w.rng.IntN(len(ids))], true
	}
	if o := w.other(u); len(o.ids) > 0 {
		id = o.ids[w.rng.IntN(len(o.ids))]
		_, mine = u.holds[id]
		return id, mine
	}
	return "no-such-id", false
}

// clean requires that text, an answer that u got, has nobody else's mark.
func (w *crowd) clean(u *person, text string) {
	for rest := text; ; {
		at := strings.Index(rest, "mark")
		if at < 0 {
			return
		}
		if rest = rest[at:]; !strings.HasPrefix(rest, u.mark) {
			w.t.Fatalf("after %d operations %+v got what is not theirs: %.200s", w.done, u.scope, text)
		}
		rest = rest[len(u.mark):]
	}
}

// denied requires that u is told nothing of an id that is not theirs, and
// reports whether it was.
func (w *crowd) denied(u *person, mine bool, err error) bool {
	if mine {
		require.NoError(w.t, err)
		return false
	}
	require.ErrorIs(w.t, err, backends.ErrNotFound, "%+v", u.scope)
	w.clean(u, err.Error())
	return true
}

func (w *crowd) words(u *person) string {
	topics := []string{"tea", "train", "cello", "茶", "secret", "password", "home"}
	return fmt.Sprintf("%s likes %s %s %d", u.mark, topics[w.rng.IntN(len(topics))], topics[w.rng.IntN(len(topics))], w.rng.IntN(40))
}

// hold notes what an Add says that it stored for u.
func (w *crowd) hold(u *person, items []backends.Item) {
	for _, it := range items {
		require.NotEqual(w.t, backends.OutcomeFailed, it.Outcome)
		w.clean(u, it.Memory.Text)
		u.holds[it.Memory.ID] = it.Memory.Text
		u.ids = append(u.ids, it.Memory.ID)
	}
}

func (w *crowd) add(ctx context.Context, u *person) {
	if len(u.holds) > 25 {
		w.remove(ctx, u)
		return
	}
	text, key := w.words(u), fmt.Sprint("a key that all use ", w.rng.IntN(2000))
	resp, err := w.backend.Add(ctx, &backends.AddRequest{
		Scope: u.scope, Verbatim: true, Messages: []backends.Message{{Message: schema.UserMessage(text)}},
		Metadata:       map[string]any{"user_id": w.other(u).scope.UserID, "owner": u.mark},
		IdempotencyKey: key,
	})
	require.NoError(w.t, err)
	require.Equal(w.t, u.keys[key], resp.Replayed, "%+v: the keys of others are nothing to it", u.scope)
	u.keys[key] = true
	if !resp.Replayed {
		w.hold(u, resp.Items)
	}
}

func (w *crowd) search(ctx context.Context, u *person) {
	w.found(ctx, u, &backends.SearchRequest{Scope: u.scope, Query: w.words(w.other(u)), TopK: 20, IncludeSuperseded: true, WithSources: true})
}

// searchFiltered asks for somebody else's memories by every name that a filter has.
func (w *crowd) searchFiltered(ctx context.Context, u *person) {
	o := w.other(u)
	filters := []backends.Filter{
		backends.Eq("user_id", o.scope.UserID), backends.Ne("user_id", u.scope.UserID), backends.Eq("owner", o.mark), backends.Contains("user_id", ""),
		backends.Or(backends.Eq("namespace", o.scope.Namespace), backends.Eq("agent_id", o.scope.AgentID)), backends.Not(backends.Eq("owner", u.mark)),
		backends.In("id", toAny(o.ids)...),
	}
	f := filters[w.rng.IntN(len(filters))]
	w.found(ctx, u, &backends.SearchRequest{Scope: u.scope, Query: "likes secret " + o.mark, TopK: 50, Filter: &f})
}

func toAny(ids []string) []any {
	out := []any{"no-such-id"}
	for _, id := range ids[:min(10, len(ids))] {
		out = append(out, id)
	}
	return out
}

func (w *crowd) found(ctx context.Context, u *person, r *backends.SearchRequest) {
	resp, err := w.backend.Search(ctx, r)
	require.NoError(w.t, err)
	for i := range resp.Hits {
		h := &resp.Hits[i]
		w.clean(u, h.Text)
		if want, ok := u.holds[h.ID]; !ok || want != h.Text {
			w.t.Fatalf("%+v found %q, which it does not hold", u.scope, h.Text)
		}
		for _, s := range h.Sources {
			w.clean(u, s.Text)
		}
	}
}

func (w *crowd) list(_ context.Context, u *person) { require.Equal(w.t, u.holds, w.listed(u)) }

// listed returns all that u's partition holds.
func (w *crowd) listed(u *person) map[string]string {
	out := map[string]string{}
	for r := (&backends.ListRequest{Scope: u.scope, Limit: 10, IncludeSuperseded: true, IncludeExpired: true}); ; {
		resp, err := w.backend.List(context.Background(), r)
		require.NoError(w.t, err)
		for _, m := range resp.Memories {
			w.clean(u, m.Text)
			out[m.ID] = m.Text
		}
		if r.Cursor = resp.Next; r.Cursor == "" {
			return out
		}
	}
}

func (w *crowd) get(ctx context.Context, u *person) {
	id, mine := w.anyID(u)
	m, err := w.backend.Get(ctx, &backends.GetRequest{Scope: u.scope, ID: id})
	if !w.denied(u, mine, err) {
		require.Equal(w.t, u.holds[id], m.Text)
	}
}

func (w *crowd) update(ctx context.Context, u *person) {
	id, mine := w.anyID(u)
	text := w.words(u)
	_, err := w.backend.Update(ctx, &backends.UpdateRequest{Scope: u.scope, ID: id, Text: &text})
	if errors.Is(err, backends.ErrConflict) && mine { // it holds a memory with this text
		return
	}
	if !w.denied(u, mine, err) {
		u.holds[id] = text
	}
}

func (w *crowd) remove(ctx context.Context, u *person) {
	id, mine := w.anyID(u)
	if !w.denied(u, mine, w.backend.Delete(ctx, &backends.DeleteRequest{Scope: u.scope, ID: id})) {
		delete(u.holds, id)
	}
}

// removeAll deletes everything of u, or everything that a filter for somebody
// else's memories matches, which is nothing.
func (w *crowd) removeAll(ctx context.Context, u *person) {
	if w.rng.IntN(2) == 0 {
		theirs := backends.Eq("owner", w.other(u).mark)
		n, err := w.backend.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: u.scope, Filter: &theirs})
		require.NoError(w.t, err)
		require.Zero(w.t, n)
		return
	}
	n, err := w.backend.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: u.scope})
	require.NoError(w.t, err)
	require.Equal(w.t, len(u.holds), n)
	clear(u.holds)
}

func (w *crowd) history(ctx context.Context, u *person) {
	id, mine := w.anyID(u)
	events, err := w.backend.History(ctx, &backends.HistoryRequest{Scope: u.scope, ID: id})
	if mine {
		require.NoError(w.t, err)
		require.NotEmpty(w.t, events)
	}
	for _, e := range events {
		w.clean(u, e.Old+" "+e.New)
	}
}

// call has a model of u call a tool, with arguments that name somebody else.
func (w *crowd) call(ctx context.Context, u *person, name string, arguments map[string]any) string {
	o := w.other(u).scope
	for key, value := range map[string]any{"user_id": o.UserID, "agent_id": o.AgentID, "namespace": o.Namespace, "scope": o, "filter": map[string]any{"user_id": o.UserID}} {
		arguments[key] = value
	}
	b, err := json.Marshal(arguments)
	require.NoError(w.t, err)
	out, err := w.tools[name].InvokableRun(ctx, string(b))
	require.NoError(w.t, err)
	w.clean(u, out)
	return out
}

func (w *crowd) searchTool(ctx context.Context, u *person) {
	w.call(ctx, u, "search_memory", map[string]any{"keywords": []string{"likes", w.words(w.other(u))[len("mark000end"):]}, "limit": 50})
}

func (w *crowd) addTool(ctx context.Context, u *person) {
	if len(u.holds) > 25 {
		return
	}
	w.call(ctx, u, "add_memory", map[string]any{"thinking": "none", "content": []string{w.words(u)}})
	for id, text := range w.listed(u) {
		if _, ok := u.holds[id]; !ok {
			u.holds[id], u.ids = text, append(u.ids, id)
		}
	}
}

func (w *crowd) updateTool(ctx context.Context, u *person) {
	id, mine := w.anyID(u)
	text := w.words(u)
	out := w.call(ctx, u, "update_memory", map[string]any{"id": id, "content": text})
	switch {
	case strings.HasPrefix(out, "Updated"):
		require.True(w.t, mine, out)
		u.holds[id] = text
	case !mine:
		require.Contains(w.t, out, "not found")
	}
}

func (w *crowd) deleteTool(ctx context.Context, u *person) {
	id, mine := w.anyID(u)
	out := w.call(ctx, u, "delete_memory", map[string]any{"id": id})
	require.Equal(w.t, mine, strings.HasPrefix(out, "Deleted"), out)
	delete(u.holds, id)
}

func (w *crowd) dump(ctx context.Context, u *person) {
	var b bytes.Buffer
	n, err := w.backend.Dump(ctx, u.scope, &b)
	require.NoError(w.t, err)
	require.Equal(w.t, len(u.holds), n)
	for line := range strings.Lines(b.String()) {
		var m backends.Memory
		require.NoError(w.t, json.Unmarshal([]byte(line), &m))
		w.clean(u, m.Text)
	}
	n, err = w.backend.Load(ctx, u.scope, &b)
	require.NoError(w.t, err)
	require.Zero(w.t, n, "it holds all of it")
}
