// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// gated is a store whose appends wait, or fail, as a test says.
type gated struct {
	store.Store
	gate      chan struct{} // nil: open
	fail      atomic.Pointer[error]
	lies      atomic.Int64 // appends that are stored and said to have failed
	appends   atomic.Int64
	refuses   string      // part of the names of logs that cannot be written
	meanwhile func()      // called in each append
	failed    func(int64) // called in each that fails, with how many there were
}

func newGated(t testing.TB) *gated {
	t.Helper()
	st, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Clock: newClock().Now})
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return &gated{Store: st}
}

func (g *gated) Append(c context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	g.appends.Add(1)
	if g.gate != nil {
		select {
		case <-g.gate:
		case <-c.Done():
			return nil, c.Err()
		}
	}
	if err := g.fail.Load(); err != nil {
		if g.failed != nil {
			g.failed(g.appends.Load())
		}
		return nil, *err
	}
	if g.meanwhile != nil {
		g.meanwhile()
	}
	if g.refuses != "" && strings.Contains(session, g.refuses) {
		return nil, fmt.Errorf("no room: %w", backends.ErrUnavailable)
	}
	s, err := g.Store.Append(c, p, session, a)
	if g.lies.Add(-1) >= 0 {
		return nil, fmt.Errorf("the answer was lost: %w", backends.ErrUnavailable)
	}
	return s, err
}

// losses collect what a recorder tells.
type losses struct {
	mu   sync.Mutex
	all  []error
	lost []toolmem.Call
}

func (l *losses) note(_ context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, err)
	var lost *toolmem.LostError
	if errors.As(err, &lost) {
		l.lost = append(l.lost, lost.Calls...)
	}
}

func toolCalls(tool string, from, upto int) []backends.ToolCall {
	var out []backends.ToolCall
	for n := from; n < upto; n++ {
		out = append(out, backends.ToolCall{ID: fmt.Sprint(tool, n), Tool: tool, Arguments: fmt.Sprintf(`{"q":%d}`, n), Result: fmt.Sprint("answer ", n), Took: time.Second, Time: start.Add(time.Duration(n) * time.Second)})
	}
	return out
}

func record(t testing.TB, rec *toolmem.Recorder, list []backends.ToolCall) {
	t.Helper()
	require.NoError(t, rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: list}))
}

func TestRecordersWriteAndRefreshBesideTheTool(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	rec := r.NewRecorder(nil)
	record(t, rec, toolCalls("search", 0, 9))
	require.NoError(t, rec.Flush(ctx))
	assert.Empty(t, m.Calls(), "9 of 10")
	record(t, rec, toolCalls("search", 9, 10))
	record(t, rec, toolCalls("fetch", 0, 3))
	require.NoError(t, rec.Flush(ctx))
	require.Len(t, m.Calls(), 1)
	got := r.tool(t, "search")
	assert.Len(t, got.Calls, 10)
	assert.Equal(t, "guideline 1 of search", got.Guideline)
	assert.Len(t, r.tool(t, "fetch").Calls, 3)
	record(t, rec, toolCalls("search", 0, 20)) // ten of them are known
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, r.tool(t, "search").Calls, 20)
	assert.Equal(t, "guideline 2 of search", r.tool(t, "search").Guideline, "Close refreshes, too")
	require.NoError(t, rec.Close(ctx), "twice")
	err := rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("search", 30, 31)})
	require.ErrorIs(t, err, backends.ErrUnavailable, "and none after it")
}

func TestARecorderNeverDelaysATool(t *testing.T) {
	g := newGated(t)
	g.gate = make(chan struct{})
	r := newRig(t, setup{store: g})
	rec := r.NewRecorder(nil)
	record(t, rec, toolCalls("search", 0, 50)) // returns while the store hangs
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, rec.Flush(short), context.Canceled)
	close(g.gate)
	require.NoError(t, rec.Flush(ctx))
	assert.Len(t, r.tool(t, "search").Calls, 50)
	require.NoError(t, rec.Close(ctx))
}

