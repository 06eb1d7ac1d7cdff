// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/testkit"
)

var errBroken = errors.New("broken pipe")

// whole returns everything that a partition holds, but for the versions of the store.
func (w *world) whole(p backends.Partition) (dump string, memories []backends.Memory) {
	var b strings.Builder
	n, err := w.Dump(ctx, backends.Scope{}, p, &b)
	require.NoError(w.t, err)
	lines := strings.SplitAfter(b.String(), "\n")
	require.Len(w.t, lines, n+1)
	for _, line := range lines[:n] {
		var m backends.Memory
		require.NoError(w.t, json.Unmarshal([]byte(line), &m))
		require.NotZero(w.t, m.Version)
		m.Version = 0
		memories = append(memories, m)
	}
	return b.String(), memories
}

// What is loaded is what was dumped, in its order, and a second time nothing.
func TestLoadOfADumpIsTheSame(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[a-z <>&"\\]{1,40}`), rapid.SampledFrom([]string{"她住在上海。", "a\u2028b", "😀\x00\t\n", strings.Repeat("long ", 3000)}))
	times := rapid.SampledFrom([]time.Time{{}, start, start.Add(-time.Microsecond), start.AddDate(-30, 0, 0), start.AddDate(9, 0, 0)})
	drawn := func(t *rapid.T, i int) backends.Memory {
		m := backends.Memory{
			ID: fmt.Sprintf("m%d", i), Text: "x" + texts.Draw(t, "text"), WhenToUse: rapid.SampledFrom([]string{"", "when asked", "问起的时候"}).Draw(t, "when"),
			Kind:  rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindTask, backends.KindPersonal, backends.KindTool, backends.KindCore, "of another"}).Draw(t, "kind"),
			Scope: backends.Scope{Namespace: ann.Namespace, UserID: ann.ID, SessionID: "s", AgentID: "a"},
			Valid: times.Draw(t, "valid"), Observed: times.Draw(t, "observed"), Invalidated: times.Draw(t, "invalidated"), Expires: times.Draw(t, "expires"), Updated: start,
			Created: start.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "created")) * time.Second),
			Origin:  backends.Origin{Session: "s", Turn: "t", MessageIDs: rapid.SampledFrom([][]string{nil, {"1"}, {"2", "3"}}).Draw(t, "from"), Role: "user", Speaker: "Ann", Author: "model"},
		}
		if i > 0 && rapid.Bool().Draw(t, "linked") {
			m.Supersedes, m.SupersededBy = fmt.Sprintf("m%d", i-1), "gone"
		}
		if rapid.Bool().Draw(t, "described") {
			quality := rapid.Float64Range(0, 1).Draw(t, "quality")
			m.Quality = &quality
			m.Metadata = map[string]any{"tags": []any{"a", "b"}, "freq": float64(rapid.IntRange(0, 1<<40).Draw(t, "freq")), "deep": map[string]any{"x": nil, "y": true}, "茶": "<&>"}
		}
		return m
	}
	rapid.Check(t, func(rt *rapid.T) {
		from, to, other := open(t), open(t), open(t)
		b := &store.Batch{}
		for i := range rapid.IntRange(0, 6).Draw(rt, "memories") {
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: drawn(rt, i)}))
		}
		_, err := from.Commit(ctx, ann, b, nil)
		require.NoError(rt, err)
		dump, want := from.whole(ann)
		require.Len(rt, want, len(b.Mutations))

		n, err := to.Load(ctx, backends.Scope{}, ann, strings.NewReader(dump))
		require.NoError(rt, err)
		require.Equal(rt, len(want), n)
		_, got := to.whole(ann)
		require.Equal(rt, want, got)
		n, err = to.Load(ctx, backends.Scope{}, ann, strings.NewReader(dump))
		require.NoError(rt, err)
		require.Zero(rt, n, "ids that exist are left as they are")

		n, err = other.Load(ctx, backends.Scope{}, shop, strings.NewReader(dump))
		require.NoError(rt, err)
		require.Equal(rt, len(want), n)
		for i := range want {
			want[i].Scope.Workspace = "shop"
		}
		_, got = other.whole(shop)
		require.Equal(rt, want, got, "but for whose they are")
	})
}

