// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	n, err := w.Dump(ctx, p, &b)
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

		n, err := to.Load(ctx, ann, strings.NewReader(dump))
		require.NoError(rt, err)
		require.Equal(rt, len(want), n)
		_, got := to.whole(ann)
		require.Equal(rt, want, got)
		n, err = to.Load(ctx, ann, strings.NewReader(dump))
		require.NoError(rt, err)
		require.Zero(rt, n, "ids that exist are left as they are")

		n, err = other.Load(ctx, shop, strings.NewReader(dump))
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
		_, err := w.Load(ctx, p, strings.NewReader(line))
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
			_, err := w.Load(ctx, ann, strings.NewReader(good+"\n\n"+bad+"\n"))
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.ErrorContains(t, err, "test: line 3 of the dump")
			require.Empty(t, w.texts(ann))
		})
	}
	t.Run("the embedder is down", func(t *testing.T) {
		w := open(t, embedded(&testkit.Embedder{Dim: 8, Err: errors.New("down")}))
		_, err := w.Load(ctx, ann, strings.NewReader(good))
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.Empty(t, w.texts(ann))
	})
	t.Run("the stream breaks", func(t *testing.T) {
		w := open(t)
		_, err := w.Load(ctx, ann, io.MultiReader(strings.NewReader(good+"\n"), iotest.ErrReader(errBroken)))
		require.ErrorIs(t, err, errBroken)
		require.Empty(t, w.texts(ann))
	})
}

func TestDumpReportsAWriteError(t *testing.T) {
	w := open(t)
	w.put(ann, fact("1", "tea"), fact("2", strings.Repeat("x", 10_000)))
	r, closed := io.Pipe()
	require.NoError(t, r.CloseWithError(errBroken))
	_, err := w.Dump(ctx, ann, closed)
	require.ErrorIs(t, err, errBroken)
}

func TestLoadRedactsAndEmbeds(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}), func(c *keeper.Config, _ *recall.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[password]") }
	})
	_, err := w.Load(ctx, ann, strings.NewReader(`{"id":"1","kind":"task","text":"it is hunter2","when_to_use":"asked for hunter2"}`))
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
	n, err := w.Load(ctx, ann, strings.NewReader(`{"id":"1","kind":"fact","text":"late"}`+"\n"+`{"id":"2","kind":"fact","text":"new"}`))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ElementsMatch(t, []string{"said first", "new"}, w.texts(ann))
	require.Len(t, w.found(ann, "new").Hits, 2, "both have a vector of the same space")
}