func TestAFullQueueWritesInTheWayOrSaysWhatIsLost(t *testing.T) {
	g := newGated(t)
	g.gate = make(chan struct{})
	r := newRig(t, setup{store: g})
	var lost losses
	never := r.NewRecorder(&toolmem.RecorderConfig{Queue: 5, Batch: 1, WriteTimeout: -1, OnError: lost.note})
	record(t, never, toolCalls("a", 0, 5))
	for g.appends.Load() == 0 { // the writer holds one: four wait
	}
	err := never.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("a", 5, 10)})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Len(t, lost.lost, 5, "told")
	inTheWay := r.NewRecorder(&toolmem.RecorderConfig{Queue: 1, WriteTimeout: time.Millisecond, OnError: lost.note})
	err = inTheWay.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("b", 0, 2)})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Len(t, lost.lost, 7)
	close(g.gate)
	require.ErrorIs(t, inTheWay.Flush(ctx), context.DeadlineExceeded, "Flush says it, too")
	require.NoError(t, inTheWay.Flush(ctx), "once")
	require.NoError(t, inTheWay.Close(ctx))
	patient := r.NewRecorder(&toolmem.RecorderConfig{Queue: 1, WriteTimeout: time.Hour})
	record(t, patient, toolCalls("b", 2, 4))
	assert.Len(t, r.tool(t, "b").Calls, 2, "written before it returns")
	require.NoError(t, patient.Close(ctx))
	require.NoError(t, never.Close(ctx))
	assert.Len(t, r.tool(t, "a").Calls, 5)
	assert.Len(t, r.tool(t, "b").Calls, 2)
	r.record(t, lost.lost...)
	assert.Len(t, r.tool(t, "a").Calls, 10, "what was lost can be recorded again")
}

func TestAStoreThatIsAwayIsTriedAgain(t *testing.T) {
	g := newGated(t)
	r := newRig(t, setup{store: g})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{Attempts: 3, Backoff: time.Microsecond, OnError: lost.note})
	down := fmt.Errorf("down: %w", backends.ErrUnavailable)
	g.fail.Store(&down)
	record(t, rec, toolCalls("a", 0, 2))
	require.ErrorIs(t, rec.Flush(ctx), backends.ErrUnavailable)
	assert.EqualValues(t, 3, g.appends.Load())
	assert.Len(t, lost.lost, 2)
	g.fail.Store(nil)
	record(t, rec, toolCalls("a", 2, 4))
	require.NoError(t, rec.Flush(ctx))
	assert.Len(t, r.tool(t, "a").Calls, 2)
	require.ErrorContains(t, lost.all[0], `2 calls of tools in workspace "team" are not recorded: `)
	require.NoError(t, rec.Close(ctx))
}

func TestFlushWaitsForWhatWasTakenAndNoLonger(t *testing.T) {
	const most = 300
	g := newGated(t)
	r := newRig(t, setup{store: g})
	rec := r.NewRecorder(&toolmem.RecorderConfig{Batch: 1, NoRefresh: true})
	var more atomic.Int64
	g.meanwhile = func() { // there is always one more
		if n := int(more.Add(1)); n < most {
			_ = rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("a", n, n+1)})
		}
	}
	record(t, rec, toolCalls("a", 0, 1))
	require.NoError(t, rec.Flush(ctx))
	assert.NotEmpty(t, r.tool(t, "a").Calls)
	assert.Less(t, g.appends.Load(), int64(most))
	require.NoError(t, rec.Close(ctx))
}

func TestWhoNeverFlushesKeepsNothingAlive(t *testing.T) {
	g := newGated(t)
	r := newRig(t, setup{store: g})
	down := fmt.Errorf("down: %w", backends.ErrUnavailable)
	g.fail.Store(&down)
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{Attempts: 1, Queue: 4, Batch: 1, WriteTimeout: time.Hour, OnError: lost.note})
	for n := range 100 {
		_ = rec.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: toolCalls("a", n, n+1)})
	}
	err := rec.Flush(ctx)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "and 96 more calls are not recorded")
	assert.Len(t, lost.lost, 100, "told of each")
	require.NoError(t, rec.Close(ctx))
}

