// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
)

// The table of F5: at a ratio of exactly MaxUtility the paper deletes and ReMe's code
// keeps; the default is the paper's, and Strict the code's.
func TestF5TheRule(t *testing.T) {
	for _, c := range []struct {
		freq, utility float64
		paper, code   bool
	}{
		{4, 0, false, false},
		{5, 2, true, true},
		{5, 3, false, false},
		{10, 5, true, false},
		{5, 0, true, true},
		{0, 0, false, false},
		{100, 100, false, false},
	} {
		rule := task.DefaultRule()
		assert.Equal(t, c.paper, rule.Forgets(c.freq, c.utility), "paper: %+v", c)
		rule.Strict = true
		assert.Equal(t, c.code, rule.Forgets(c.freq, c.utility), "code: %+v", c)
	}
}

// No rule divides by zero: what was never used stays (MinUses 0 included).
func TestF5NothingIsForgottenUnused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := task.Rule{MinUses: rapid.IntRange(0, 9).Draw(t, "uses"), MaxUtility: rapid.Float64Range(0, 1).Draw(t, "utility"), Strict: rapid.Bool().Draw(t, "strict")}
		require.NoError(t, rule.Validate())
		require.False(t, rule.Forgets(0, rapid.Float64Range(0, 9).Draw(t, "helped")))
		freq := float64(rapid.IntRange(1, 50).Draw(t, "freq"))
		helped := float64(rapid.IntRange(0, int(freq)).Draw(t, "useful"))
		if rule.Forgets(freq, helped) {
			require.GreaterOrEqual(t, freq, float64(rule.MinUses))
			require.True(t, rule.Forgets(freq, 0) || rule.Strict && rule.MaxUtility == 0, "what helps less goes as well")
			require.True(t, rule.Forgets(freq+1, helped), "and what helps more seldom")
		}
	})
	for _, r := range []task.Rule{{MinUses: -1}, {MaxUtility: -0.1}, {MaxUtility: 1.1}, {MaxUtility: math.NaN()}} {
		require.ErrorIs(t, r.Validate(), backends.ErrInvalid)
		_, err := open(t).Forget(ctx, &task.ForgetRequest{Scope: shop, Rule: &r})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func counted(id string, freq, utility int) backends.Memory {
	return backends.Memory{ID: id, WhenToUse: "kettle", Text: "hint " + id, Metadata: map[string]any{"freq": float64(freq), "utility": float64(utility)}}
}

// What is forgotten is gone: from searches, from dumps, from the store (DEF-02).
func TestDEF02ForgettingDeletes(t *testing.T) { eachStore(t, onDEF02ForgettingDeletes) }

func onDEF02ForgettingDeletes(t *testing.T, st store.Store) {
	var heard []string
	var logged bytes.Buffer
	w := open(t, on(st), config(func(c *task.Config) {
		c.OnDelete = func(_ context.Context, p backends.Partition, f task.Forgotten) {
			heard = append(heard, p.ID+" "+f.ID)
		}
		c.Log = slog.New(slog.NewTextHandler(&logged, nil))
	}))
	w.put(counted("poor", 6, 1), counted("good", 6, 6), counted("new", 1, 0), counted("even", 10, 5))
	tool := counted("tool", 9, 0)
	tool.Kind = backends.KindTool
	w.put(tool)

	before := w.version()
	dry, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop, DryRun: true})
	require.NoError(t, err)
	assert.True(t, dry.DryRun)
	assert.Equal(t, before, w.version(), "a dry run deletes nothing")
	assert.Empty(t, heard)

	resp, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop})
	require.NoError(t, err)
	assert.Equal(t, dry.Deleted, resp.Deleted)
	assert.Equal(t, []task.Forgotten{
		{ID: "poor", WhenToUse: "kettle", Text: "hint poor", Freq: 6, Utility: 1, Ratio: 1.0 / 6},
		{ID: "even", WhenToUse: "kettle", Text: "hint even", Freq: 10, Utility: 5, Ratio: 0.5},
	}, resp.Deleted)
	assert.ElementsMatch(t, []string{"hint good", "hint new", "hint tool"}, w.active())
	assert.Len(t, w.retrieve(task.RetrieveRequest{Query: "kettle"}).Hits, 2)
	records, err := w.keeper.Records(ctx, inn, "poor", "even")
	require.NoError(t, err)
	assert.Empty(t, records)
	var dump bytes.Buffer
	_, err = w.keeper.Dump(ctx, inn, &dump)
	require.NoError(t, err)
	assert.NotContains(t, dump.String(), "hint poor")

	assert.Equal(t, []string{"shop poor", "shop even"}, heard)
	assert.Contains(t, logged.String(), "id=poor freq=6 utility=1")
	events, err := w.keeper.History(ctx, inn, "poor")
	require.NoError(t, err)
	assert.Equal(t, backends.EventDeleted, events[len(events)-1].Type, "the history still answers")
	again, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop})
	require.NoError(t, err)
	assert.Empty(t, again.Deleted)
}

