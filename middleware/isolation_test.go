// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// Whatever a model writes, a tool over a real store answers with text that a model can
// act on, and what belongs to Bob stays as it is.
func TestHostileArguments(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	b := verbatim(t, testkit.SQLite(t))
	added, err := b.Add(t.Context(), &backends.AddRequest{Scope: middleware.Scope{UserID: "bob"}, Verbatim: true, Messages: testkit.User("Bob's secret is 4711.")})
	require.NoError(t, err)
	bobs := added.Items[0].Memory.ID
	tools, err := open(t, &middleware.Config{Backend: b, Mode: modes.AgentControl, UpdateTool: true, DeleteTool: true, AgentMemory: true}).Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 4)

	huge := strings.Repeat("x", 4<<20)
	smuggled := `"user_id":"bob","scope":{"user_id":"bob"},"partition":"bob","filter":{"user_id":"bob"}`
	for name, tl := range testkit.ByName(t, tools) {
		for _, a := range []string{
			``, `null`, `[]`, `7`, `{`, `{"keywords":{}}`, `{"id":{},"content":{}}`, strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 20_000),
			`{"keywords":["secret"],` + smuggled + `}`, `{"content":["planted"],` + smuggled + `}`,
			fmt.Sprintf(`{"id":%q,"content":"mine now",%s}`, bobs, smuggled), fmt.Sprintf(`{"id":"../bob/%s","content":"mine now"}`, bobs),
			fmt.Sprintf(`{"id":%q,"content":%q,"keywords":[%q]}`, huge, huge, huge), `{"id":"\u0000","content":"\u0000","keywords":["\u0000","\ud800"]}`,
			"{\"id\":\"\xff\",\"content\":\"\xff\",\"keywords\":[\"\xff\"]}", `{"id":"' OR 1=1 --","content":"*","keywords":["*","%","?"]}`, `{"id":"*","content":"*"}`,
		} {
			shown := a[:min(len(a), 80)]
			out := testkit.Use(t, asAnn, tl, a)
			require.NotEmpty(t, strings.TrimSpace(out))
			require.True(t, utf8.ValidString(out), "%s(%s)", name, shown)
			require.Less(t, len(out), 200_000, "%s(%s)", name, shown)
			require.NotContains(t, out, "panic", "%s(%s)", name, shown)
			require.NotContains(t, out, "4711", "%s(%s)", name, shown)
		}
	}
	require.Equal(t, []string{"Bob's secret is 4711."}, memories(t, b, "bob"))
}

var isolationSeed = flag.Uint64("isolation.seed", 0, "seed of TestIsolation; 0 takes one from the clock")

// Many users do everything that a backend, a manager and the tools can do, each time with
// an eye on what is not theirs.
func TestIsolation(t *testing.T) {
	operations := 10_000
	if testkit.Raced() {
		operations = 3_000
	} else if testkit.Long() {
		operations = 30_000
	}
	seed := *isolationSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test -run TestIsolation -isolation.seed=%d", seed)
	b := verbatim(t, testkit.SQLite(t))
	mem := open(t, &middleware.Config{Backend: b, Mode: modes.AgentControl, UpdateTool: true, DeleteTool: true, AgentMemory: true, TopK: 50, OnError: (&testkit.Failures{}).Add})
	tools, err := mem.Tools(t.Context())
	require.NoError(t, err)
	all := &crowd{t: t, rand: rand.New(rand.NewPCG(seed, 1)), backend: b, tools: testkit.ByName(t, tools)}
	for all.done < operations {
		all.act()
	}
	all.check()
}

// Each of the scopes asks in a session of the same name, and sees its own.
func TestNotesOfHostileScopes(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	mem := open(t, &middleware.Config{Backend: verbatim(t, testkit.SQLite(t)), AwaitWrite: true, AgentMemory: true})
	run := func(i int, text string) string {
		s := hostileScopes[i]
		s.SessionID = "one: session {id} for % all?"
		_, m := ask(t, middleware.WithScope(t.Context(), s), mem, text)
		return noteIn(m.Calls()[0])
	}
	for i := range hostileScopes {
		run(i, fmt.Sprintf("My code word is mark%03dend.", i))
	}
	for i, s := range hostileScopes {
		note := run(i, "What is my code word?")
		require.Contains(t, note, fmt.Sprintf("mark%03dend", i), "%+v", s)
		require.Equal(t, 1, strings.Count(note, "mark"), "%+v saw %s", s, note)
	}
}

