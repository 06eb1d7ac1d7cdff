// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestUseIsCounted(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		resp := w.summarize(pages, login)
		a, b := resp.Memories[0].ID, resp.Memories[1].ID
		got, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{a, b, a}, Useful: []string{b}})
		require.NoError(t, err)
		assert.ElementsMatch(t, []Recorded{{ID: a, Freq: 1}, {ID: b, Freq: 1, Utility: 1}}, got.Recorded)
		for i := range 3 {
			got, err = w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{a}, AllUseful: true, IdempotencyKey: "turn 7"})
			require.NoError(t, err)
			assert.Equal(t, i > 0, got.Replayed, "a repeat counts nothing")
			assert.Equal(t, []Recorded{{ID: a, Freq: 2, Utility: 1}}, got.Recorded)
		}
		m := w.find(what(pages))
		assert.EqualValues(t, 2, m.Metadata[keeper.MetaFreq])
		assert.Equal(t, 0.8, *m.Quality)
	})
}

// ReMe counts on the client's copy: concurrent recorders lose updates.
func TestAHundredRecordersAddAHundred(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		worlds := []*world{open(t, on(st)), open(t, on(st))}
		before := worlds[0].summarize(login).Memories[0]
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				_, err := worlds[i%2].Record(ctx, &RecordRequest{Scope: shop, IDs: []string{before.ID}, AllUseful: i%4 == 0})
				assert.NoError(t, err)
			})
		}
		all.Wait()
		m := worlds[1].find(what(login))
		assert.EqualValues(t, 100, m.Metadata[keeper.MetaFreq])
		assert.EqualValues(t, 25, m.Metadata[keeper.MetaUtility])
		delete(m.Metadata, keeper.MetaFreq)
		delete(m.Metadata, keeper.MetaUtility)
		m.Version, m.Updated = before.Version, before.Updated
		assert.Equal(t, before, *m, "nothing else changed")
	})
}

func TestWhatIsUnknownIsReportedAndNeverCreated(t *testing.T) {
	w := open(t)
	resp := w.summarize(pages, login)
	a, b := resp.Memories[0].ID, resp.Memories[1].ID
	require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: a}))
	w.put(backends.Memory{ID: "tool", Kind: backends.KindTool, Text: "x"}, backends.Memory{ID: "foreign", Text: "y", Metadata: map[string]any{"freq": "many"}},
		backends.Memory{ID: "circle", Text: "z", SupersededBy: "circle"})
	got, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{a, b, "none", "tool", "foreign", "circle"}, AllUseful: true})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{a, "none", "tool", "foreign", "circle"}, got.Unknown)
	assert.Equal(t, []Recorded{{ID: b, Freq: 1, Utility: 1}}, got.Recorded)
	assert.ElementsMatch(t, []string{what(login), "x", "y"}, w.active())
	got, err = w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{"none"}})
	require.NoError(t, err)
	assert.Empty(t, got.Recorded)
	for name, r := range map[string]*RecordRequest{
		"nothing": nil, "useful, unasked": {Scope: shop, IDs: []string{"a"}, Useful: []string{"b"}}, "no id": {Scope: shop, IDs: []string{""}},
		"a long key": {Scope: shop, IdempotencyKey: fmt.Sprint(make([]int, 300))},
	} {
		_, err := w.Record(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err = w.Record(ctx, &RecordRequest{IDs: []string{"a"}})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestAMemoryThatIsDeletedMeanwhileIsLookedForAgain(t *testing.T) {
	st := testkit.SQLite(t)
	other := open(t, on(st))
	resp := other.summarize(pages, login)
	a, b := resp.Memories[0].ID, resp.Memories[1].ID
	spy := testkit.Spy(st)
	w := open(t, on(spy))
	spy.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Apply" && len(other.held()) == 2 {
			assert.NoError(t, other.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: a}))
		}
		return nil
	})
	got, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{a, b}})
	require.NoError(t, err)
	assert.Equal(t, []string{a}, got.Unknown)
	assert.EqualValues(t, 1, other.find(what(login)).Metadata[keeper.MetaFreq], "once")
}

