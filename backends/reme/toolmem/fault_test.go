// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
)

const maxAge = 90 * 24 * time.Hour

// faulty is a store whose calls of one name fail from the after-th on.
type faulty struct {
	store.Store
	call  string
	after int64
	err   error
	seen  atomic.Int64
}

func (f *faulty) fails(call string) error {
	if f.call != call || f.seen.Add(1) <= f.after {
		return nil
	}
	return f.err
}

func (f *faulty) Apply(c context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := f.fails("Apply"); err != nil {
		return nil, err
	}
	return f.Store.Apply(c, p, b)
}

func (f *faulty) Get(c context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if err := f.fails("Get"); err != nil {
		return nil, err
	}
	return f.Store.Get(c, p, ids...)
}

func (f *faulty) Changes(c context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if err := f.fails("Changes"); err != nil {
		return nil, err
	}
	return f.Store.Changes(c, p, cursor)
}

func (f *faulty) Append(c context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	if err := f.fails("Append"); err != nil {
		return nil, err
	}
	return f.Store.Append(c, p, id, a)
}

func (f *faulty) Session(c context.Context, p backends.Partition, id string) (*store.Session, error) {
	if err := f.fails("Session"); err != nil {
		return nil, err
	}
	return f.Store.Session(c, p, id)
}

func (f *faulty) Read(c context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	if err := f.fails("Read"); err != nil {
		return nil, err
	}
	return f.Store.Read(c, p, id, r)
}

func (f *faulty) List(c context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	if err := f.fails("List"); err != nil {
		return nil, err
	}
	return f.Store.List(c, q)
}

func (f *faulty) Delete(c context.Context, p backends.Partition, id string) error {
	if err := f.fails("Delete"); err != nil {
		return err
	}
	return f.Store.Delete(c, p, id)
}

func TestAStoreThatFailsIsAnErrorAndLeavesAllValid(t *testing.T) {
	down := fmt.Errorf("disk full: %w", backends.ErrUnavailable)
	record := func(r *rig) error {
		_, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: calls("new", 0, 12)})
		return err
	}
	summarize := func(r *rig) error {
		_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
		return err
	}
	retrieve := func(q toolmem.RetrieveRequest) func(r *rig) error {
		q.Scope = team
		return func(r *rig) error { _, err := r.Retrieve(ctx, &q); return err }
	}
	for _, tc := range []struct {
		name  string
		fails []string
		call  func(*rig) error
	}{
		{"Record", []string{"Session", "Append"}, record},
		{"Summarize", []string{"List", "Get", "Session", "Read", "Apply"}, summarize},
		{"Retrieve by name", []string{"Get", "Session", "Read"}, retrieve(toolmem.RetrieveRequest{ToolNames: "old"})},
		{"Retrieve by query", []string{"Changes", "Get", "Session", "Read"}, retrieve(toolmem.RetrieveRequest{Query: "guideline of old"})},
		{"Names", []string{"List", "Changes"}, func(r *rig) error { _, err := r.Names(ctx, team); return err }},
		{"Forget", []string{"Delete", "Get", "Apply"}, func(r *rig) error { return r.Forget(ctx, team, "old") }},
	} {
		for _, call := range tc.fails {
			for after := range int64(2) {
				t.Run(fmt.Sprintf("%s when %s fails after %d", tc.name, call, after), func(t *testing.T) {
					plain := newRig(t, setup{model: writer(t)})
					plain.record(t, calls("old", 0, 12)...)
					plain.force(t)
					f := &faulty{Store: plain.store, err: down, after: after, call: call}
					r := newRig(t, setup{store: f, model: writer(t)})
					r.ids.Store(1000)
					err := tc.call(r)
					if f.seen.Load() <= after {
						require.NoError(t, err, "it came that far without")
						return
					}
					require.ErrorIs(t, err, backends.ErrUnavailable)
					require.NotErrorIs(t, err, backends.ErrNotFound)
					if tc.name != "Forget" {
						assert.Len(t, plain.memories(t), 1)
						assert.Len(t, plain.tool(t, "old").Calls, 12, "what was there is there")
						assert.Contains(t, plain.tool(t, "old").Guideline, "guideline 1")
					}
					f.call = ""
					require.NoError(t, tc.call(r), "and it works once the store does")
				})
			}
		}
	}
}

// Only part of a request can be stored: the response says which.
func TestAPartlyStoredRequestSaysWhatIsStored(t *testing.T) {
	plain := newRig(t, setup{})
	f := &faulty{Store: plain.store, err: fmt.Errorf("down: %w", backends.ErrUnavailable), after: 1, call: "Append"}
	r := newRig(t, setup{store: f})
	old := call("x", 0)
	old.ID, old.Time = "old", start.AddDate(0, -1, 0)
	recent := call("x", 1)
	recent.ID = "recent"
	req := &toolmem.RecordRequest{Scope: team, Calls: []toolmem.Call{recent, old}}
	resp, err := r.Record(ctx, req)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, 1, resp.Tools[0].Added)
	require.ErrorIs(t, resp.Tools[0].Err, backends.ErrUnavailable)
	require.Error(t, resp.Report.Err())
	f.call = ""
	resp, err = r.Record(ctx, req)
	require.NoError(t, err)
	assert.Equal(t, toolmem.ToolRecord{Tool: "x", Added: 1, Known: 1}, resp.Tools[0], "a repeat stores the rest")
}

// That it cannot be told what is due is no error of recording.
func TestAFailedLookForWhatIsDueLosesNoCall(t *testing.T) {
	plain := newRig(t, setup{})
	f := &faulty{Store: plain.store, err: fmt.Errorf("down: %w", backends.ErrUnavailable), call: "Get"}
	r := newRig(t, setup{store: f})
	resp, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: calls("x", 0, 12)})
	require.NoError(t, err)
	assert.Equal(t, 12, resp.Tools[0].Added)
	assert.Empty(t, resp.Due)
	require.ErrorIs(t, resp.Report.Stage(toolmem.StageDue).Err, backends.ErrUnavailable)
}

// A race that is always lost ends.
func TestConflictsAreBounded(t *testing.T) {
	plain := newRig(t, setup{})
	f := &faulty{Store: plain.store, err: fmt.Errorf("somebody was faster: %w", backends.ErrConflict), call: "Apply"}
	r := newRig(t, setup{store: f})
	r.record(t, calls("x", 0, 3)...)
	resp, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
	require.ErrorIs(t, err, backends.ErrConflict)
	assert.Equal(t, toolmem.OutcomeFailed, resp.Tools[0].Outcome)
	assert.EqualValues(t, 4, f.seen.Load())
	f.after, f.call = f.seen.Load()+2, ""
	require.NoError(t, func() error {
		_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
		return err
	}())
}

// What is no call in a log of calls, as a message that somebody put there, harms
// nothing.
func TestStrangeMessagesInALogAreLeftOut(t *testing.T) {
	r := newRig(t, setup{})
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	r.record(t, call("x", 0))
	_, err = r.store.Append(ctx, p, "tool/x/2026-03", &store.Append{Entries: []store.Entry{{Message: message("not JSON")}}, Learnt: true})
	require.NoError(t, err)
	_, err = r.store.Append(ctx, p, "tool/broken%zz/2026-03", &store.Append{Entries: []store.Entry{{Message: message("x")}}, Learnt: true})
	require.NoError(t, err)
	got := r.tool(t, "x")
	assert.Len(t, got.Calls, 1)
	found, err := r.Names(ctx, team)
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, found)
}
