// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

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
	"github.com/einomem/einomem/backends/reme"
	toolmem "github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// However Redis fails under an agent with reme: the agent refunds on, OnError hears of
// it, and once Redis is back every turn is learnt from once and every call is there.
func TestHoweverRedisFailsReMeLearnsOnce(t *testing.T) {
	for _, name := range []string{"refuses connections", "loses replies", "is out of memory", "is killed", "forbids scripts", "cuts connections"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			outage := interruptions(s)[name]
			db := s.store()
			var mu sync.Mutex
			var told []error
			lost := map[string]bool{}
			cfg := &reme.Config{Store: db, Model: &rewording{Learner: &testkit.Learner{}}, Verdict: reme.VerdictOf("refund", "passed")}
			cfg.Tools.Backoff, cfg.Tools.NoRefresh = time.Millisecond, true
			cfg.OnError = func(_ context.Context, err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err)
				if e := new(toolmem.LostError); errors.As(err, &e) {
					for i := range e.Calls {
						lost[fmt.Sprint(e.Calls[i].Input)] = true
					}
				}
			}
			b, err := reme.New(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
			mem := open(t, &middleware.Config{
				Backend: b, Mode: modes.Both, SearchTimeout: 200 * time.Millisecond,
				Working: &working.Config{Backoff: time.Millisecond, Idle: time.Millisecond, Sweep: -1, Lease: 300 * time.Millisecond, MaxTurns: 2},
				OnError: func(_ context.Context, _ string, err error) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, err)
				},
			})
			d := &day{User: "ann", Orders: 5}
			ctx := middleware.WithScope(context.Background(), d.scope())
			d.turn(t, mem, 0)
			require.NoError(t, mem.Flush(ctx))
			outage.begin(t)
			d.turn(t, mem, 1)
			d.turn(t, mem, 2)
			outage.end(t)
			d.turn(t, mem, 3)
			settled, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			for mem.Flush(settled) != nil {
				require.NoError(t, settled.Err())
			}
			_, err = mem.Working().Consolidate(settled, d.scope())
			require.NoError(t, err)

			d.Orders = 4
			require.Equal(t, 4, d.turns(t, db))
			d.learntOnce(t, b, db)
			mu.Lock()
			defer mu.Unlock()
			got, err := b.Tools().Retrieve(ctx, &toolmem.RetrieveRequest{Scope: d.scope(), Tools: []string{"refund"}, WithCalls: true})
			require.NoError(t, err)
			for _, c := range got.Tools[0].Calls {
				lost[fmt.Sprint(c.Input)] = true
			}
			assert.LessOrEqual(t, len(got.Tools[0].Calls), 4, "each once")
			assert.Len(t, lost, 4, "each is kept, or told of as lost")
			for _, err := range told {
				assert.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint(err))
			}
		})
	}
}