// What was merged meanwhile is counted where its words went, once a request.
func TestUseFollowsTheChain(t *testing.T) {
	w := open(t).deciding(merging)
	old := w.summarize(pages).Memories[0]
	_, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{old.ID}})
	require.NoError(t, err)
	next := w.summarize(pagesNear).Memories[0]
	got, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{old.ID, next.ID}, AllUseful: true})
	require.NoError(t, err)
	assert.ElementsMatch(t, []Recorded{{ID: next.ID, Freq: 2, Utility: 1}}, got.Recorded)
	gone, err := w.Forget(ctx, &ForgetRequest{Scope: shop, Rule: Rule{MaxUtility: 1}, DryRun: true})
	require.NoError(t, err)
	require.Len(t, gone.Deleted, 1, "the link of the chain that holds, and no other")
	assert.Equal(t, next.ID, gone.Deleted[0].ID)
}

func TestNumbersOfMetadataInWhateverType(t *testing.T) {
	for _, c := range []struct {
		v    any
		want float64
	}{{3.5, 3.5}, {3, 3}, {int64(3), 3}, {json.Number("3"), 3}, {json.Number("x"), 0}, {" 3", 3}, {"x", 0}, {"inf", 0}, {nil, 0}, {[]any{3}, 0}, {1e21, 1e21}} {
		assert.Equal(t, c.want, keeper.Number(&backends.Memory{Metadata: map[string]any{"n": c.v}}, "n"), "%v", c.v)
	}
	assert.Equal(t, []any{"a", object{}, "b"}, union([]any{"a", object{}}, []any{object{}, "b"}))
	assert.Empty(t, union("a", nil))
}

// At a ratio of exactly MaxUtility ReMe's paper deletes.
func TestTheRuleOfForgetting(t *testing.T) {
	for _, c := range []struct {
		freq, utility float64
		goes          bool
	}{{4, 0, false}, {5, 2, true}, {5, 3, false}, {10, 5, true}, {5, 0, true}, {0, 0, false}, {100, 100, false}} {
		assert.Equal(t, c.goes, DefaultRule().forgets(c.freq, c.utility), "%+v", c)
	}
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{MinUses: rapid.IntRange(0, 9).Draw(t, "uses"), MaxUtility: rapid.Float64Range(0, 1).Draw(t, "utility")}
		require.NoError(t, rule.validate())
		require.False(t, rule.forgets(0, rapid.Float64Range(0, 9).Draw(t, "helped")), "nothing is forgotten unused")
		freq := float64(rapid.IntRange(1, 50).Draw(t, "freq"))
		helped := float64(rapid.IntRange(0, int(freq)).Draw(t, "useful"))
		if rule.forgets(freq, helped) {
			require.GreaterOrEqual(t, freq, float64(rule.MinUses))
			require.True(t, rule.forgets(freq, 0), "what helps less goes as well")
			require.True(t, rule.forgets(freq+1, helped), "and what helps more seldom")
		}
	})
	for _, r := range []*ForgetRequest{nil, {Scope: shop, Rule: Rule{MinUses: -1}}, {Scope: shop, Rule: Rule{MaxUtility: -0.1}}, {Scope: shop, Rule: Rule{MaxUtility: 1.1}}, {Scope: shop, Rule: Rule{MaxUtility: math.NaN()}}} {
		_, err := open(t).Forget(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err := open(t).Forget(ctx, &ForgetRequest{})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func counted(id string, freq, utility int) backends.Memory {
	return backends.Memory{ID: id, WhenToUse: "kettle", Text: "hint " + id, Metadata: map[string]any{"freq": float64(freq), "utility": float64(utility)}}
}

// ReMe's endpoint deletes nothing. Here what is forgotten is gone: from searches, from
// dumps, from the store.
func TestForgettingDeletes(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		w.put(counted("poor", 6, 1), counted("good", 6, 6), counted("new", 1, 0), counted("even", 10, 5))
		tool := counted("tool", 9, 0)
		tool.Kind = backends.KindTool
		w.put(tool)
		before := w.version()
		dry, err := w.Forget(ctx, &ForgetRequest{Scope: shop, DryRun: true})
		require.NoError(t, err)
		assert.True(t, dry.DryRun)
		assert.Equal(t, before, w.version(), "a dry run deletes nothing")

		resp, err := w.Forget(ctx, &ForgetRequest{Scope: shop})
		require.NoError(t, err)
		assert.Equal(t, dry.Deleted, resp.Deleted)
		require.Len(t, resp.Deleted, 2)
		for i, want := range []backends.Memory{counted("poor", 6, 1), counted("even", 10, 5)} {
			got := resp.Deleted[i]
			assert.Equal(t, []any{want.ID, want.WhenToUse, want.Text}, []any{got.ID, got.WhenToUse, got.Text})
			assert.Equal(t, []float64{keeper.Number(&want, keeper.MetaFreq), keeper.Number(&want, keeper.MetaUtility)}, []float64{keeper.Number(&got, keeper.MetaFreq), keeper.Number(&got, keeper.MetaUtility)})
		}
		assert.ElementsMatch(t, []string{"hint good", "hint new", "hint tool"}, w.active())
		assert.Len(t, w.retrieve(RetrieveRequest{Query: "kettle"}).Hits, 2)
		records, err := w.keeper.Records(ctx, inn, "poor", "even")
		require.NoError(t, err)
		assert.Empty(t, records)
		events, err := w.keeper.History(ctx, inn, "poor")
		require.NoError(t, err)
		assert.Equal(t, backends.OutcomeDeleted, events[len(events)-1].Type, "the history still answers")
		again, err := w.Forget(ctx, &ForgetRequest{Scope: shop})
		require.NoError(t, err)
		assert.Empty(t, again.Deleted)
	})
}

