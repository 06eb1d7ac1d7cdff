// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// processes are processes that follow each other on one storage, each with a scripted learner.
type processes struct {
	open func(t *testing.T) store.Store
}

// eachStorage runs a test on a file, and on an imitation of Redis.
func eachStorage(t *testing.T, test func(t *testing.T, p processes)) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "memory.db")
		test(t, processes{func(t *testing.T) store.Store { return testkit.File(t, path) }})
	})
	t.Run("redis", func(t *testing.T) {
		m := miniredis.RunT(t)
		test(t, processes{func(t *testing.T) store.Store {
			c := redis.NewClient(&redis.Options{Addr: m.Addr(), ContextTimeoutEnabled: true})
			t.Cleanup(func() { _ = c.Close() })
			return testkit.Redis(t, c)
		}})
	})
}

// run runs a process, which learns when it is told to.
func (p processes) run(t *testing.T, what string, cfg *middleware.Config, do func(t *testing.T, mem *middleware.MemoryMiddleware, b *mem0.Backend)) {
	t.Run(what, func(t *testing.T) {
		b, err := mem0.New(t.Context(), &mem0.Config{Store: p.open(t), Model: testkit.New(testkit.Learn)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		c := *cfg
		c.Backend, c.Working = b, &working.Config{Idle: time.Hour, Sweep: -1}
		do(t, open(t, &c), b)
	})
}

// notesLack requires that no model is shown a text, asked three times, and by search_memory, and
// that no search finds it.
func notesLack(t *testing.T, mem *middleware.MemoryMiddleware, text string) {
	t.Helper()
	for i, question := range []string{"Where do I live? Is it " + text + "?", "Tell me what you know about ann and " + text, "What is lovely?"} {
		_, m := ask(t, as("ann", fmt.Sprint("later", i)), mem, question, testkit.Call("1", "search_memory", `{"keywords":["`+text+`","lives","lovely"]}`), testkit.Text("I do not know."))
		for _, call := range m.Calls() {
			for _, line := range call {
				if line.Content != question {
					require.NotContains(t, line.Content, text)
				}
			}
		}
	}
	found, err := mem.Search(t.Context(), &backends.SearchRequest{Scope: middleware.Scope{UserID: "ann"}, Query: text + " lives lovely"})
	require.NoError(t, err)
	for _, h := range found.Hits {
		require.NotContains(t, h.Text, text)
	}
}

// factOf returns the fact of ann's that has a text.
func factOf(t *testing.T, b backends.Manager, text string) backends.Memory {
	t.Helper()
	for _, m := range listed(t, b, middleware.Scope{UserID: "ann"}, backends.KindFact) {
		if strings.Contains(m.Text, text) {
			return m
		}
	}
	require.Fail(t, "no fact has it", text)
	return backends.Memory{}
}

// A fact that is deleted or corrected does not come back as the sentence that taught it, nor as the
// answer that repeated it; what else the turn taught stays.
func TestADeletedFactDoesNotComeBackAsWhatWasSaid(t *testing.T) {
	testkit.SlowUnderRace(t)
	scope := middleware.Scope{UserID: "ann"}
	for name, remove := range map[string]func(ctx context.Context, mem *middleware.MemoryMiddleware, b *mem0.Backend, m backends.Memory) error{
		"deleted": func(ctx context.Context, _ *middleware.MemoryMiddleware, b *mem0.Backend, m backends.Memory) error {
			return b.Delete(ctx, &backends.DeleteRequest{Scope: scope, ID: m.ID})
		},
		"deleted by a filter": func(ctx context.Context, _ *middleware.MemoryMiddleware, b *mem0.Backend, m backends.Memory) error {
			f := backends.Eq("id", m.ID)
			_, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: scope, Filter: &f})
			return err
		},
		"corrected": func(ctx context.Context, _ *middleware.MemoryMiddleware, b *mem0.Backend, m backends.Memory) error {
			text := "ann lives in Bergen"
			_, err := b.Update(ctx, &backends.UpdateRequest{Scope: scope, ID: m.ID, Text: &text})
			return err
		},
		"by the agent's tool": func(_ context.Context, mem *middleware.MemoryMiddleware, _ *mem0.Backend, m backends.Memory) error {
			said := testkit.Drain(agent(t, mem, testkit.New(testkit.Call("1", "delete_memory", `{"id":"`+m.ID+`"}`), testkit.Text("Done."))).Query(as("ann", "wish"), "Delete that, please."))
			if !strings.Contains(strings.Join(said, "\n"), "Deleted") {
				return fmt.Errorf("%q", said)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachStorage(t, func(t *testing.T, p processes) {
				cfg := &middleware.Config{DeleteTool: true}
				p.run(t, "first", cfg, func(t *testing.T, mem *middleware.MemoryMiddleware, b *mem0.Backend) {
					ask(t, as("ann", "s1"), mem, "FACT ann lives in Reykjavik", testkit.Text("Reykjavik is lovely."))
					ask(t, as("ann", "s1"), mem, "FACT ann has a cat called Mimi", testkit.Text("A lovely name."))
					ask(t, as("ann", "s2"), mem, "Where do I live?", testkit.Text(`You told me once: "Ann lives in Reykjavik", a lovely town.`))
					require.NoError(t, mem.Flush(t.Context()))
					require.NoError(t, remove(t.Context(), mem, b, factOf(t, b, "Reykjavik")))
					notesLack(t, mem, "Reykjavik")
					ask(t, as("ann", "s1"), mem, "FACT ann plays the cello", testkit.Text("Fine."))
					require.NoError(t, mem.Flush(t.Context()))
				})
				p.run(t, "second", cfg, func(t *testing.T, mem *middleware.MemoryMiddleware, b *mem0.Backend) {
					notesLack(t, mem, "Reykjavik")
					factOf(t, b, "Mimi")
					factOf(t, b, "cello")
					_, m := ask(t, as("ann", "new"), mem, "What is my cat called?", testkit.Text("Mimi"))
					require.Contains(t, noteIn(m.Calls()[0]), "Mimi")
					ask(t, as("ann", "s1"), mem, "FACT ann lives in Reykjavik", testkit.Text("Again?"))
					require.NoError(t, mem.Flush(t.Context()))
					factOf(t, b, "Reykjavik") // who says it again is heard
				})
			})
		})
	}
}