// hostileScopes are scopes that a store, a key or a pattern could take for one another:
// prefixes, separators, wildcards, templates, look-alike letters, composed and
// decomposed accents, the same name as a user, an agent and in two namespaces.
var hostileScopes = func() []backends.Scope {
	out := []backends.Scope{
		{Namespace: "a", UserID: "b:c"}, {Namespace: "a:b", UserID: "c"}, {Namespace: "a", UserID: "a"}, {Namespace: "default", UserID: "default"},
		{AgentID: "a"}, {AgentID: "a:b"}, {Namespace: "a", AgentID: "a"},
	}
	for _, user := range []string{
		"a", "a:", "a:b", "a:b:c", "b", "aa", "A", "{a}", "{em:default:user:a}", "em:{default:user:a}:m", "{{.UserID}}", "%s%d%n", "%61", "a%", "a_", "_", "%", "?", "[a-z]",
		`a' OR '1'='1`, `a"; DROP TABLE memories; --`, "a\\", "../a", "a/b", "user/a",
		"é", "e\u0301", "а", "ａ", "a\u200b", "a\u0301", "İ", "ı", "ſ", "s", "ß", "ss",
		"👩", "👩‍👩‍👧", "用户", "用戶", "null", "0", "00", strings.Repeat("a", 256), strings.Repeat("a", 255),
	} {
		out = append(out, backends.Scope{UserID: user})
	}
	return out
}()

// crowd is many users of one backend and its tools, each of whom does everything with an
// eye on what belongs to others. It knows at each moment what each of them holds. Every
// memory carries its owner's mark: another's mark in any answer is a leak, and fails the
// test. It is for one goroutine.
type crowd struct {
	t       testing.TB
	rand    *rand.Rand
	backend interface {
		backends.Backend
		backends.Manager
		Export(context.Context, backends.Scope, io.Writer) (store.TransferCount, error)
		Import(context.Context, backends.Scope, io.Reader, *store.ImportOptions) (store.TransferCount, error)
	}
	tools map[string]tool.InvokableTool // search_memory, add_memory, update_memory, delete_memory

	done  int // operations so far
	users []*person
}

// person is one user of the crowd.
type person struct {
	scope backends.Scope
	mark  string
	holds map[string]string // id → text
	ids   []string          // ids ever held, for the others to try
	keys  map[string]bool   // idempotency keys used
}

// act has one of the users of [hostileScopes], at random, do one thing.
func (w *crowd) act() {
	for i := len(w.users); i < len(hostileScopes); i++ {
		w.users = append(w.users, &person{scope: hostileScopes[i], mark: fmt.Sprintf("mark%03dend", i), holds: map[string]string{}, keys: map[string]bool{}})
	}
	u := w.users[w.rand.IntN(len(w.users))]
	n := w.rand.IntN(100)
	for _, a := range []struct {
		weight int
		do     func(context.Context, *person)
	}{
		{6, w.add}, {30, w.search}, {10, w.searchFiltered}, {10, w.list}, {10, w.get}, {4, w.update}, {4, w.remove}, {1, w.removeAll}, {8, w.history},
		{8, w.searchTool}, {2, w.addTool}, {3, w.updateTool}, {3, w.deleteTool}, {1, w.export},
	} {
		if n -= a.weight; n < 0 {
			w.done++
			a.do(backends.WithScope(context.Background(), u.scope), u)
			return
		}
	}
}

// check checks that each user holds what they stored, and nothing else.
func (w *crowd) check() {
	for _, u := range w.users {
		w.list(context.Background(), u)
	}
}

// other returns a user who is not u.
func (w *crowd) other(u *person) *person {
	for {
		if o := w.users[w.rand.IntN(len(w.users))]; o != u {
			return o
		}
	}
}

// anyID returns an id to try: u's own (mine), or one that another user has or had.
func (w *crowd) anyID(u *person) (id string, mine bool) {
	if w.rand.IntN(2) == 0 && len(u.holds) > 0 {
		ids := slices.Sorted(maps.Keys(u.holds))
		return ids[w.rand.IntN(len(ids))], true
	}
	if o := w.other(u); len(o.ids) > 0 {
		id = o.ids[w.rand.IntN(len(o.ids))]
		_, mine = u.holds[id]
		return id, mine
	}
	return "no-such-id", false
}

// clean requires that text, an answer that u got, has no mark of another user.
func (w *crowd) clean(u *person, text string) {
	if strings.Contains(strings.ReplaceAll(text, u.mark, ""), "mark") {
		w.t.Fatalf("after %d operations %+v got what is not theirs: %.200s", w.done, u.scope, text)
	}
}