func TestLoadedMemoriesAreThePartitions(t *testing.T) {
	line := `{"id":"1","kind":"fact","text":"x","version":77,"scope":{"namespace":"elsewhere","workspace":"lab","user_id":"eve","agent_id":"bot","session_id":"s"}}`
	for kind, want := range map[backends.PartitionKind]backends.Scope{
		backends.PartitionUser:      {Namespace: "here", Workspace: "lab", UserID: "me", AgentID: "bot", SessionID: "s"},
		backends.PartitionAgent:     {Namespace: "here", Workspace: "lab", AgentID: "me", SessionID: "s"},
		backends.PartitionWorkspace: {Namespace: "here", Workspace: "me", UserID: "eve", AgentID: "bot", SessionID: "s"},
	} {
		w, p := open(t), backends.Partition{Namespace: "here", Kind: kind, ID: "me"}
		_, err := w.Load(ctx, backends.Scope{}, p, strings.NewReader(line))
		require.NoError(t, err)
		m := w.get(p, "1")
		require.Equal(t, want, m.Scope)
		require.EqualValues(t, 1, m.Version)
	}
}

func TestLoadIsAllOrNothing(t *testing.T) {
	good := `{"id":"1","kind":"fact","text":"fine"}`
	for name, bad := range map[string]string{
		"no JSON": "{", "no id": `{"kind":"fact","text":"x"}`, "blank": `{"id":"2","kind":"fact","text":" "}`, "no kind": `{"id":"2","text":"x"}`,
		"time": `{"id":"2","kind":"fact","text":"x","created":"yesterday"}`, "scope": `{"id":"2","kind":"fact","text":"x","scope":{"session_id":"*"}}`,
		"a long id": `{"id":"` + strings.Repeat("x", store.MaxID+1) + `","kind":"fact","text":"x"}`,
		"a list":    `[1]`,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			_, err := w.Load(ctx, backends.Scope{}, ann, strings.NewReader(good+"\n\n"+bad+"\n"))
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.ErrorContains(t, err, "test: the dump: line 3")
			require.Empty(t, w.texts(ann))
		})
	}
	t.Run("the embedder is down", func(t *testing.T) {
		w := open(t, embedded(&testkit.Embedder{Dim: 8, Err: errors.New("down")}))
		_, err := w.Load(ctx, backends.Scope{}, ann, strings.NewReader(good))
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.Empty(t, w.texts(ann))
	})
	t.Run("the stream breaks", func(t *testing.T) {
		w := open(t)
		_, err := w.Load(ctx, backends.Scope{}, ann, io.MultiReader(strings.NewReader(good+"\n"), iotest.ErrReader(errBroken)))
		require.ErrorIs(t, err, errBroken)
		require.Empty(t, w.texts(ann))
	})
}

func TestDumpReportsAWriteError(t *testing.T) {
	w := open(t)
	w.put(ann, fact("1", "tea"), fact("2", strings.Repeat("x", 10_000)))
	r, closed := io.Pipe()
	require.NoError(t, r.CloseWithError(errBroken))
	_, err := w.Dump(ctx, backends.Scope{}, ann, closed)
	require.ErrorIs(t, err, errBroken)
}

func TestLoadRedactsAndEmbeds(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}), func(c *keeper.Config, _ *recall.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[password]") }
	})
	_, err := w.Load(ctx, backends.Scope{}, ann, strings.NewReader(`{"id":"1","kind":"task","text":"it is hunter2","when_to_use":"asked for hunter2"}`))
	require.NoError(t, err)
	m := w.get(ann, "1")
	require.Equal(t, "it is [password]", m.Text)
	require.Equal(t, "asked for [password]", m.WhenToUse)
	recs, err := w.Records(ctx, ann, "1")
	require.NoError(t, err)
	require.NotEmpty(t, recs[0].Vector)
}

// What another process stores while a dump is loaded stays as that process said it.
func TestLoadRacingAnother(t *testing.T) {
	st := testkit.SQLite(t)
	spy := testkit.Spy(st)
	w := open(t, on(spy), embedded(&testkit.Embedder{Dim: 8}))
	rival := open(t, on(st), embedded(&testkit.Embedder{Dim: 8}))
	spy.Arm(before("Apply", func() { rival.put(ann, fact("1", "said first")) }))
	n, err := w.Load(ctx, backends.Scope{}, ann, strings.NewReader(`{"id":"1","kind":"fact","text":"late"}`+"\n"+`{"id":"2","kind":"fact","text":"new"}`))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ElementsMatch(t, []string{"said first", "new"}, w.texts(ann))
	require.Len(t, w.found(ann, "new").Hits, 2, "both have a vector of the same space")
}

