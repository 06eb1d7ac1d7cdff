// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// A model that answers rubbish is asked twice about a turn, whatever processes come and go: the
// words are found, the log is learnt, and it is reported once.
func TestRubbishIsAskedForTwice(t *testing.T) {
	type backend interface {
		backends.Backend
		backends.Manager
	}
	for name, backendOn := range map[string]func(c *mem0.Config) (backend, error){
		"mem0":       func(c *mem0.Config) (backend, error) { return mem0.New(t.Context(), c) },
		"facts only": func(c *mem0.Config) (backend, error) { c.FactsOnly = true; return mem0.New(t.Context(), c) },
		"reme": func(c *mem0.Config) (backend, error) {
			return reme.New(t.Context(), &reme.Config{Store: c.Store, Model: c.Model})
		},
	} {
		t.Run(name, func(t *testing.T) {
			rubbish, db := testkit.New(testkit.Text("Sure! {{facts: I like")), testkit.SQLite(t)
			var failures testkit.Failures // of all of them
			for process := range 3 {
				b, err := backendOn(&mem0.Config{Store: db, Model: rubbish})
				require.NoError(t, err)
				mem, err := middleware.New(t.Context(), &middleware.Config{Backend: b, Sessions: db, AwaitWrite: true, OnError: failures.Add, Working: eager()})
				require.NoError(t, err)
				if process == 0 {
					ask(t, as("ann", "monday"), mem, "I keep bees on the roof.", testkit.Text("Lovely."))
				}
				require.NoError(t, mem.Flush(t.Context()))
				found, err := b.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: "ann"}, Query: "Where are my bees?"})
				require.NoError(t, err)
				require.Equal(t, "I keep bees on the roof.", found.Hits[0].Text)
				require.NoError(t, mem.Close(context.Background()))
				require.NoError(t, b.Close(context.Background()))
			}
			require.Len(t, rubbish.Calls(), 2)
			require.Len(t, failures.Stages(), 1, "%v", failures.Err())
			require.ErrorContains(t, failures.Err(), "it is kept as it was said, and not asked about again")
		})
	}
}

// A model that learns for minutes delays no reply, and has the time that ModelTimeout gives it.
func TestSlowLearningDelaysNoReply(t *testing.T) {
	asked, answer := make(chan time.Duration, 10), make(chan struct{})
	slow := testkit.New(func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
		deadline, _ := ctx.Deadline()
		asked <- time.Until(deadline)
		select {
		case <-answer:
			return schema.AssistantMessage(`{"operations":[{"op":"add","text":"The user keeps bees."}]}`, nil), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	b, err := mem0.New(t.Context(), &mem0.Config{Store: testkit.SQLite(t), Model: slow, ModelTimeout: 20 * time.Minute})
	require.NoError(t, err)
	mem := open(t, &middleware.Config{Backend: b, Working: eager()})
	ask(t, as("ann", "monday"), mem, "I keep bees on the roof.")
	require.InDelta(t, 20*time.Minute, <-asked, float64(time.Minute))
	for range 3 {
		ask(t, as("ann", "monday"), mem, "Hello!")
	}
	require.Empty(t, memories(t, b, "ann"))
	close(answer)
	flush(t, mem)
	require.Contains(t, memories(t, b, "ann"), "The user keeps bees.")
}