func TestOnlyWhatIsLostIsSaidToBe(t *testing.T) {
	g := newGated(t)
	g.refuses = "tool/full/"
	r := newRig(t, setup{store: g})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{Backoff: time.Microsecond, OnError: lost.note})
	require.NoError(t, rec.Enqueue(ctx, team, call("full", 1), call("x", 1), toolmem.Call{Tool: "x"}, call(" full ", 2)))
	require.ErrorIs(t, rec.Close(ctx), backends.ErrUnavailable)
	assert.Len(t, r.tool(t, "x").Calls, 1)
	require.Len(t, lost.all, 2, "the one that cannot be kept is told of once, however often the others are tried")
	require.ErrorIs(t, lost.all[0], backends.ErrInvalid)
	require.ErrorContains(t, lost.all[1], "2 calls of tools")
	for _, c := range lost.lost[1:] {
		assert.Equal(t, "full", strings.TrimSpace(c.Tool))
	}
}

// A store that restarts is away for a while.
func TestCallsOutliveAnOutage(t *testing.T) {
	g := newGated(t)
	down := fmt.Errorf("down: %w", backends.ErrUnavailable)
	g.fail.Store(&down)
	r := newRig(t, setup{store: g})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{Backoff: time.Microsecond, OnError: lost.note})
	g.failed = func(n int64) {
		if n == 15 {
			g.fail.Store(nil)
		}
	}
	record(t, rec, toolCalls("a", 0, 2))
	require.NoError(t, rec.Flush(ctx))
	assert.Len(t, r.tool(t, "a").Calls, 2)
	broken := errors.New("no such table")
	g.fail.Store(&broken)
	before := g.appends.Load()
	record(t, rec, toolCalls("a", 2, 3))
	require.ErrorContains(t, rec.Flush(ctx), "no such table")
	assert.EqualValues(t, 3, g.appends.Load()-before, "what is broken is not waited for")
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, lost.lost, 1)
}

// The answer to a write may get lost: trying again keeps no call twice, also of those
// that came without an ID and a time.
func TestATryThatWasStoredIsNotStoredAgain(t *testing.T) {
	g := newGated(t)
	r := newRig(t, setup{store: g})
	rec := r.NewRecorder(&toolmem.RecorderConfig{Backoff: time.Microsecond})
	g.lies.Store(2)
	c := call("x", 1)
	c.Time = time.Time{}
	require.NoError(t, rec.Enqueue(ctx, team, c, call("x", 2)))
	require.NoError(t, rec.Close(ctx))
	assert.Len(t, r.tool(t, "x").Calls, 2)
}

// What was recorded is not read at each write: the store knows its IDs.
func TestARecorderReadsNoCalls(t *testing.T) {
	plain := newRig(t, setup{})
	plain.record(t, calls("search", 0, 8)...)
	f := &faulty{Store: plain.store, err: errors.New("nothing is read"), call: "Read"}
	r := newRig(t, setup{store: f})
	r.ids.Store(1000)
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{NoRefresh: true, OnError: lost.note})
	for range 2 { // again
		record(t, rec, toolCalls("search", 0, 3))
		require.NoError(t, rec.Flush(ctx))
	}
	require.NoError(t, rec.Close(ctx))
	assert.Empty(t, lost.all)
	assert.Zero(t, f.seen.Load())
	assert.Len(t, plain.tool(t, "search").Calls, 11)
}

func TestCloseCutsOffWhatHangs(t *testing.T) {
	g := newGated(t)
	g.gate = make(chan struct{})
	r := newRig(t, setup{store: g})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{Batch: 2, OnError: lost.note})
	record(t, rec, toolCalls("a", 0, 9))
	short, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, rec.Close(short), context.Canceled)
	assert.Len(t, lost.lost, 9, "told of each")
}

