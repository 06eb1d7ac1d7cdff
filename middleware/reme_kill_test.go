// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// survived checks what a child left in the store, and goes on with its session in
// this process: every turn that was acknowledged is learnt from once.
func (d *day) survived(t *testing.T, db store.Store, lines []string) {
	t.Helper()
	d.comesUp(t, db)
	ctx := context.Background()
	after := &day{User: d.User, Shared: d.Shared, Nobody: d.Nobody}
	b, mem := after.memory(t, db)
	defer func() {
		require.NoError(t, mem.Close(ctx))
		require.NoError(t, b.Close(ctx))
	}()
	after.turn(t, mem, d.Orders)
	require.NoError(t, mem.Flush(ctx))
	_, err := mem.Working().Consolidate(ctx, d.scope())
	require.NoError(t, err)

	said, flushed := acknowledged(lines)
	if d.Await {
		require.GreaterOrEqual(t, d.turns(t, db), said, "what was acknowledged is in the log")
	}
	require.GreaterOrEqual(t, d.turns(t, db), flushed, "what was flushed is in the log")
	d.learntOnce(t, b, db)
	d.recordedOnce(t, b, flushed)
	d.works(t, b)
}

// comesUp learns from what a dead process left, once its lease and the patience with
// its open turn are over.
func (d *day) comesUp(t *testing.T, db store.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, mem := (&day{User: d.User, Shared: d.Shared, Nobody: d.Nobody, Heir: true}).memory(t, db)
	p, err := d.scope().Speaker()
	require.NoError(t, err)
	for {
		_, err := mem.Working().Consolidate(ctx, d.scope())
		require.NoError(t, err)
		session, err := db.Session(ctx, p, "s1")
		if errors.Is(err, backends.ErrNotFound) { // it died before it said a word
			break
		}
		require.NoError(t, err)
		if session.Watermark == session.LastSeq {
			break
		}
	}
	require.NoError(t, mem.Close(ctx))
	require.NoError(t, b.Close(ctx))
}

// acknowledged returns how many turns ended, and how many were flushed.
func acknowledged(lines []string) (said, flushed int) {
	for _, line := range lines {
		var n int
		if _, err := fmt.Sscanf(line, "said %d", &n); err == nil {
			said = n + 1
		}
		if _, err := fmt.Sscanf(line, "flushed %d", &n); err == nil {
			flushed = n + 1
		}
	}
	return said, flushed
}

// log returns what was said, of which each message is there once, and all learnt from.
func (d *day) log(t *testing.T, db store.Store) []string {
	p, err := d.scope().Speaker()
	require.NoError(t, err)
	session, err := db.Session(context.Background(), p, "s1")
	require.NoError(t, err)
	require.Equal(t, session.LastSeq, session.Watermark, "all was learnt from")
	require.Empty(t, session.Failures)
	entries, err := db.Read(context.Background(), p, "s1", store.Range{Limit: 10_000})
	require.NoError(t, err)
	ids := map[string]bool{}
	var out []string
	for i := range entries {
		require.EqualValues(t, i+1, entries[i].Seq)
		require.False(t, ids[entries[i].ID])
		ids[entries[i].ID] = true
		out = append(out, entries[i].Content)
	}
	return out
}

// turns is how many turns of the child's the log has to their end.
func (d *day) turns(t *testing.T, db store.Store) int {
	n := 0
	for _, text := range d.log(t, db) {
		if strings.HasPrefix(text, "LESSON") && !strings.Contains(text, orderName(d.Orders+10)) {
			n++
		}
	}
	return n
}

// learntOnce checks that for each turn of the log there is one lesson and one fact.
func (d *day) learntOnce(t *testing.T, b *reme.Backend, db store.Store) {
	want := map[string]int{}
	for _, text := range d.log(t, db) {
		if _, lesson, ok := strings.Cut(text, " | "); ok {
			want[lesson]++
		}
		if _, fact, ok := strings.Cut(text, "FACT "); ok {
			want[fact]++
		}
	}
	got := map[string]int{}
	list := backends.ListRequest{Scope: d.scope(), Kinds: []backends.Kind{backends.KindTask, backends.KindPersonal}, IncludeSuperseded: true}
	for {
		page, err := b.List(context.Background(), &list)
		require.NoError(t, err)
		for i := range page.Memories {
			got[reworded.ReplaceAllString(page.Memories[i].Text, "")]++
		}
		if list.Cursor = page.Next; list.Cursor == "" {
			break
		}
	}
	require.Equal(t, want, got, "one lesson and one fact a turn")
}

// recordedOnce checks the calls of the tool: each once, and none that was flushed is
// missing.
func (d *day) recordedOnce(t *testing.T, b *reme.Backend, flushed int) {
	got, err := b.Tools().Retrieve(context.Background(), &toolmem.RetrieveRequest{Scope: d.scope(), Tools: []string{"refund"}, WithCalls: true, Last: 1000})
	require.NoError(t, err)
	inputs := map[string]int{}
	for _, c := range got.Tools[0].Calls {
		inputs[fmt.Sprint(c.Input)]++
		require.False(t, c.Failed)
	}
	for input, n := range inputs {
		require.Equal(t, 1, n, input)
	}
	require.GreaterOrEqual(t, len(inputs), flushed+1)
	for n := range flushed {
		require.Contains(t, fmt.Sprint(inputs), fmt.Sprint(n+10))
	}
}

