// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
)

// shelf is a library of n memories that belong together.
func shelf(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `{"workspace_id":"lab","memory_id":"%s%d","memory_type":"task","when_to_use":"shelf %s book %d","content":"read page %d of %s"}`+"\n", name, i, name, i, i, name)
	}
	return out.String()
}

// While agents learn, count, record and ask, others load libraries over the workspace,
// copy it, dump it, and forget in it: each call succeeds or is told of a conflict, each
// dump is of one moment, and the workspace is whole at the end.
func TestAWorkspaceIsLoadedWhileAgentsLearn(t *testing.T) {
	const books = 40
	db := open(t)
	one, _ := newBackend(t, db, settled)
	two, _ := newBackend(t, db, settled)
	require.NoError(t, only(one.Library().Load(t.Context(), &reme.LoadRequest{Scope: ann}, strings.NewReader(shelf("first", books)))))
	fine := func(what string, err error) bool {
		t.Helper()
		return err == nil || errors.Is(err, backends.ErrConflict) && assert.NotErrorIs(t, err, backends.ErrUnavailable, what) || assert.NoError(t, err, what)
	}
	var running sync.WaitGroup
	for n := range 64 {
		b := []*reme.Backend{one, two}[n%2]
		running.Go(func() {
			ctx := t.Context()
			switch n % 8 {
			case 0:
				fine("load", only(b.Library().Load(ctx, &reme.LoadRequest{Scope: ann}, strings.NewReader(shelf(fmt.Sprint("s", n), books)))))
			case 1:
				var dump bytes.Buffer
				fine("dump", only(b.Library().Dump(ctx, &reme.DumpRequest{Scope: ann}, &dump)))
				for name, held := range shelves(dump.String()) {
					assert.Equal(t, books, held, "half of shelf %s", name)
				}
			case 2:
				fine("copy", only(b.Library().Copy(ctx, &reme.CopyRequest{From: ann, To: backends.Scope{Workspace: fmt.Sprint("copy", n)}})))
			case 3:
				fine("forget", only(b.Task().Forget(ctx, &task.ForgetRequest{Scope: ann})))
			case 4:
				fine("search", only(b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "shelf first book"})))
			case 5:
				_, err := b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: []tool.Call{{ID: fmt.Sprint(n), Tool: "t", Input: "x", Output: "y", Time: annual}}})
				assert.NoError(t, err)
			default:
				fine("learn", only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted(fmt.Sprint("task", n), fmt.Sprint("lesson", n), 1)}})))
			}
		})
	}
	running.Wait()
	tools, err := one.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: ann, Tools: []string{"t"}})
	require.NoError(t, err)
	assert.EqualValues(t, 8, tools.Tools[0].Statistics.Total, "loads leave the calls of tools alone")
	var last bytes.Buffer
	require.NoError(t, only(two.Library().Dump(t.Context(), &reme.DumpRequest{Scope: ann}, &last)))
	whole := shelves(last.String())
	require.Len(t, whole, 1, "a load replaces")
	for _, held := range whole {
		require.Equal(t, books, held)
	}
}

// shelves counts the memories of each shelf in a dump.
func shelves(dump string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(dump) {
		if _, rest, ok := strings.Cut(line, `"shelf `); ok {
			name, _, _ := strings.Cut(rest, " ")
			out[name]++
		}
	}
	return out
}
