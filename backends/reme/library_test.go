// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

var market = backends.Scope{Workspace: "market"}

// lines returns n lines of ReMe with the ids <prefix>0 and so on.
func lines(prefix string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `{"workspace_id":"x","memory_id":"%s%d","memory_type":"task","when_to_use":"when task %d of %s comes up","content":"do step %d of %s","score":0.0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:18","author":"m","metadata":{}}`+"\n", prefix, i, i, prefix, i, prefix)
	}
	return out.String()
}

func load(t testing.TB, b *reme.Backend, s backends.Scope, text string) *reme.LoadResponse {
	t.Helper()
	got, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: s}, strings.NewReader(text))
	require.NoError(t, err)
	return got
}

func dump(t testing.TB, b *reme.Backend, r *reme.DumpRequest) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, only(b.Library().Dump(t.Context(), r, &out)))
	return out.String()
}

// stored returns the memories of a scope by their ids, without their versions.
func stored(t testing.TB, b *reme.Backend, s backends.Scope) map[string]backends.Memory {
	t.Helper()
	out := map[string]backends.Memory{}
	for r := (&backends.ListRequest{Scope: s, Limit: 1000, IncludeSuperseded: true, IncludeExpired: true}); ; {
		page, err := b.List(t.Context(), r)
		require.NoError(t, err)
		for _, m := range page.Memories {
			m.Version = 0
			out[m.ID] = m
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			return out
		}
	}
}

// parsed returns the lines of a file of ReMe by their ids, without the workspace.
func parsed(t testing.TB, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for line := range strings.Lines(text) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		delete(o, "workspace_id")
		out[o["memory_id"].(string)] = o
	}
	return out
}

func TestALoadReplacesOrMerges(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	require.NoError(t, only(b.Task().Summarize(t.Context(), summary(market, refund(1)))))
	assert.Equal(t, &reme.LoadResponse{Loaded: 3, Removed: 1}, load(t, b, market, lines("a", 3)))
	assert.Len(t, stored(t, b, market), 3)
	assert.Equal(t, &reme.LoadResponse{Loaded: 2, Removed: 3}, load(t, b, market, lines("b", 2)))

	changed := strings.Replace(lines("b", 1), "do step 0", "do nothing", 1) + lines("c", 1)
	got, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: market, Merge: true}, strings.NewReader(changed))
	require.NoError(t, err)
	assert.Equal(t, &reme.LoadResponse{Loaded: 2}, got)
	held := stored(t, b, market)
	require.Len(t, held, 3)
	assert.Equal(t, "do nothing of b", held["b0"].Text)
	assert.Equal(t, "do step 1 of b", held["b1"].Text)

	events, err := b.History(t.Context(), &backends.HistoryRequest{Scope: market, ID: "b0"})
	require.NoError(t, err)
	assert.Equal(t, "library", events[len(events)-1].Actor)
	assert.Equal(t, "c0", search(t, b, market, "when task 0 of c comes up")[0].ID)
}

// An input that is missing or empty never empties a workspace, and a bad line, wherever it
// stands, leaves it as it was.
func TestWhatCannotBeLoadedChangesNothing(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	load(t, b, market, lines("a", 3))
	before := stored(t, b, market)
	good := lines("b", 56)
	for name, test := range map[string]struct{ text, want string }{
		"an empty input":           {"", "holds no memory"},
		"blank lines":              {"\n \r\n\n", "holds no memory"},
		"not JSON":                 {good + "{", "line 57: invalid: not JSON"},
		"a text without id twice":  {good + strings.Repeat(`{"content":"one"}`+"\n", 2), "stands on line 57 already"},
		"an id that is used twice": {good + lines("b", 1), "stands on line 1 already"},
		"no known format":          {good + `{"x":1}`, "line 57"},
		"an id that is too long":   {good + strings.Replace(lines("c", 1), "c0", strings.Repeat("i", 600), 1), "line 57"},
		"an export":                {good + `{"partition":{},"export_version":1}`, "Backend.Import reads it"},
		"a line that says nothing": {good + `{"memory_id":"x","content":" "}`, "line 57: invalid: a memory that says nothing"},
		"a line that is too long":  {good + `{"memory_id":"` + strings.Repeat("x", 8*store.MaxText) + `"}`, "line 57: invalid: longer than"},
		"a line that is cut off":   {good + lines("c", 1)[:50], "line 57"},
	} {
		_, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: market}, strings.NewReader(test.text))
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, test.want, name)
		require.ErrorContains(t, err, "nothing was changed", name)
		require.Equal(t, before, stored(t, b, market), name)
	}
	_, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: market}, io.MultiReader(strings.NewReader(good), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	ctx, cancel := context.WithCancel(t.Context())
	ended := readFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, lines("b", 1)), io.EOF
	})
	_, err = b.Library().Load(ctx, &reme.LoadRequest{Scope: market}, ended)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, only(b.Library().Load(t.Context(), &reme.LoadRequest{Scope: market, Merge: true}, strings.NewReader(""))), "what adds nothing removes nothing")
	require.Equal(t, before, stored(t, b, market))
}