// Partitions that share every id meet in no call.
func TestPartitionsNeverMeet(t *testing.T) {
	name := rapid.SampledFrom([]string{ // which look like each other's keys
		"ann", "Ann", "ann/", "user/ann", "default/user/ann", "ann%2F", "a:nn", "{ann}", "a\u0301nn", "ánn", "ann'--", "ann\" OR \"1\"=\"1",
		"ann?", "ann\u202e", "安", "😀", "a nn", "..", ".", "%", "_", "[a]nn", "ann\u200b", strings.Repeat("n", backends.MaxScopePart),
	})
	kind := rapid.SampledFrom([]backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace})
	one := rapid.Custom(func(t *rapid.T) backends.Partition {
		return backends.Partition{Namespace: name.Draw(t, "namespace"), Kind: kind.Draw(t, "kind"), ID: name.Draw(t, "id")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		w := open(t)
		parts := rapid.SliceOfNDistinct(one, 2, 5, func(p backends.Partition) backends.Partition { return p }).Draw(rt, "partitions")
		ids := map[string]bool{}
		for i, p := range parts {
			secret := fmt.Sprintf("secret number %d", i)
			old := fact("old", "an older "+secret)
			w.put(p, old, fact("doomed", "a doomed "+secret))
			_, err := w.Commit(ctx, p, &store.Batch{Key: "k", Mutations: []store.Mutation{store.Supersede("old", fact("id", secret))}}, nil)
			require.NoError(rt, err)
			id := keeper.ContentID(p, backends.KindFact, "the same")
			require.False(rt, ids[id])
			ids[id] = true
		}
		i := rapid.IntRange(0, len(parts)-1).Draw(rt, "changed")
		text := "changed by one"
		_, err := w.Update(ctx, parts[i], &backends.UpdateRequest{ID: "id", Text: &text})
		require.NoError(rt, err)
		require.NoError(rt, w.Delete(ctx, parts[i], &backends.DeleteRequest{ID: "doomed"}))
		all := map[int][]string{}
		for n, p := range parts {
			all[n] = []string{fmt.Sprintf("a doomed secret number %d", n), fmt.Sprintf("secret number %d", n)}
			if n == i {
				all[n] = []string{text}
			}
			require.ElementsMatch(rt, all[n], w.texts(p))
			events, err := w.History(ctx, p, "old")
			require.NoError(rt, err)
			for _, e := range events {
				require.Contains(rt, e.New, map[bool]string{true: "", false: fmt.Sprintf("number %d", n)}[n == i])
			}
			for _, h := range w.found(p, "secret number doomed").Hits {
				require.Contains(rt, all[n], h.Text)
			}
			linked, err := w.Lookup(ctx, p, keeper.TextKey(backends.KindFact, "", fmt.Sprintf("secret number %d", i)))
			require.NoError(rt, err)
			require.Empty(rt, linked)
			var dump strings.Builder
			_, err = w.Dump(ctx, backends.Scope{}, p, &dump)
			require.NoError(rt, err)
			for other := range parts {
				require.Equal(rt, other == n, strings.Contains(dump.String(), fmt.Sprintf("number %d\"", other)))
			}
		}
		n, err := w.DeleteAll(ctx, parts[i], &backends.DeleteAllRequest{})
		require.NoError(rt, err)
		require.Equal(rt, 2, n, "the older one too")
		for n, p := range parts {
			if n != i {
				require.ElementsMatch(rt, all[n], w.texts(p))
			}
		}
	})
}

