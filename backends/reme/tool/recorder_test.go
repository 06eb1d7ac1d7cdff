// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// fast has a recorder retry without a pause.
func fast(r *rig, _ *Config) { r.pause = time.Microsecond }

func toolCalls(tool string, from, upto int) []backends.ToolCall {
	var out []backends.ToolCall
	for n := from; n < upto; n++ {
		out = append(out, backends.ToolCall{ID: fmt.Sprint(tool, n), Tool: tool, Arguments: fmt.Sprintf(`{"q":%d}`, n), Result: fmt.Sprint("answer ", n), Took: time.Second, Time: start.Add(time.Duration(n) * time.Second)})
	}
	return out
}

// closing is a recorder that can be closed.
type closing struct {
	backends.ToolRecorder
	Close func(context.Context) error
}

func (r *rig) recorder() *closing {
	rec, stop := r.NewRecorder(ctx)
	return &closing{rec, stop}
}

func take(t testing.TB, rec *closing, list ...backends.ToolCall) {
	t.Helper()
	require.NoError(t, rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: list}))
}

// lost returns the calls that OnError reported as lost, and the other errors.
func (r *rig) lost() (calls []Call, others []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.errs {
		if e := new(LostError); errors.As(err, &e) {
			calls = append(calls, e.Calls...)
		} else {
			others = append(others, err)
		}
	}
	return calls, others
}

// gated is a store whose appends wait for the gate, or end with their context.
type gated struct {
	store.Store
	gate chan struct{}
}

func (g *gated) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	select {
	case <-g.gate:
		return g.Store.Append(ctx, p, session, a)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hanging is a rig whose store hangs until gate is closed.
func hanging(t testing.TB, options ...func(*rig, *Config)) (r *rig, gate chan struct{}) {
	gate = make(chan struct{})
	return newRig(t, nil, append(options, func(r *rig, _ *Config) { r.store = testkit.Spy(&gated{testkit.SQLite(t), gate}) })...), gate
}

func TestARecorderStoresCallsAndWritesGuidelinesInTheBackground(t *testing.T) {
	m := writer(t)
	r := newRig(t, m)
	rec := r.recorder()
	take(t, rec, toolCalls("search", 0, 9)...)
	require.NoError(t, rec.Flush(ctx))
	assert.Empty(t, m.Calls(), "9 of 10")
	take(t, rec, append(toolCalls("search", 9, 10), toolCalls("fetch", 0, 3)...)...)
	require.NoError(t, rec.Flush(ctx))
	require.Len(t, m.Calls(), 1)
	got := r.tool(t, "search")
	assert.Len(t, got.Calls, 10)
	assert.Equal(t, "guideline 1 of search", got.Guideline)
	assert.Len(t, r.tool(t, "fetch").Calls, 3)
	r.store.Arm(nil)
	take(t, rec, toolCalls("search", 0, 15)...) // ten of them are known
	require.NoError(t, rec.Flush(ctx))
	assert.NotContains(t, r.store.Calls(), "Read", "what is known is not read")
	take(t, rec, toolCalls("search", 15, 20)...)
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, r.tool(t, "search").Calls, 20)
	assert.Equal(t, "guideline 2 of search", r.tool(t, "search").Guideline, "Close writes guidelines, too")
	require.NoError(t, rec.Close(ctx), "twice")
	err := rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("search", 30, 31)})
	require.ErrorIs(t, err, backends.ErrUnavailable, "none after it")
	lost, others := r.lost()
	assert.Len(t, lost, 1)
	assert.Empty(t, others)
}

func TestGuidelinesCanBeLeftToTheProgram(t *testing.T) {
	m := writer(t)
	r := newRig(t, m, func(_ *rig, c *Config) { c.NoRefresh = true })
	rec := r.recorder()
	take(t, rec, toolCalls("a", 0, 50)...)
	require.NoError(t, rec.Close(ctx))
	assert.Empty(t, m.Calls())
}

func TestARecorderDoesNotDelayAToolAndReportsWhatAFullQueueDrops(t *testing.T) {
	r, gate := hanging(t, func(r *rig, _ *Config) { r.size = 50 })
	rec := r.recorder()
	take(t, rec, toolCalls("search", 0, 50)...) // returns while the store hangs
	err := rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("search", 50, 52)})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "2 calls of tools in workspace \"team\" are not recorded: the queue of 50 is full")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, rec.Flush(ended), context.Canceled)
	close(gate)
	require.NoError(t, rec.Flush(ctx))
	assert.Len(t, r.tool(t, "search").Calls, 50)
	lost, _ := r.lost()
	assert.Len(t, lost, 2)
	require.NoError(t, rec.Close(ctx))
}

func TestCloseReportsWhatItCannotStore(t *testing.T) {
	r, _ := hanging(t)
	rec := r.recorder()
	take(t, rec, toolCalls("a", 0, 9)...)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, rec.Close(ended), context.Canceled)
	lost, _ := r.lost()
	assert.Len(t, lost, 9)
	_ = rec.Close(ended)
	lost, _ = r.lost()
	assert.Len(t, lost, 9, "once")
}

