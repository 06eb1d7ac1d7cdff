// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
)

// The draft of who comes second is put aside if the other one knew of the same calls.
func TestDEF18TwoSummariesAtOnceLeaveOneRecord(t *testing.T) {
	r := newRig(t, setup{model: writer(t)})
	r.record(t, calls("x", 0, 10)...)
	q := &toolmem.SummaryRequest{Scope: team, Tools: []string{"x"}}
	first, err := r.Draft(ctx, q)
	require.NoError(t, err)
	second, err := r.Draft(ctx, q)
	require.NoError(t, err)
	assert.Empty(t, r.memories(t), "a draft writes nothing")
	one, err := r.Store(ctx, first)
	require.NoError(t, err)
	two, err := r.Store(ctx, second)
	require.NoError(t, err)
	assert.Equal(t, toolmem.OutcomeWritten, one.Tools[0].Outcome)
	assert.Equal(t, toolmem.OutcomeUnchanged, two.Tools[0].Outcome)
	assert.Contains(t, two.Tools[0].Memory.Text, "guideline 1", "what stands")

	r.record(t, calls("x", 10, 20)...)
	older, err := r.Draft(ctx, q)
	require.NoError(t, err)
	r.record(t, calls("x", 20, 30)...)
	newer, err := r.Draft(ctx, q)
	require.NoError(t, err)
	_, err = r.Store(ctx, newer)
	require.NoError(t, err)
	two, err = r.Store(ctx, older)
	require.NoError(t, err)
	assert.Equal(t, toolmem.OutcomeUnchanged, two.Tools[0].Outcome)
	assert.Contains(t, r.tool(t, "x").Guideline, "guideline 4")

	var all sync.WaitGroup
	var written atomic.Int64
	r.record(t, calls("x", 30, 40)...)
	for range 8 {
		all.Go(func() {
			resp, err := r.Summarize(ctx, q)
			assert.NoError(t, err)
			if resp.Tools[0].Outcome == toolmem.OutcomeWritten {
				written.Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, written.Load())
	assert.Len(t, r.memories(t), 1)
}

// overtaking is a store in which somebody is faster between a look and a write.
type overtaking struct {
	store.Store
	first func() // before the next write
}

func (o *overtaking) Apply(c context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if f := o.first; f != nil {
		o.first = nil
		f()
	}
	return o.Store.Apply(c, p, b)
}

// Who loses the race between look and write looks again, for a first guideline as for
// a later one.
func TestDEF18WhoIsOvertakenLooksAgain(t *testing.T) {
	other := newRig(t, setup{model: writer(t)})
	o := &overtaking{Store: other.store}
	r := newRig(t, setup{store: o, model: writer(t)})
	for n := range 2 {
		other.record(t, calls("x", 10*n, 10*n+10)...)
		o.first = func() { other.force(t, "x") }
		got := r.force(t, "x").Tools[0]
		assert.Equal(t, toolmem.OutcomeUnchanged, got.Outcome)
		assert.Contains(t, got.Memory.Text, fmt.Sprintf("guideline %d of x", n+1))
		p, err := team.Partition(backends.PartitionWorkspace)
		require.NoError(t, err)
		events, err := r.keeper.History(ctx, p, got.Memory.ID)
		require.NoError(t, err)
		assert.Len(t, events, n+1, "written once")
	}
	o.first = func() { // with fewer calls than the draft knows of
		p, err := team.Partition(backends.PartitionWorkspace)
		require.NoError(t, err)
		text := "by hand"
		_, err = other.keeper.Update(ctx, p, &backends.UpdateRequest{ID: other.memories(t)[0].ID, Text: &text})
		require.NoError(t, err)
	}
	other.record(t, calls("x", 20, 30)...)
	got := r.force(t, "x").Tools[0]
	assert.Equal(t, toolmem.OutcomeWritten, got.Outcome)
	assert.Equal(t, r.memories(t)[0].Version, got.Memory.Version)
}