// Every call: on a partition that is none it is ErrInvalid; where the store fails it says so,
// and nothing happened; a race that is lost again and again ends.
func TestEveryCall(t *testing.T) {
	text, line := "coffee", `{"id":"2","kind":"fact","text":"x"}`
	for name, c := range map[string]struct {
		uses string // the methods of the store that it cannot do without
		call func(w *world, p backends.Partition) error
	}{
		"Search": {"Changes", func(w *world, p backends.Partition) error {
			return only(w.Search(ctx, p, &backends.SearchRequest{Query: "tea"}))
		}},
		"Get":     {"Get", func(w *world, p backends.Partition) error { return only(w.Get(ctx, p, "1")) }},
		"Records": {"Get", func(w *world, p backends.Partition) error { return only(w.Records(ctx, p, "1", "2")) }},
		"All":     {"Changes", func(w *world, p backends.Partition) error { return only(w.All(ctx, p)) }},
		"Lookup":  {"Changes", func(w *world, p backends.Partition) error { return only(w.Lookup(ctx, p, "x")) }},
		"Held":    {"Changes", func(w *world, p backends.Partition) error { return only(w.Held(ctx, p, "1")) }},
		"List":    {"Changes", func(w *world, p backends.Partition) error { return only(w.List(ctx, p, &backends.ListRequest{})) }},
		"Update": {"Get Apply", func(w *world, p backends.Partition) error {
			return only(w.Update(ctx, p, &backends.UpdateRequest{ID: "1", Text: &text}))
		}},
		"Delete": {"Get Apply", func(w *world, p backends.Partition) error { return w.Delete(ctx, p, &backends.DeleteRequest{ID: "1"}) }},
		"DeleteAll": {"Changes Apply", func(w *world, p backends.Partition) error {
			return only(w.DeleteAll(ctx, p, &backends.DeleteAllRequest{}))
		}},
		"History": {"Changes History", func(w *world, p backends.Partition) error { return only(w.History(ctx, p, "1")) }},
		"Dump":    {"Changes", func(w *world, p backends.Partition) error { return only(w.Dump(ctx, backends.Scope{}, p, io.Discard)) }},
		"Load": {"Changes Apply", func(w *world, p backends.Partition) error {
			return only(w.Load(ctx, backends.Scope{}, p, strings.NewReader(line)))
		}},
		"Commit": {"Apply", func(w *world, p backends.Partition) error {
			return only(w.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Put(fact("2", "x"))}}, nil))
		}},
		"Replayed": {"Apply", func(w *world, p backends.Partition) error { return only(w.Replayed(ctx, p, "x", nil)) }},
	} {
		t.Run(name, func(t *testing.T) {
			spy := testkit.Spy(testkit.SQLite(t))
			w := open(t, on(spy))
			for _, p := range []backends.Partition{
				{}, {Namespace: "default", Kind: backends.PartitionUser}, {Namespace: "default", ID: "ann"}, {Namespace: "default", Kind: "group", ID: "ann"},
				{Kind: backends.PartitionUser, ID: "ann"}, {Namespace: "default", Kind: backends.PartitionUser, ID: "*"}, {Namespace: "default", Kind: backends.PartitionUser, ID: " ann"},
			} {
				require.ErrorIs(t, c.call(w, p), backends.ErrInvalid, "%+v", p)
			}
			w.put(ann, fact("1", "tea"))
			for _, method := range strings.Fields(c.uses) {
				spy.FailOn(fmt.Errorf("disk full: %w", backends.ErrUnavailable), method)
				err := c.call(w, ann)
				require.ErrorIs(t, err, backends.ErrUnavailable, method)
				require.NotErrorIs(t, err, backends.ErrNotFound)
				require.ErrorContains(t, err, "test: ")
				spy.Arm(nil)
				require.Equal(t, []string{"tea"}, w.texts(ann), method)
			}
			if name == "Update" || name == "Delete" || name == "Load" {
				spy.FailOn(fmt.Errorf("another process was faster: %w", backends.ErrConflict), "Apply")
				require.ErrorIs(t, c.call(w, ann), backends.ErrConflict)
				require.Len(t, slices.DeleteFunc(spy.Calls(), func(m string) bool { return m != "Apply" }), keeper.Retries)
			}
		})
	}
}

func only[T any](_ T, err error) error { return err }

func TestResolve(t *testing.T) {
	w := open(t)
	scope := backends.Scope{UserID: " ann ", Workspace: "shop"}
	s, p, err := w.Resolve(backends.WithScope(ctx, scope), backends.Scope{}, backends.Scope.Speaker)
	require.NoError(t, err)
	require.Equal(t, ann, p)
	require.Equal(t, backends.Scope{Namespace: "default", UserID: "ann", Workspace: "shop"}, s)
	_, p, err = w.Resolve(ctx, scope, keeper.Workspace)
	require.NoError(t, err)
	require.Equal(t, shop, p)
	_, _, err = w.Resolve(ctx, backends.Scope{UserID: "ann"}, keeper.Workspace)
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, _, err = w.Resolve(ctx, backends.Scope{UserID: "*"}, backends.Scope.Speaker)
	require.ErrorIs(t, err, backends.ErrInvalid)
}