// works checks that everything can be found, written to files, read again and learnt
// from.
func (d *day) works(t *testing.T, b *reme.Backend) {
	ctx := context.Background()
	_, err := b.Tools().Summarize(ctx, &toolmem.SummaryRequest{Scope: d.scope(), Force: true})
	require.NoError(t, err)
	newest := orderName(d.Orders + 10)
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: d.scope(), Query: "refunding " + newest, TopK: 50})
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	kinds := map[backends.Kind]bool{}
	for i := range found.Hits {
		kinds[found.Hits[i].Kind] = true
	}
	require.Len(t, kinds, 3)
	var file bytes.Buffer
	dumped, err := b.Library().Dump(ctx, &reme.DumpRequest{Scope: d.scope()}, &file)
	require.NoError(t, err)
	again := backends.Scope{Workspace: "again of " + d.User}
	loaded, err := b.Library().Load(ctx, &reme.LoadRequest{Scope: again}, &file)
	require.NoError(t, err)
	require.Equal(t, dumped.Memories, loaded.Loaded)
}

// daySizes says how many orders a child refunds, and at how many steps it is killed.
func daySizes() (orders, deaths int) {
	switch {
	case long:
		return 12, 60
	case testing.Short() || raced:
		return 3, 4
	}
	return 4, 8
}

// days kills children at steps that are spread over their lives.
func days(t *testing.T, new func(user string) *day, look func(d *day, lines []string)) {
	t.Helper()
	orders, deaths := daySizes()
	dead := 0
	for _, await := range []bool{false, true} {
		born := func(step int) (lines []string, killed bool) {
			d := new(fmt.Sprint("ann ", await, step))
			d.Await, d.Pieces, d.Orders, d.Step = await, step%2 == 1, orders, step
			lines, killed = d.run(t)
			look(d, lines)
			return lines, killed
		}
		lines, killed := born(0)
		require.False(t, killed)
		steps := 0
		_, err := fmt.Sscanf(lines[len(lines)-1], "steps %d", &steps)
		require.NoError(t, err)
		require.Greater(t, steps, 10*orders)
		t.Logf("await %v: %d steps", await, steps)
		for n := range deaths / 2 {
			each := 2 * steps / deaths
			if _, killed := born(1 + n*each + rand.IntN(each)); killed {
				dead++
			}
		}
	}
	require.Greater(t, dead, deaths/2, "a life has a few steps more or less than another")
}

func TestReMeIsKilledAtAnyStep(t *testing.T) {
	days(t, func(user string) *day { return &day{User: user, Store: filepath.Join(t.TempDir(), "memory.db")} },
		func(d *day, lines []string) {
			t.Run(d.User, func(t *testing.T) {
				db := openFile(t, d.Store)
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				d.survived(t, db, lines)
			})
		})
}

func TestOnRedisReMeIsKilledAtAnyCommand(t *testing.T) {
	server := testredis.Need(t).Start(t)
	db, err := redisstore.New(t.Context(), server.Client(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	days(t, func(user string) *day { return &day{User: user, Store: server.URL()} },
		func(d *day, lines []string) { t.Run(d.User, func(t *testing.T) { d.survived(t, db, lines) }) })
}

// A stretch of the log is two batches: what the workspace learns, then what is known of
// the user with the log's checkpoint. A process dies right behind each.
func TestReMeIsKilledBetweenItsBatches(t *testing.T) {
	for after, layouts := range map[backends.PartitionKind][]day{
		backends.PartitionWorkspace: {{}, {Await: true}, {Pieces: true}, {Await: true, Pieces: true}, {Shared: true}, {Await: true, Shared: true}, {Nobody: true}},
		backends.PartitionUser:      {{}, {Await: true}, {Pieces: true}, {Await: true, Pieces: true}},
		backends.PartitionAgent:     {{Nobody: true}, {Await: true, Nobody: true}},
	} {
		for i := range layouts {
			d := &layouts[i]
			t.Run(fmt.Sprintf("behind the %s, await %v, pieces %v, shared %v, nobody %v", after, d.Await, d.Pieces, d.Shared, d.Nobody), func(t *testing.T) {
				t.Parallel()
				d.User, d.Store, d.Orders, d.After = "ann", filepath.Join(t.TempDir(), "memory.db"), 3, after
				lines, killed := d.run(t)
				require.True(t, killed)
				db := openFile(t, d.Store)
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				d.survived(t, db, lines)
			})
		}
	}
}

// Its parent kills the child at a moment that nobody chose.
func TestReMeIsKilledAtAnyMoment(t *testing.T) {
	orders, deaths := daySizes()
	for n := range deaths / 2 {
		// One in four is an agent without a user, one in four has ReMe's layout.
		d := &day{Nobody: n%4 == 1, Shared: n%4 == 2, User: "ann", Store: filepath.Join(t.TempDir(), "memory.db"), Orders: orders, Await: n%2 == 0, Pieces: n%4 > 1}
		cmd, out := d.start(t)
		var lines []string
		for range 1 + rand.IntN(orders) {
			if out.Scan() {
				lines = append(lines, out.Text())
			}
		}
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		for out.Scan() {
			lines = append(lines, out.Text())
		}
		wasKilled(t, cmd, lines)
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			db := openFile(t, d.Store)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			d.survived(t, db, lines)
		})
	}
}