func TestCallsThatCannotBeKeptAreTold(t *testing.T) {
	r := newRig(t, setup{})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{OnError: lost.note})
	require.NoError(t, rec.Enqueue(ctx, team, toolmem.Call{Tool: "x"}, call("x", 1)))
	require.NoError(t, rec.Close(ctx))
	require.Len(t, lost.all, 1)
	require.ErrorIs(t, lost.all[0], backends.ErrInvalid)
	assert.Len(t, r.tool(t, "x").Calls, 1)
	require.ErrorIs(t, rec.Enqueue(ctx, backends.Scope{UserID: "ann"}, call("x", 2)), backends.ErrNoScope)
	require.ErrorIs(t, rec.RecordCalls(ctx, nil), backends.ErrInvalid)
	require.NoError(t, rec.Enqueue(ctx, team), "nothing to take")
}

func TestAModelThatIsAwayIsNotAskedWithEveryCall(t *testing.T) {
	m := answering(func(string, string) (string, error) { return "", errors.New("down") })
	r := newRig(t, setup{model: m})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{OnError: lost.note})
	for n := range 10 {
		record(t, rec, toolCalls("a", 10*n, 10*n+10))
		require.NoError(t, rec.Flush(ctx), "no call is lost by it")
	}
	assert.Len(t, m.Calls(), 1)
	require.Len(t, lost.all, 1)
	require.ErrorIs(t, lost.all[0], backends.ErrUnavailable)
	r.clock.Advance(2 * time.Minute)
	record(t, rec, toolCalls("a", 100, 101))
	require.NoError(t, rec.Flush(ctx))
	assert.Len(t, m.Calls(), 2)
	require.NoError(t, rec.Close(ctx))
}

func TestGuidelinesCanBeLeftToOthers(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	rec := r.NewRecorder(&toolmem.RecorderConfig{NoRefresh: true})
	record(t, rec, toolCalls("a", 0, 50))
	require.NoError(t, rec.Close(ctx))
	assert.Empty(t, m.Calls())
}

func TestPanicsOfOthersEndNothing(t *testing.T) {
	r := newRig(t, setup{change: func(c *toolmem.Config) {
		c.Redact = func(s string) string {
			if s == "answer 1" {
				panic("boo")
			}
			return s
		}
	}})
	var lost losses
	rec := r.NewRecorder(&toolmem.RecorderConfig{Batch: 1, Attempts: 1, OnError: func(c context.Context, err error) { lost.note(c, err); panic("again") }})
	record(t, rec, toolCalls("a", 0, 3))
	require.ErrorContains(t, rec.Flush(ctx), "boo")
	assert.Len(t, lost.lost, 1)
	assert.Len(t, r.tool(t, "a").Calls, 2)
	require.NoError(t, rec.Close(ctx))
}

// Nobody could recover a panic of the goroutines that a request is divided between.
func TestARedactorThatPanicsIsAnError(t *testing.T) {
	on := ""
	boo := func(c *toolmem.Config) {
		c.Judge = true
		c.Redact = func(s string) string {
			if on != "" && strings.Contains(s, on) {
				panic("boo")
			}
			return s
		}
	}
	m := answering(func(tool, _ string) (string, error) {
		if tool == "tool_judge" {
			return `{"verdicts":[{"n":0,"score":1,"summary":"verdict","evaluation":"verdict"}]}`, nil
		}
		return `{"guideline":"a text"}`, nil
	})
	r := newRig(t, setup{model: m, change: boo})
	on = "verdict"
	resp := r.record(t, call("a", 1))
	assert.Equal(t, 1, resp.Tools[0].Added, "no call is lost by it")
	require.ErrorContains(t, resp.Report.Err(), "boo")
	on = "a text"
	summary, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Tools: []string{"a"}, Force: true})
	require.ErrorContains(t, err, "boo")
	assert.Equal(t, toolmem.OutcomeFailed, summary.Tools[0].Outcome)
	on = ""
	r.load(t, "loaded", "Guideline.", `[{"tool_name":"loaded","input":"verdict","output":"x"}]`)
	on = "verdict"
	_, err = r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Tools: []string{"loaded"}})
	require.ErrorContains(t, err, "boo")
}