// denied requires that u learns nothing of an id that is not theirs, and reports whether
// it was such.
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
	return fmt.Sprintf("%s likes %s %s %d", u.mark, topics[w.rand.IntN(len(topics))], topics[w.rand.IntN(len(topics))], w.rand.IntN(40))
}

func (w *crowd) add(ctx context.Context, u *person) {
	if len(u.holds) > 25 {
		w.remove(ctx, u)
		return
	}
	key := fmt.Sprint("a key that all use ", w.rand.IntN(2000))
	resp, err := w.backend.Add(ctx, &backends.AddRequest{
		Scope: u.scope, Verbatim: true, Messages: []backends.Message{{Message: schema.UserMessage(w.words(u))}},
		Metadata:       map[string]any{"user_id": w.other(u).scope.UserID, "owner": u.mark},
		IdempotencyKey: key,
	})
	require.NoError(w.t, err)
	require.Equal(w.t, u.keys[key], resp.Replayed, "%+v: the keys of others are nothing to it", u.scope)
	u.keys[key] = true
	for _, it := range resp.Items {
		w.clean(u, it.Memory.Text)
		if !resp.Replayed {
			require.NotEqual(w.t, backends.OutcomeFailed, it.Outcome)
			u.holds[it.Memory.ID], u.ids = it.Memory.Text, append(u.ids, it.Memory.ID)
		}
	}
}

func (w *crowd) search(ctx context.Context, u *person) {
	w.found(ctx, u, &backends.SearchRequest{Scope: u.scope, Query: w.words(w.other(u)), TopK: 20, IncludeSuperseded: true})
}

// searchFiltered asks for another's memories by every name that a filter has.
func (w *crowd) searchFiltered(ctx context.Context, u *person) {
	o := w.other(u)
	ids := []any{"no-such-id"}
	for _, id := range o.ids[:min(10, len(o.ids))] {
		ids = append(ids, id)
	}
	filters := []backends.Filter{
		backends.Eq("user_id", o.scope.UserID), backends.Ne("user_id", u.scope.UserID), backends.Eq("owner", o.mark), {Op: "contains", Field: "user_id", Value: ""},
		backends.Or(backends.Eq("namespace", o.scope.Namespace), backends.Eq("agent_id", o.scope.AgentID)), backends.Not(backends.Eq("owner", u.mark)), {Op: "in", Field: "id", Value: ids},
	}
	f := filters[w.rand.IntN(len(filters))]
	w.found(ctx, u, &backends.SearchRequest{Scope: u.scope, Query: "likes secret " + o.mark, TopK: 50, Filter: &f})
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
	}
}

func (w *crowd) list(_ context.Context, u *person) {
	require.Equal(w.t, u.holds, w.listed(u), "%+v", u.scope)
}

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

// removeAll deletes everything of u, or everything that a filter for another's memories
// matches, which is nothing.
func (w *crowd) removeAll(ctx context.Context, u *person) {
	r, want := &backends.DeleteAllRequest{Scope: u.scope}, len(u.holds)
	if w.rand.IntN(2) == 0 {
		theirs := backends.Eq("owner", w.other(u).mark)
		r.Filter, want = &theirs, 0
	}
	n, err := w.backend.DeleteAll(ctx, r)
	require.NoError(w.t, err)
	require.Equal(w.t, want, n)
	if r.Filter == nil {
		clear(u.holds)
		clear(u.keys)
	}
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

// call has a model of u call a tool, with arguments that name another user.
func (w *crowd) call(ctx context.Context, u *person, name string, arguments map[string]any) string {
	o := w.other(u).scope
	for key, value := range map[string]any{"user_id": o.UserID, "agent_id": o.AgentID, "namespace": o.Namespace, "scope": o, "filter": map[string]any{"user_id": o.UserID}} {
		arguments[key] = value
	}
	out := testkit.Use(w.t, ctx, w.tools[name], arguments)
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

func (w *crowd) export(ctx context.Context, u *person) {
	var b bytes.Buffer
	n, err := w.backend.Export(ctx, u.scope, &b)
	require.NoError(w.t, err)
	require.Equal(w.t, len(u.holds), n.Records)
	w.clean(u, b.String())
	n, err = w.backend.Import(ctx, u.scope, &b, nil)
	require.NoError(w.t, err)
	require.Equal(w.t, store.TransferCount{Partitions: 1}, n, "it holds all of it")
}
