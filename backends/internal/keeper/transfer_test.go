// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// What a user has moves to another store by an export, whole and in its order; an export of
// another is refused.
func TestAnExportIsImportedForItsUserAlone(t *testing.T) {
	from, to := open(t), open(t)
	from.chain(3)
	from.put(bob, fact("b", "of bob"))
	var out strings.Builder
	whose := backends.Scope{UserID: "ann"}
	count, err := from.manager().Export(ctx, whose, &out)
	require.NoError(t, err)
	require.Equal(t, 3, count.Records)
	_, err = to.manager().Import(ctx, backends.Scope{UserID: "bob"}, strings.NewReader(out.String()), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.Empty(t, to.texts(ann))
	done, err := to.manager().Import(ctx, whose, strings.NewReader(out.String()), nil)
	require.NoError(t, err)
	require.Equal(t, count, done)
	require.Equal(t, from.texts(ann), to.texts(ann))
	want, err := from.History(ctx, ann, "0")
	require.NoError(t, err)
	got, err := to.History(ctx, ann, "0")
	require.NoError(t, err)
	for i := range want {
		want[i].Version = 0 // it happened in the other store
	}
	require.Equal(t, want, got)
	for _, m := range []*keeper.Manager{from.manager(), to.manager()} {
		_, err = m.Export(ctx, backends.Scope{}, io.Discard)
		require.ErrorIs(t, err, backends.ErrNoScope)
		_, err = m.Import(ctx, backends.Scope{}, strings.NewReader(out.String()), nil)
		require.ErrorIs(t, err, backends.ErrNoScope)
	}
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
			_, err = store.Export(ctx, w.Store(), p, &dump)
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
	text := "coffee"
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
			if name == "Update" || name == "Delete" {
				spy.FailOn(fmt.Errorf("another process was faster: %w", backends.ErrConflict), "Apply")
				require.ErrorIs(t, c.call(w, ann), backends.ErrConflict)
				require.Len(t, slices.DeleteFunc(spy.Calls(), func(m string) bool { return m != "Apply" }), 16)
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