// The agent notes something down, and it is deleted before the log is learnt from: nothing shows
// the turn or learns from it, in this process or the next.
func TestAFactThatIsDeletedBeforeItsTurnIsLearntIsNotLearntAgain(t *testing.T) {
	eachStorage(t, func(t *testing.T, p processes) {
		p.run(t, "first", &middleware.Config{}, func(t *testing.T, mem *middleware.MemoryMiddleware, b *mem0.Backend) {
			ask(t, as("ann", "s1"), mem, "FACT ann lives in Reykjavik", testkit.Call("1", "add_memory", `{"thinking":"t","content":["FACT ann lives in Reykjavik"]}`), testkit.Text("Noted, Reykjavik."))
			m := factOf(t, b, "Reykjavik")
			require.NoError(t, b.Delete(t.Context(), &backends.DeleteRequest{Scope: m.Scope, ID: m.ID}))
			notesLack(t, mem, "Reykjavik")
		})
		p.run(t, "second", &middleware.Config{}, func(t *testing.T, mem *middleware.MemoryMiddleware, b *mem0.Backend) {
			notesLack(t, mem, "Reykjavik")
			require.NoError(t, mem.Flush(t.Context()))
			_, err := mem.Working().Consolidate(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s1"})
			require.NoError(t, err)
			for _, m := range listed(t, b, middleware.Scope{UserID: "ann"}) {
				require.NotContains(t, m.Text, "lives in Reykjavik")
			}
			notesLack(t, mem, "Reykjavik")
		})
	})
}

// With Erase nothing of a memory is left in the storage: not its history, nor the words of the turn
// that taught it. What it had replaced stays ended; what else the session taught stays.
func TestAnErasedFactLeavesNoWordOfItsTurn(t *testing.T) {
	offices(t, 1, func(t *testing.T, o *office) {
		one, other, scope := o.of[0], o.of[1], middleware.Scope{UserID: "ann", SessionID: "s1"}
		manager, _ := backends.As[backends.Manager](one.b)
		for said, answer := range map[string]string{"FACT ann lives in Bergen": "ok", "FACT ann has a cat called Mimi": "ok", "FACT ann lives in Reykjavik": "Reykjavik is lovely."} {
			require.NoError(t, one.mem.Finish(middleware.WithScope(t.Context(), scope), testkit.Turn(said, answer)))
		}
		_, err := one.mem.Working().Consolidate(t.Context(), scope)
		require.NoError(t, err)
		m := factOf(t, manager, "Reykjavik")
		p, err := middleware.Scope{UserID: "ann"}.Speaker()
		require.NoError(t, err)
		former, err := one.db.Get(t.Context(), p, factOf(t, manager, "Bergen").ID)
		require.NoError(t, err)
		former[0].SupersededBy, former[0].Invalidated = m.ID, m.Observed
		current, err := one.db.Get(t.Context(), p, m.ID)
		require.NoError(t, err)
		current[0].Supersedes = former[0].ID
		_, err = one.db.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(&former[0]), store.Put(&current[0])}})
		require.NoError(t, err)
		held := func() string {
			var out strings.Builder
			_, err := one.mem.Export(t.Context(), scope, &out)
			require.NoError(t, err)
			return o.raw() + out.String()
		}
		require.Contains(t, held(), "Reykjavik")

		elsewhere, _ := backends.As[backends.Manager](other.b)
		require.NoError(t, elsewhere.Delete(t.Context(), &backends.DeleteRequest{Scope: scope, ID: m.ID, Erase: true}))
		require.NotContains(t, held(), "Reykjavik")
		_, err = manager.History(t.Context(), &backends.HistoryRequest{Scope: scope, ID: m.ID})
		require.ErrorIs(t, err, backends.ErrNotFound)
		ended := factOf(t, manager, "Bergen")
		require.Empty(t, ended.SupersededBy)
		require.False(t, ended.Active(), "what was erased had replaced it")
		mimi := factOf(t, manager, "Mimi")
		require.True(t, mimi.Active())
		require.ErrorIs(t, elsewhere.Delete(t.Context(), &backends.DeleteRequest{Scope: scope, ID: m.ID, Erase: true}), backends.ErrNotFound)
		require.ErrorIs(t, elsewhere.Delete(t.Context(), &backends.DeleteRequest{Scope: scope, ID: mimi.ID, Version: mimi.Version + 1, Erase: true}), backends.ErrConflict)
	})
}
