// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
)

// naive is what a memory of tools must know, kept in maps.
type naive struct {
	calls   map[string]map[string]time.Time // by tool and id: when it began
	covered map[string]int                  // calls that a tool's guideline knows of
	written map[string]bool
}

func newNaive() *naive {
	return &naive{calls: map[string]map[string]time.Time{}, covered: map[string]int{}, written: map[string]bool{}}
}

// Whatever is recorded, summarised and forgotten in whatever order, the memory knows
// what a map would know.
func TestAMemoryKnowsWhatAMapWould(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, setup{change: func(c *toolmem.Config) { c.RefreshAfter = 3 }})
		model := newNaive()
		tools := []string{"search", "a/b", "搜索"}
		tool := rapid.SampledFrom(tools)
		rt.Repeat(map[string]func(*rapid.T){
			"record": func(rt *rapid.T) { model.record(rt, r, tool) },
			"summarize": func(rt *rapid.T) {
				name, force := tool.Draw(rt, "tool"), rapid.Bool().Draw(rt, "force")
				model.summarize(rt, r, name, force)
			},
			"forget": func(rt *rapid.T) {
				name := tool.Draw(rt, "tool")
				require.NoError(rt, r.Forget(ctx, team, name))
				delete(model.calls, name)
				delete(model.covered, name)
				delete(model.written, name)
			},
			"": func(rt *rapid.T) { model.check(rt, r, tools) },
		})
	})
}

func (n *naive) record(rt *rapid.T, r *rig, tool *rapid.Generator[string]) {
	var list []toolmem.Call
	added := map[string]int{}
	for range rapid.IntRange(1, 6).Draw(rt, "calls") {
		name, id := tool.Draw(rt, "tool"), fmt.Sprint("c", rapid.IntRange(0, 30).Draw(rt, "id"))
		// An id has one time, as a call has: so it has one log.
		when := start.Add(-time.Duration(len(id)*int(id[len(id)-1])) * 11 * time.Hour)
		list = append(list, toolmem.Call{ID: id, Tool: name, Time: when, Input: id, Output: "ok"})
		if n.calls[name] == nil {
			n.calls[name] = map[string]time.Time{}
		}
		if _, known := n.calls[name][id]; !known {
			added[name]++
		}
		n.calls[name][id] = when
	}
	resp, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: list})
	require.NoError(rt, err)
	require.Empty(rt, resp.Rejected)
	due := map[string]bool{}
	for _, line := range resp.Tools {
		require.Equal(rt, added[line.Tool], line.Added, line.Tool)
		require.Zero(rt, line.Repeated, "all inputs differ")
		if line.Added > 0 && len(n.calls[line.Tool])-n.covered[line.Tool] >= 3 {
			due[line.Tool] = true
		}
	}
	require.ElementsMatch(rt, slices.Collect(maps.Keys(due)), resp.Due)
}

func (n *naive) summarize(rt *rapid.T, r *rig, name string, force bool) {
	resp, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Tools: []string{name}, Force: force})
	unseen := len(n.calls[name]) - n.covered[name]
	want := toolmem.OutcomeWritten
	switch {
	case len(n.calls[name]) == 0:
		require.ErrorIs(rt, err, backends.ErrNotFound)
		want = toolmem.OutcomeUnknown
	case !force && unseen == 0 && n.written[name]:
		want = toolmem.OutcomeUnchanged
	case !force && unseen < 3:
		want = toolmem.OutcomeNotDue
	}
	if want != toolmem.OutcomeUnknown {
		require.NoError(rt, err)
	}
	require.Equal(rt, want, resp.Tools[0].Outcome)
	if want == toolmem.OutcomeWritten {
		n.covered[name], n.written[name] = len(n.calls[name]), true
	}
}

func (n *naive) check(rt *rapid.T, r *rig, tools []string) {
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Tools: tools, WithCalls: true, Last: 1000})
	var unknown []string
	for _, name := range tools {
		if len(n.calls[name]) == 0 {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == len(tools) {
		require.True(rt, errors.Is(err, backends.ErrNotFound))
	} else {
		require.NoError(rt, err)
	}
	require.Equal(rt, unknown, resp.Unknown)
	written := 0
	for _, got := range resp.Tools {
		want := n.calls[got.Name]
		require.Len(rt, got.Calls, len(want))
		for i, c := range got.Calls {
			when, known := want[c.ID]
			require.True(rt, known && when.Equal(c.Time), c.ID)
			require.True(rt, i == 0 || !c.Time.Before(got.Calls[i-1].Time), "oldest first")
		}
		require.EqualValues(rt, len(want), got.Statistics.Total)
		require.EqualValues(rt, len(want)-n.covered[got.Name], got.New)
		require.Equal(rt, n.written[got.Name], got.Guideline != "")
		require.Equal(rt, n.written[got.Name], got.Memory != nil)
		if got.Memory != nil {
			written++
		}
	}
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(rt, err)
	all, err := r.keeper.All(ctx, p)
	require.NoError(rt, err)
	require.Len(rt, all, written, "one record a tool")
}