// One write takes 100,000 changes. More is refused before anything is stored.
func TestALoadHasALimit(t *testing.T) {
	testkit.SlowUnderRace(t)
	b, _ := newBackend(t, open(t), nil)
	one := lines("a", 1)
	read := 0
	more := readFunc(func(p []byte) (int, error) {
		read++
		return copy(p, strings.Replace(one, `"a0"`, fmt.Sprintf(`"a%d"`, read), 1)), nil
	})
	_, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: market}, more)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "more than 100000 memories: split the file")
	assert.Empty(t, stored(t, b, market))
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// A memory that nothing would find where it is loaded is refused, with the way out, which
// works.
func TestPersonalMemoriesAreLoadedWhereTheyAreFound(t *testing.T) {
	const personal = `{"memory_id":"p","memory_type":"personal","when_to_use":"饮料, 茶","content":"小王早上喝龙井","target":"ann","reflection_subject":"习惯","metadata":{}}`
	b, _ := newBackend(t, open(t), nil)
	user := backends.Scope{UserID: "ann"}
	_, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: ann}, strings.NewReader(lines("a", 2)+personal))
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "line 3: invalid: a personal memory, which nothing finds in a workspace: load it with a Scope of its user and no Workspace")
	assert.Empty(t, stored(t, b, ann))
	_, err = b.Library().Load(t.Context(), &reme.LoadRequest{Scope: user}, strings.NewReader(lines("a", 1)))
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "load it with a Scope that has a Workspace")

	load(t, b, user, personal)
	assert.Equal(t, []string{"小王早上喝龙井"}, find(t, b, ann, "早上喝什么茶", backends.KindPersonal))
	assert.Equal(t, "习惯", parsed(t, dump(t, b, &reme.DumpRequest{Scope: user}))["p"]["reflection_subject"])

}

func TestScopesOfLibraries(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	ctx := backends.WithScope(t.Context(), market)
	require.ErrorIs(t, only(b.Library().Load(t.Context(), nil, strings.NewReader(lines("a", 1)))), backends.ErrNoScope)
	require.ErrorIs(t, only(b.Library().Dump(t.Context(), nil, io.Discard)), backends.ErrNoScope)
	require.NoError(t, only(b.Library().Load(ctx, nil, strings.NewReader(lines("a", 2)))))
	assert.Len(t, stored(t, b, market), 2)
	lab := backends.Scope{Workspace: "lab"}
	for _, r := range []*reme.CopyRequest{nil, {From: market}, {To: market}} {
		require.ErrorIs(t, only(b.Library().Copy(ctx, r)), backends.ErrNoScope)
	}
	require.ErrorIs(t, only(b.Library().Copy(ctx, &reme.CopyRequest{From: market, To: backends.Scope{Workspace: " market "}})), backends.ErrInvalid, "onto itself")
	require.ErrorIs(t, only(b.Library().Copy(ctx, &reme.CopyRequest{From: lab, To: market})), backends.ErrInvalid, "from nothing")
	require.ErrorIs(t, only(b.Library().Delete(ctx, backends.Scope{})), backends.ErrNoScope, "the workspace is named")
	assert.Len(t, stored(t, b, market), 2)
}

// The same text without an id is the same memory, today and tomorrow.
func TestLinesWithoutIDs(t *testing.T) {
	clock := testkit.NewClock()
	b, _ := newBackend(t, open(t), func(c *reme.Config) { c.Clock = clock.Now })
	text := `{"when_to_use":"w","content":"one"}` + "\r\n" + `{"when_to_use":"w","content":"two"}` + "\n\n"
	assert.Equal(t, &reme.LoadResponse{Loaded: 2}, load(t, b, market, "\xef\xbb\xbf"+text))
	first := stored(t, b, market)
	clock.Advance(time.Hour)
	load(t, b, market, text)
	for id := range stored(t, b, market) {
		assert.Contains(t, first, id)
	}
	load(t, b, backends.Scope{Workspace: "lab"}, text)
	for id := range stored(t, b, backends.Scope{Workspace: "lab"}) {
		assert.NotContains(t, first, id, "another workspace is another memory")
	}
}

