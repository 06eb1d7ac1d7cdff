// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

func TestMain(m *testing.M) {
	testkit.RunChild(child)
	goleak.VerifyTestMain(m)
}

// life is what a child process does: it drafts, applies a plan or takes it back, and is killed
// before or after a step, which is a call of the store.
type life struct {
	Store string // a file, or the URL of a server
	Role  string
	Plan  *reflection.Plan
	Step  int // 0: it is not killed
}

func child(spec string) error {
	l, ctx := &life{}, context.Background()
	err := json.Unmarshal([]byte(spec), l)
	if err != nil {
		return err
	}
	var db store.Store
	if strings.HasPrefix(l.Store, "redis:") {
		db, err = redisstore.Open(ctx, l.Store, nil)
	} else {
		db, err = sqlitestore.Open(ctx, l.Store, nil)
	}
	if err != nil {
		return err
	}
	steps := 0
	step := func() {
		if steps++; steps == l.Step {
			testkit.Die()
		}
	}
	spy := testkit.Spy(db)
	spy.Arm(func(c *testkit.StoreCall) error {
		c.Before, c.After = step, step
		return nil
	})
	backend, err := mem0.New(ctx, &mem0.Config{Store: spy})
	if err != nil {
		return err
	}
	r, err := reflection.New(&reflection.Config{Backend: backend})
	if err != nil {
		return err
	}
	switch l.Role {
	case "draft":
		_, err = r.Draft(ctx, &reflection.Request{Scope: ann})
	case "apply":
		_, err = r.Apply(ctx, l.Plan, false)
	case "undo":
		_, err = r.Undo(ctx, ann, l.Plan.ID, false)
	}
	fmt.Println("steps", steps)
	return err
}

// run lets a child live, and reports whether it was killed.
func (l *life) run(t testing.TB) (killed bool) {
	c := testkit.StartChild(t, asJSON(t, l))
	c.Rest()
	return c.Wait(t)
}

// A process that is killed at any call of the store leaves everything as it was, or as it is to
// be, and the next one ends what it began.
func TestAKillLeavesAWholePlanOrNone(t *testing.T) {
	testkit.SlowUnderRace(t)
	everyStep := func(t *testing.T, at string, db store.Store) {
		clock := testkit.NewClock()
		clock.Set(backends.SystemClock().Add(time.Hour)) // children go by the real one
		w := open(t, db, clock, nil)
		c := readCorpus(t, "zh")
		c.fill(t, db, clock.Now())
		before := w.active()
		(&life{Store: at, Role: "draft"}).run(t)
		version := w.version()
		plan := w.draft()
		w.apply(plan)
		after := w.active()
		_, err := w.Undo(t.Context(), ann, plan.ID, false)
		require.NoError(t, err)
		require.Equal(t, before, w.active())
		kills := map[string]int{}
		for _, role := range []string{"draft", "apply", "undo"} {
			for step := 1; ; step++ {
				plan.ID = fmt.Sprint(role, step)
				if role == "undo" {
					w.apply(plan)
				}
				l := &life{at, role, plan, step}
				killed := l.run(t)
				now := w.active()
				if len(now) != len(before) {
					require.Equal(t, len(after), len(now), "%s, step %d", role, step)
				}
				l.Step = 0
				switch role {
				case "draft":
					require.Equal(t, before, now)
				case "apply":
					l.run(t)
					require.Len(t, w.active(), len(after))
					_, err := w.Undo(t.Context(), ann, plan.ID, false)
					require.NoError(t, err)
				case "undo":
					if len(now) == len(after) {
						l.run(t)
					}
				}
				require.Equal(t, before, w.active(), "%s, step %d", role, step)
				if !killed {
					break
				}
				kills[role]++
			}
		}
		require.Greater(t, w.version(), version)
		require.GreaterOrEqual(t, min(kills["draft"], kills["apply"], kills["undo"]), 4)
		t.Logf("killed at each of %v steps", kills)
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		everyStep(t, path, testkit.File(t, path))
	})
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		c, ok := open(t).(*redis.Client)
		if !ok {
			t.Skip("a child opens a single server")
		}
		everyStep(t, fmt.Sprintf("redis://%s/%d", c.Options().Addr, c.Options().DB), testkit.Redis(t, c))
	})
}
