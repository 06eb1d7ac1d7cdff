// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// hanging is a store whose calls, while it hangs, end when their contexts do.
type hanging struct {
	store.Store
	hangs atomic.Bool
}

func (h *hanging) wait(ctx context.Context) {
	for h.hangs.Load() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

func (h *hanging) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	h.wait(ctx)
	return h.Store.Epoch(ctx, p)
}

func (h *hanging) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	h.wait(ctx)
	return h.Store.Changes(ctx, p, cursor)
}

func (h *hanging) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	h.wait(ctx)
	return h.Store.Session(ctx, p, id)
}

func (h *hanging) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	h.wait(ctx)
	return h.Store.Read(ctx, p, id, r)
}

func (h *hanging) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	h.wait(ctx)
	return h.Store.Append(ctx, p, id, a)
}

func TestAStoreThatHangsDelaysOneReply(t *testing.T) {
	db := &hanging{Store: testkit.SQLite(t)}
	b := verbatim(t, db)
	var failures testkit.Failures
	mem := open(t, &middleware.Config{Backend: b, SearchTimeout: 300 * time.Millisecond, OnError: failures.Add,
		Window: &window.Config{Budget: compaction.Budget{Window: 16_000}}})
	ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s"})
	ask(t, ctx, mem, "I have a cat called Mimi.")
	require.NoError(t, mem.Flush(ctx))

	db.hangs.Store(true)
	ask(t, ctx, mem, "My dog is called Rex.")
	began := time.Now()
	for _, text := range []string{"I like tea.", "I like oak.", "I like rain."} { // within the pause of a second
		ask(t, ctx, mem, text)
	}
	if time.Since(began) < time.Second { // else the store was probed, beside the replies
		require.ErrorContains(t, failures.Err(), "the circuit is open")
	}
	db.hangs.Store(false)
	elsewhere := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "another"})
	require.Eventually(t, func() bool {
		_, m := ask(t, elsewhere, mem, "What is my dog called?")
		for _, s := range m.Calls()[0] {
			if s.Name == "memory" {
				return true
			}
		}
		return false
	}, 20*time.Second, 100*time.Millisecond)
	require.NoError(t, mem.Flush(ctx))
	entries, err := db.Read(ctx, backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}, "s", store.Range{})
	require.NoError(t, err)
	said := map[string]int{}
	for _, e := range entries {
		said[e.Content]++
	}
	for _, text := range []string{"My dog is called Rex.", "I like tea.", "I like oak.", "I like rain."} {
		require.Equal(t, 1, said[text], text)
	}
}

// A store is a program's own code: where it panics, replies and workers get an error.
func TestAPanicOfTheStoreIsAnError(t *testing.T) {
	for _, method := range []string{"List", "Session", "Read", "Changes", "Epoch", "Append", "Update", "Apply"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			db := testkit.Spy(testkit.SQLite(t))
			b, err := mem0.New(t.Context(), &mem0.Config{Store: db})
			require.NoError(t, err)
			mem, err := middleware.New(t.Context(), &middleware.Config{
				Backend: b, Window: &window.Config{Budget: compaction.Budget{Window: 3000}}, Working: &working.Config{Sweep: time.Millisecond},
			})
			require.NoError(t, err)
			db.Arm(func(c *testkit.StoreCall) error {
				if c.Method == method {
					panic("boom")
				}
				return nil
			})
			ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s"})
			said, err := mem.Prepare(ctx, []*schema.Message{schema.UserMessage("I like tea")})
			require.NoError(t, err)
			require.Equal(t, "I like tea", said[len(said)-1].Content)
			require.NoError(t, mem.Finish(ctx, append(said, schema.AssistantMessage("Noted.", nil))))
			time.Sleep(20 * time.Millisecond) // sweeps go by
			db.Arm(nil)
			require.NoError(t, mem.Close(t.Context()))
		})
	}
}

// deaf is a backend whose Add ignores its context.
type deaf struct {
	testkit.Backend
	free chan struct{}
}

func (d *deaf) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	<-d.free
	return &backends.AddResponse{}, nil
}

// A backend that ignores its context holds nobody up, and the turn waits in the log.
func TestABackendThatIgnoresItsContextIsLeft(t *testing.T) {
	b := &deaf{free: make(chan struct{})}
	defer close(b.free)
	mem := open(t, &middleware.Config{Backend: b, Sessions: testkit.SQLite(t), Working: &working.Config{Sweep: -1, Timeout: 50 * time.Millisecond}})
	ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s"})
	require.NoError(t, mem.Finish(ctx, []*schema.Message{schema.UserMessage("I like tea"), schema.AssistantMessage("Noted.", nil)}))
	err := mem.Flush(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "no answer within 50ms")
	h, err := mem.Working().Health(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, h.Messages)
}