// Tool memory finds what it knows of a tool by an id of its own, which the first memory of
// the tool gets. ReMe can have several memories of one tool: all are kept.
func TestTwoMemoriesOfOneToolAreKept(t *testing.T) {
	const line = `{"workspace_id":"x","memory_id":"0123","memory_type":"tool","when_to_use":"search","content":"use it","score":0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:17","author":"","metadata":{},"tool_call_results":[{"tool_name":"search","call_hash":"h"}]}`
	other := strings.NewReplacer("0123", "4567", "use it", "use it twice", "21:15:17", "21:15:18").Replace(line)
	b, _ := newBackend(t, open(t), nil)
	load(t, b, market, line+"\n"+other)
	p, err := market.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	held := stored(t, b, market)
	require.Len(t, held, 2)
	own := keeper.ContentID(p, backends.KindTool, "search")
	assert.Equal(t, "use it", held[own].Text)
	assert.Equal(t, "use it twice", held["4567"].Text)
	again := dump(t, b, &reme.DumpRequest{Scope: market})
	assert.Equal(t, parsed(t, strings.Replace(line, "0123", own, 1)+"\n"+other), parsed(t, again))
	load(t, b, backends.Scope{Workspace: "lab"}, again)
	assert.Len(t, find(t, b, backends.Scope{Workspace: "lab"}, "search", backends.KindTool), 2)
}

// The embedder makes the vectors. A load that replaces everything also replaces the model of
// the vectors; one that merges cannot.
func TestVectorsOfALoad(t *testing.T) {
	db, e := open(t), &testkit.Embedder{Dim: 8}
	first, _ := newBackend(t, db, func(c *reme.Config) { c.Embedder, c.EmbeddingModel = e, "one" })
	assert.Equal(t, 250, load(t, first, market, lines("a", 250)).Usage.EmbeddedTexts)
	assert.EqualValues(t, 250, e.Texts.Load())
	assert.NotZero(t, search(t, first, market, "when task 7 of a comes up")[0].Parts.Vector)
	before := stored(t, first, market)

	second, _ := newBackend(t, db, func(c *reme.Config) { c.Embedder, c.EmbeddingModel = e, "two" })
	_, err := second.Library().Load(t.Context(), &reme.LoadRequest{Scope: market, Merge: true}, strings.NewReader(lines("b", 60)))
	require.ErrorIs(t, err, backends.ErrDimension)
	require.ErrorContains(t, err, "Backend.ReembedAll")
	assert.Equal(t, before, stored(t, first, market))
	load(t, second, market, lines("b", 60))
	assert.NotZero(t, search(t, second, market, "when task 7 of b comes up")[0].Parts.Vector)

	e.Err = io.ErrNoProgress
	_, err = second.Library().Load(t.Context(), &reme.LoadRequest{Scope: market}, strings.NewReader(lines("c", 5)))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	e.Err = nil
	assert.Len(t, stored(t, second, market), 60)
}

