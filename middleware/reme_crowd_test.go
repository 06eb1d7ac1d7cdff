// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

// Many processes hear how a turn went, and all tell: it is learnt from once, though
// the model puts it in other words each time.
func TestAnOutcomeThatManyTellIsLearntFromOnce(t *testing.T) {
	db := openStore(t)
	var mems []*middleware.MemoryMiddleware
	var backend *reme.Backend
	for range 2 {
		b, err := reme.New(t.Context(), &reme.Config{Store: db, Model: &rewording{Learner: &testkit.Learner{}}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		mems, backend = append(mems, open(t, &middleware.Config{Backend: b})), b
	}
	days := []*day{{User: "ann"}, {User: "bob"}}
	desk := func(d *day) middleware.Scope {
		s := d.scope()
		s.Workspace = "desk"
		return s
	}
	for n, d := range days {
		agent := clerk(t, mems[0], testkit.New(testkit.Text(fmt.Sprintf("LESSON refunding | look into drawer %s", orderName(n)))))
		drain(t, agent.Query(middleware.WithScope(context.Background(), desk(d)), "Refund it."))
	}
	require.NoError(t, mems[0].Flush(t.Context()))
	var running sync.WaitGroup
	for n := range 32 {
		running.Go(func() {
			ctx := middleware.WithScope(context.Background(), desk(days[n%2]))
			_, err := mems[n/2%2].RecordOutcome(ctx, &backends.OutcomeRequest{Score: 1})
			assert.NoError(t, err)
		})
	}
	running.Wait()
	listed, err := backend.List(t.Context(), &backends.ListRequest{Scope: backends.Scope{Workspace: "desk"}})
	require.NoError(t, err)
	var learnt []string
	for i := range listed.Memories {
		learnt = append(learnt, reworded.ReplaceAllString(listed.Memories[i].Text, ""))
	}
	assert.ElementsMatch(t, []string{"look into drawer " + orderName(0), "look into drawer " + orderName(1)}, learnt)
}