// What is recorded often enough, and helps too seldom, is forgotten, and may be learnt anew.
func TestRecordingLeadsToForgetting(t *testing.T) {
	w := open(t)
	resp := w.summarize(pages, login)
	for i := range 5 {
		_, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{resp.Memories[0].ID, resp.Memories[1].ID}, Useful: []string{resp.Memories[0].ID}})
		require.NoError(t, err)
		gone, err := w.Forget(ctx, &ForgetRequest{Scope: shop})
		require.NoError(t, err)
		assert.Len(t, gone.Deleted, i/4)
	}
	assert.Equal(t, []string{what(pages)}, w.active())
	assert.Equal(t, "unchanged added", outcomes(w.summarize(pages, login)))
	assert.Nil(t, w.find(what(login)).Metadata[keeper.MetaFreq], "with no counts")
}

// A memory that is used while it is looked at is looked at again; one that is used without
// pause stays.
func TestAMemoryInUseIsLookedAtAgain(t *testing.T) {
	for name, c := range map[string]struct {
		useful, pause bool
		want          []string
	}{"it helped": {true, true, []string{"hint even", "hint good"}}, "it did not": {false, true, []string{"hint good"}}, "without pause": {false, false, []string{"hint poor", "hint even", "hint good"}}} {
		t.Run(name, func(t *testing.T) {
			st := testkit.SQLite(t)
			other := open(t, on(st))
			other.put(counted("poor", 6, 1), counted("even", 10, 5), counted("good", 6, 6))
			spy := testkit.Spy(st)
			w := open(t, on(spy))
			used := false
			spy.Arm(func(call *testkit.StoreCall) error {
				if call.Method == "Apply" && (!used || !c.pause) {
					used = true
					_, err := other.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{"even"}, AllUseful: c.useful})
					assert.NoError(t, err)
				}
				return nil
			})
			resp, err := w.Forget(ctx, &ForgetRequest{Scope: shop})
			if c.pause {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, backends.ErrConflict)
			}
			assert.Len(t, resp.Deleted, 3-len(c.want))
			assert.ElementsMatch(t, c.want, other.active())
		})
	}
}