// ReMe would take for true what was superseded or expired: a dump leaves it out, a copy has it.
func TestADumpLeavesOutThePast(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	dumping := false
	b, _ := newBackend(t, db, func(c *reme.Config) {
		c.Clock = func() time.Time {
			if dumping { // the memories are read by then
				cancel()
			}
			return annual
		}
	})
	load(t, b, market, lines("a", 1))
	past := &store.Batch{Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "old", Kind: backends.KindTask, Text: "do it by hand", SupersededBy: "a0", Invalidated: annual, Origin: backends.Origin{Role: "user"}}}),
		store.Put(&store.Record{Memory: backends.Memory{ID: "gone", Kind: backends.KindTask, Text: "for the season", Expires: annual.Add(-time.Hour)}}),
	}}
	require.NoError(t, only(db.Apply(t.Context(), backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "market"}, past)))
	var out strings.Builder
	got, err := b.Library().Dump(t.Context(), &reme.DumpRequest{Scope: market}, &out)
	require.NoError(t, err)
	assert.Equal(t, &reme.DumpResponse{Memories: 1, LeftOut: 2}, got)
	assert.Equal(t, parsed(t, lines("a", 1)), parsed(t, out.String()))
	require.ErrorIs(t, only(b.Library().Dump(t.Context(), &reme.DumpRequest{Scope: market}, brokenPipe{})), io.ErrClosedPipe)
	dumping = true
	require.ErrorIs(t, only(b.Library().Dump(ctx, &reme.DumpRequest{Scope: market}, io.Discard)), context.Canceled)
	dumping = false

	other := backends.Scope{Namespace: "other", Workspace: "market"}
	require.NoError(t, only(b.Library().Copy(t.Context(), &reme.CopyRequest{From: market, To: other})))
	held := stored(t, b, other)
	require.Len(t, held, 3)
	for id, m := range stored(t, b, market) {
		m.Scope.Namespace, m.Scope.Workspace, m.Created, m.Updated = "other", "market", held[id].Created, held[id].Updated
		assert.Equal(t, m, held[id])
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Delete erases one workspace whole, and no other.
func TestAWorkspaceIsDeletedWhole(t *testing.T) {
	db := open(t)
	b, _ := newBackend(t, db, nil)
	names := func(namespace string) (out []string) {
		for cursor := ""; ; {
			page, err := db.Partitions(t.Context(), namespace, store.Page{Limit: 1, Cursor: cursor})
			require.NoError(t, err)
			for _, p := range page.Partitions {
				if p.Kind == backends.PartitionWorkspace {
					out = append(out, p.ID)
				}
			}
			if cursor = page.Next; cursor == "" {
				return out
			}
		}
	}
	assert.Empty(t, names("default"))
	scopes := []backends.Scope{{Workspace: "a-b"}, {Workspace: "a_b"}, {Workspace: "A-B"}, {Workspace: "工/作"}, {Workspace: "a-b", Namespace: "other"}}
	for _, s := range scopes {
		load(t, b, s, lines("a", 2))
	}
	require.NoError(t, only(b.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{UserID: "ann"}, Verbatim: true, Messages: said("ann drinks tea")})))
	assert.ElementsMatch(t, []string{"a-b", "a_b", "A-B", "工/作"}, names("default"))
	assert.Equal(t, []string{"a-b"}, names("other"))

	n, err := b.Library().Delete(t.Context(), scopes[0])
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.ElementsMatch(t, []string{"a_b", "A-B", "工/作"}, names("default"))
	assert.Equal(t, []string{"a-b"}, names("other"))
	_, err = b.History(t.Context(), &backends.HistoryRequest{Scope: scopes[0], ID: "a1"})
	require.ErrorIs(t, err, backends.ErrNotFound)
	n, err = b.Library().Delete(t.Context(), scopes[0])
	require.NoError(t, err)
	assert.Zero(t, n)
}

// If the store's answer to the write is lost, the error says that the load may have been
// stored; a repeat is safe.
func TestALoadWhoseAnswerIsLostCanBeRepeated(t *testing.T) {
	spy := testkit.Spy(open(t))
	b, _ := newBackend(t, spy, nil)
	load(t, b, market, lines("a", 2))
	spy.Arm(func(c *testkit.StoreCall) error {
		if c.Lost = c.Method == "Apply"; c.Lost {
			return fmt.Errorf("no answer: %w", backends.ErrUnavailable)
		}
		return nil
	})
	_, err := b.Library().Load(t.Context(), &reme.LoadRequest{Scope: market}, strings.NewReader(lines("b", 3)))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "repeat the load")
	spy.Arm(nil)
	load(t, b, market, lines("b", 3))
	assert.Len(t, stored(t, b, market), 3)
}

// The libraries that ReMe ships load unchanged, a dump of them is what was loaded, member by
// member, and loaded again it gives the same memories. They were not judged.
func TestLibrariesThatReMeShips(t *testing.T) {
	dir := os.Getenv("EINOMEM_REME")
	if dir == "" {
		t.Skip("EINOMEM_REME names no folder with ReMe's libraries (docs/library of ReMe 0.2)")
	}
	for name, want := range map[string]int{"appworld.jsonl": 193, "bfcl_v3.jsonl": 474, "paper/appworld_qwen3_8b.jsonl": 207, "paper/bfcl_qwen3_8b.jsonl": 96, "older_experience_20.jsonl": 20} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			b, _ := newBackend(t, open(t), func(c *reme.Config) { c.Redact = func(s string) string { return s } }) // they have numbers of cards
			require.Equal(t, &reme.LoadResponse{Loaded: want}, load(t, b, market, string(text)))
			again := dump(t, b, &reme.DumpRequest{Scope: market})
			if name != "older_experience_20.jsonl" { // which is written in the format of 0.2
				require.Equal(t, parsed(t, string(text)), parsed(t, again))
			}
			found := 0
			all := stored(t, b, market)
			for id, m := range all {
				require.Nil(t, m.Quality)
				require.Equal(t, 2025, m.Created.Year())
				require.NotEmpty(t, m.Origin.Author)
				if hits := search(t, b, market, m.WhenToUse); len(hits) > 0 && (hits[0].ID == id || hits[0].WhenToUse == m.WhenToUse) {
					found++
				}
			}
			assert.Greater(t, found, want*8/10, "found first by the situation that it is for")
			load(t, b, market, again)
			require.Equal(t, all, stored(t, b, market))
		})
	}
}