// Counts are those of Record: what is recorded often enough, and helps too seldom, is
// forgotten (R11, as a whole).
func TestR11RecordAndForget(t *testing.T) {
	w := open(t)
	resp := w.summarize(pages, login)
	for i := range 5 {
		r := &task.RecordRequest{Scope: shop, IDs: []string{resp.Memories[0].ID, resp.Memories[1].ID}, Useful: []string{resp.Memories[0].ID}}
		_, err := w.Record(ctx, r)
		require.NoError(t, err)
		gone, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop})
		require.NoError(t, err)
		assert.Len(t, gone.Deleted, i/4)
	}
	assert.Equal(t, []string{what(pages)}, w.active())
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(w.summarize(login)), "and may be learnt anew")
	assert.Nil(t, w.find(what(login)).Metadata[task.MetaFreq], "with no counts")
}

// A memory that is used while it is looked at is looked at again.
func TestR11AMemoryInUseIsLookedAtAgain(t *testing.T) {
	for name, c := range map[string]struct {
		useful bool
		want   []string
	}{"it helped": {true, []string{"hint even", "hint good"}}, "it did not": {false, []string{"hint good"}}} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t)
			other := open(t, on(st))
			other.put(counted("poor", 6, 1), counted("even", 10, 5), counted("good", 6, 6))
			f := &faulty{Store: st}
			f.before = func(call string) {
				if call == "Apply" {
					f.before = nil
					_, err := other.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{"even"}, AllUseful: c.useful})
					assert.NoError(t, err)
				}
			}
			resp, err := open(t, on(f)).Forget(ctx, &task.ForgetRequest{Scope: shop})
			require.NoError(t, err)
			assert.Len(t, resp.Deleted, 3-len(c.want))
			assert.ElementsMatch(t, c.want, other.active())
		})
	}
}

// One that is used without pause stays, and is told.
func TestR11AMemoryThatIsNeverAtRestStays(t *testing.T) {
	st := openStore(t)
	other := open(t, on(st))
	other.put(counted("poor", 6, 1), counted("busy", 6, 1))
	busy := false
	f := &faulty{Store: st}
	f.before = func(call string) {
		if call == "Apply" && !busy {
			busy = true
			_, err := other.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{"busy"}})
			assert.NoError(t, err)
			busy = false
		}
	}
	resp, err := open(t, on(f)).Forget(ctx, &task.ForgetRequest{Scope: shop})
	require.NoError(t, err)
	require.Len(t, resp.Deleted, 1)
	require.Len(t, resp.Kept, 1)
	assert.Equal(t, "busy", resp.Kept[0].ID)
	assert.Equal(t, []string{"hint busy"}, other.active())
}

func TestForgetTakesManyWrites(t *testing.T) {
	w := open(t)
	var all []backends.Memory
	for i := range 1100 {
		all = append(all, counted(fmt.Sprint(i), 7, i%2*7))
	}
	w.put(all...)
	resp, err := w.Forget(ctx, &task.ForgetRequest{Scope: shop, Rule: &task.Rule{}})
	require.NoError(t, err)
	assert.Len(t, resp.Deleted, 550)
	assert.Len(t, w.active(), 550)
}