func TestForgettingTakesManyWrites(t *testing.T) {
	w := open(t)
	var all []backends.Memory
	for i := range 1100 {
		all = append(all, counted(fmt.Sprint(i), 7, i%2*7))
	}
	w.put(all...)
	resp, err := w.Forget(ctx, &ForgetRequest{Scope: shop})
	require.NoError(t, err)
	assert.Len(t, resp.Deleted, 550)
	assert.Len(t, w.active(), 550)
}

// gate is a task that succeeds when what the agent knows says how.
func gate(needs string, seen *[]*Attempt) func(context.Context, *Attempt) (*Trajectory, error) {
	return func(_ context.Context, a *Attempt) (*Trajectory, error) {
		*seen = append(*seen, a)
		t := attempted(0, fmt.Sprintf("gate stays shut | After failure %d, %s.", a.N, []string{"", "knock", "ring twice", "give up"}[a.N]))
		if strings.Contains(a.Answer, needs) {
			t = attempted(1, fmt.Sprintf("opening a gate | What worked at attempt %d was to %s.", a.N, needs))
		}
		return &t, nil
	}
}

func TestWhatFailuresTaughtIsKeptWhenARetrySucceeds(t *testing.T) {
	w := open(t)
	w.put(backends.Memory{ID: "known", WhenToUse: "open the harbour gate", Text: "Bring a lamp."})
	var seen []*Attempt
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, TaskID: "gate", Query: "open the harbour gate", Run: gate("ring twice", &seen)})
	require.NoError(t, err)
	assert.True(t, resp.Succeeded)
	assert.Equal(t, 3, resp.Attempts)
	require.Len(t, seen, 3)
	assert.Equal(t, "Memory 1\n  When to use: open the harbour gate\n  Experience: Bring a lamp.", seen[0].Answer)
	assert.Equal(t, []int{0, 1, 2}, []int{len(seen[0].Learnt), len(seen[1].Learnt), len(seen[2].Learnt)})
	assert.Contains(t, seen[2].Answer, "Bring a lamp.\n\nWhat the earlier attempts at this very task taught:\n\nMemory 1\n")
	assert.Equal(t, []string{"Bring a lamp.", "After failure 1, knock.", "After failure 2, ring twice.", "What worked at attempt 3 was to ring twice."}, w.active())
	assert.Len(t, resp.Kept, 3)
	assert.Empty(t, resp.Dropped)
	m := w.find("After failure 1, knock.")
	assert.Equal(t, []any{"failure", "gate"}, []any{m.Metadata[metaSource], m.Metadata[metaTaskID]})
	assert.Equal(t, []Recorded{{ID: "known", Freq: 1, Utility: 1}}, resp.Recorded.Recorded)
	for _, tr := range resp.Trajectories {
		assert.Equal(t, "gate", tr.TaskID)
	}
	assert.Equal(t, 7, resp.Report.Usage.ModelCalls, "a question and a judge an attempt, and one about duplicates")
}

func TestWhereNoRetrySucceedsNothingIsKept(t *testing.T) {
	w := open(t)
	w.put(backends.Memory{ID: "known", WhenToUse: "open the harbour gate", Text: "Bring a lamp."})
	var seen []*Attempt
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "open the harbour gate", Attempts: 2, Run: gate("fly", &seen)})
	require.NoError(t, err)
	assert.False(t, resp.Succeeded)
	assert.Equal(t, 2, resp.Attempts)
	assert.Empty(t, resp.Kept)
	require.Len(t, resp.Dropped, 1, "the last failure is not learnt from: no attempt would use it")
	assert.Equal(t, []string{"Bring a lamp."}, w.active())
	m := w.find("Bring a lamp.")
	assert.Equal(t, []any{1.0, 0.0}, []any{m.Metadata[keeper.MetaFreq], m.Metadata[keeper.MetaUtility]})
}

