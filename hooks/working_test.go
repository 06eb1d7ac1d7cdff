// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// learner is a backend that keeps what it is given to learn from.
type learner struct {
	backend
	mu     sync.Mutex
	learnt []string
}

func (l *learner) Add(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range r.Messages {
		l.learnt = append(l.learnt, line(m.Message))
	}
	return &backends.AddResponse{}, nil
}

// The log of package working behind the hooks: a turn is interrupted in one
// process and completed in another, and is learnt from once, as a whole.
func TestAResumedTurnIsLearntFromOnce(t *testing.T) {
	for _, how := range []string{"runner", "middleware"} {
		t.Run(how, func(t *testing.T) {
			ctx := context.Background()
			path, points, chat, l := filepath.Join(t.TempDir(), "m.db"), &testkit.Checkpoints{}, approvalModel(), &learner{}
			process := func(step func(run *adk.Runner, wrapped *hooks.Runner), learnt []string) {
				db, err := sqlitestore.Open(ctx, path, nil)
				require.NoError(t, err)
				log, err := working.New(ctx, &working.Config{Sessions: db, Backend: l, Sweep: -1, Idle: time.Hour, OpenTurn: time.Hour})
				require.NoError(t, err)
				m := newMemory(t, func(c *hooks.Config) { c.Backend = l; c.Log = log; c.IDs = nil })
				change := m.with
				if how == "runner" {
					change = nil
				}
				inner := newRunner(newAgent(t, "a", chat, change, askTool(t)), true, points)
				step(inner, m.WrapRunner(inner))
				if learnt != nil {
					require.NoError(t, log.Flush(ctx))
				}
				require.Equal(t, learnt, l.learnt)
				require.NoError(t, log.Close(ctx))
				require.NoError(t, db.Close())
				m.fine(t)
			}
			process(func(run *adk.Runner, wrapped *hooks.Runner) {
				if how == "runner" {
					drain(t, wrapped.Query(ctx, "hi", adk.WithCheckPointID("cp")))
				} else {
					drain(t, run.Query(ctx, "hi", adk.WithCheckPointID("cp")))
				}
			}, nil)
			process(func(run *adk.Runner, wrapped *hooks.Runner) {
				resume := run.Resume
				if how == "runner" {
					resume = wrapped.Resume
				}
				it, err := resume(ctx, "cp")
				require.NoError(t, err)
				drain(t, it)
			}, approved)
		})
	}
}