func TestCallsWaitForAStoreThatIsDown(t *testing.T) {
	r := newRig(t, nil, fast)
	rec := r.recorder()
	up := make(chan struct{})
	r.store.Arm(func(c *testkit.StoreCall) error {
		if c.Method != "Append" || c.N > 12 {
			return nil
		}
		if c.N == 12 {
			close(up)
		}
		return errDown
	})
	take(t, rec, toolCalls("a", 0, 2)...)
	<-up
	require.NoError(t, rec.Flush(ctx))
	assert.Len(t, r.tool(t, "a").Calls, 2)
	lost, others := r.lost()
	assert.Empty(t, lost)
	require.Len(t, others, 1, "reported once")
	require.ErrorContains(t, others[0], "calls wait for the store, and are tried again")

	r.store.FailOn(errDown, "Append")
	take(t, rec, toolCalls("a", 2, 3)...)
	require.ErrorIs(t, rec.Flush(ctx), backends.ErrUnavailable, "Flush reports what still waits")
	r.store.Arm(nil)
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, r.tool(t, "a").Calls, 3)
}

func TestWhatTheStoreWillNeverTakeIsLostAfterThreeTries(t *testing.T) {
	r := newRig(t, nil, fast)
	rec := r.recorder()
	r.store.FailOn(errors.New("no such table"), "Append")
	take(t, rec, toolCalls("a", 0, 2)...)
	var err error
	for lost := 0; lost < 2; { // in one batch or in two
		err = errors.Join(err, rec.Flush(ctx))
		calls, _ := r.lost()
		lost = len(calls)
	}
	require.ErrorContains(t, err, "no such table")
	require.ErrorContains(t, err, "calls of tools in workspace \"team\" are not recorded")
	assert.LessOrEqual(t, len(r.store.Calls()), 2*2*maxTries)
	require.NoError(t, rec.Flush(ctx), "reported once")
	r.store.Arm(nil)
	require.NoError(t, rec.Close(ctx))
}

// The answer of a write may get lost: another try stores no call twice, also of those that
// came without an ID and a time.
func TestATryThatWasStoredIsNotStoredAgain(t *testing.T) {
	r := newRig(t, nil, fast)
	rec := r.recorder()
	lies := 0
	r.store.Arm(func(c *testkit.StoreCall) error {
		if c.Method != "Append" || lies == 2 {
			return nil
		}
		lies++
		c.Lost = true
		return errDown
	})
	take(t, rec, backends.ToolCall{Tool: "x", Result: "one"}, backends.ToolCall{Tool: "x", Result: "two"})
	for rec.Flush(ctx) != nil {
	}
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, r.tool(t, "x").Calls, 2)
}

func TestOnlyCallsThatAreLostAreReported(t *testing.T) {
	r := newRig(t, nil)
	rec := r.recorder()
	take(t, rec, append(toolCalls("x", 0, 1), backends.ToolCall{Tool: "x", Result: "old", Time: start.AddDate(-1, 0, 0)}, backends.ToolCall{Tool: "x"})...)
	require.ErrorIs(t, rec.Close(ctx), backends.ErrInvalid)
	lost, others := r.lost()
	assert.Empty(t, others)
	require.Len(t, lost, 2)
	require.ErrorIs(t, r.errs[0], backends.ErrInvalid)
	require.ErrorContains(t, r.errs[0], "raise Config.Keep")
	assert.Len(t, r.tool(t, "x").Calls, 1)
	require.ErrorIs(t, rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: backends.Scope{UserID: "ann"}, Calls: toolCalls("x", 1, 2)}), backends.ErrNoScope)
	require.ErrorIs(t, rec.RecordCalls(ctx, nil), backends.ErrInvalid)
}

func TestAModelThatIsDownIsNotAskedWithEveryCall(t *testing.T) {
	m := testkit.New(testkit.Fail(errors.New("down")))
	r := newRig(t, m)
	rec := r.recorder()
	for n := range 10 {
		take(t, rec, toolCalls("a", 10*n, 10*n+10)...)
		require.NoError(t, rec.Flush(ctx), "no call is lost by it")
	}
	assert.Len(t, m.Calls(), 1)
	lost, others := r.lost()
	assert.Empty(t, lost)
	require.Len(t, others, 1)
	require.ErrorIs(t, others[0], backends.ErrUnavailable)
	r.clock.Advance(2 * refreshRest)
	take(t, rec, toolCalls("a", 100, 101)...)
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, m.Calls(), 2)
}

func TestRecordersOfOneToolLoseNoCall(t *testing.T) {
	one := newRig(t, nil)
	two := newRig(t, nil, beside(one))
	recorders := []*closing{one.recorder(), two.recorder()}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			list := toolCalls("x", 10*n, 10*n+11) // the last is the first of the next
			assert.NoError(t, recorders[n%2].RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: list}))
		})
	}
	all.Wait()
	for _, rec := range recorders {
		require.NoError(t, rec.Close(ctx))
	}
	got := one.tool(t, "x")
	assert.EqualValues(t, 201, got.Statistics.Total)
	assert.Len(t, got.Calls, 201)
	assert.NotEmpty(t, got.Guideline)
	assert.Empty(t, append(one.errs, two.errs...))
}

func BenchmarkRecord(b *testing.B) {
	r := newRig(b, nil)
	r.record(b, calls("search", 0, 100)...)
	n := 100
	for b.Loop() {
		n++
		r.record(b, call("search", n))
	}
}

func BenchmarkRecordCalls(b *testing.B) {
	r := newRig(b, nil, func(r *rig, _ *Config) { r.size = 1 << 20 })
	rec := r.recorder()
	list := toolCalls("search", 0, 1)
	for b.Loop() {
		take(b, rec, list...)
	}
	b.StopTimer()
	require.NoError(b, rec.Close(ctx))
}