func TestASuccessAtOnceIsLearntFrom(t *testing.T) {
	for _, key := range []string{"", "gate 1"} {
		w := open(t)
		var seen []*Attempt
		r := &RetryRequest{Scope: shop, Query: "open a gate", IdempotencyKey: key, Run: gate("", &seen)}
		resp, err := w.Retry(ctx, r)
		require.NoError(t, err)
		assert.Equal(t, 1, resp.Attempts)
		assert.Nil(t, resp.Recorded, "nothing was known")
		require.Len(t, resp.Kept, 1)
		m := resp.Kept[0].Memory
		assert.Equal(t, "success", m.Metadata[metaSource])
		resp, err = w.Retry(ctx, r)
		require.NoError(t, err)
		assert.Equal(t, backends.OutcomeUnchanged, resp.Kept[0].Outcome)
		assert.Len(t, w.active(), 1)
		require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: m.ID}))
		_, err = w.Retry(ctx, r)
		require.NoError(t, err)
		assert.Len(t, w.active(), map[string]int{"": 1}[key], "a key is used up")
	}
}

// An error of an attempt, of learning or of the store ends the retries, and leaves what was
// done in the response and the workspace as it was.
func TestAnErrorEndsTheRetries(t *testing.T) {
	for name, c := range map[string]struct {
		run     func() (*Trajectory, error)
		failAt  int
		want    error
		dropped int
	}{
		"an error":            {run: func() (*Trajectory, error) { return nil, errors.New("boom") }, dropped: 1},
		"no trajectory":       {run: func() (*Trajectory, error) { return nil, nil }, want: backends.ErrInvalid, dropped: 1},
		"no messages":         {run: func() (*Trajectory, error) { return &Trajectory{Score: 1}, nil }, want: backends.ErrInvalid, dropped: 1},
		"an extraction":       {failAt: 1, want: errDown},
		"a judge":             {failAt: 2, want: errDown},
		"the next extraction": {failAt: 3, want: errDown, dropped: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.put(backends.Memory{ID: "known", WhenToUse: "gate", Text: "Bring a lamp."})
			w.failAt = c.failAt
			before := w.version()
			resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "gate", Run: func(_ context.Context, a *Attempt) (*Trajectory, error) {
				if a.N == 2 && c.run != nil {
					return c.run()
				}
				tr := attempted(float64(a.N/2), login)
				return &tr, nil
			}})
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			assert.Equal(t, resp.Attempts, len(resp.Trajectories))
			assert.Len(t, resp.Dropped, c.dropped)
			assert.Equal(t, before, w.version(), "nothing is stored, nothing counted")
		})
	}
	spy := testkit.Spy(testkit.SQLite(t))
	w := open(t, on(spy))
	spy.FailOn(backends.ErrUnavailable, "Apply")
	var seen []*Attempt
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "gate", Run: gate("", &seen)})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.True(t, resp.Succeeded)
	assert.Len(t, resp.Dropped, 1)
	require.Error(t, testkit.Failed(resp.Report))
	c, cancel := context.WithCancel(ctx)
	resp, err = w.Retry(c, &RetryRequest{Scope: shop, Query: "gate", Run: func(context.Context, *Attempt) (*Trajectory, error) {
		cancel()
		tr := attempted(0, login)
		return &tr, nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, resp.Attempts)
}

func TestRetryRefusesWhatCannotBeMeant(t *testing.T) {
	w := open(t)
	var seen []*Attempt
	run := gate("", &seen)
	for name, r := range map[string]*RetryRequest{
		"nothing": nil, "no run": {Scope: shop, Query: "x"}, "no query": {Scope: shop, Run: run}, "top k": {Scope: shop, Query: "x", Run: run, TopK: -1},
		"attempts": {Scope: shop, Query: "x", Run: run, Attempts: -1},
		"key":      {Scope: shop, Query: "x", Run: run, IdempotencyKey: strings.Repeat("k", 481)},
	} {
		_, err := w.Retry(ctx, r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := open(t, noModel).Retry(ctx, &RetryRequest{Scope: shop, Query: "x", Run: run})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = w.Retry(ctx, &RetryRequest{Query: "x", Run: run})
	require.ErrorIs(t, err, backends.ErrNoScope)
	assert.Empty(t, seen, "no attempt was made in vain")
}

func TestRetryInChinese(t *testing.T) {
	w := open(t)
	var answers []string
	resp, err := w.Retry(ctx, &RetryRequest{Scope: shop, Query: "打开港口的大门", Run: func(_ context.Context, a *Attempt) (*Trajectory, error) {
		answers = append(answers, a.Answer)
		tr := attempted(float64(a.N-1), "大门锁着的时候 | 先按两次铃")
		tr.Query = "打开港口的大门"
		return &tr, nil
	}})
	require.NoError(t, err)
	assert.True(t, resp.Succeeded)
	assert.Contains(t, answers[1], "之前对同一任务的尝试得到的教训")
	assert.Equal(t, []string{"先按两次铃"}, w.active(), "success and failure taught the same words")
}

// A lesson that others agree with stays although it helped seldom, and one that they disagree with
// goes although it was used seldom.
func TestVotesCountAsUses(t *testing.T) {
	for name, c := range map[string]struct {
		freq, utility, agreed, refuted float64
		goes                           bool
	}{
		"no votes": {5, 2, 0, 0, true}, "one agrees": {5, 2, 1, 0, true}, "two agree": {5, 2, 2, 0, false},
		"too few": {4, 3, 0, 0, false}, "two disagree": {4, 3, 0, 2, true}, "votes alone": {0, 0, 0, 5, true}, "agreed with alone": {0, 0, 5, 0, false},
	} {
		w := open(t)
		m := w.summarize(login).Memories[0]
		m.Metadata[keeper.MetaFreq], m.Metadata[keeper.MetaUtility] = c.freq, c.utility
		m.Metadata[keeper.MetaCorroborated], m.Metadata[keeper.MetaRefuted] = c.agreed, c.refuted
		w.put(m)
		gone, err := w.Forget(ctx, &ForgetRequest{Scope: shop, DryRun: true})
		require.NoError(t, err)
		assert.Equal(t, c.goes, len(gone.Deleted) == 1, name)
	}
}

// The calls that a lesson from a success cites are kept and shown, where the program wants them.
func TestTheBestAttemptIsAnExample(t *testing.T) {
	lesson := func(teach bool) *world {
		w := open(t, func(s *setup) { s.Examples = teach })
		for _, step := range []string{"Success", "Failure", "Comparative"} {
			w.says[step] = says(`{"experiences":[{"when_to_use":"at a door, ` + step + `","experience":"Search first: ` + step + `","steps":[2,3]}]}`)
		}
		w.learn(SummaryRequest{Trajectories: []Trajectory{doing("door", 1, "key"), doing("door", 0, "push sk-abcdefghijklmnopqrstuvwx")}})
		return w
	}
	const example = "search {\"q\":\"x\"}\n→ found by key"
	w := lesson(true)
	for _, m := range w.held() {
		if m.Metadata[metaSource] == "failure" {
			assert.NotContains(t, m.Metadata, metaExample)
			continue
		}
		assert.Equal(t, example, m.Metadata[metaExample], "of the better attempt, in %v", m.Metadata[metaSource])
	}
	assert.Contains(t, w.retrieve(RetrieveRequest{Query: "at a door"}).Answer, "\n  Example: search {\"q\":\"x\"}\n  → found by key")
	assert.NotContains(t, lesson(false).retrieve(RetrieveRequest{Query: "at a door"}).Answer, "Example")
}
