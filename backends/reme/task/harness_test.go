// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/testredis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx   = context.Background()
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	shop  = backends.Scope{Workspace: "shop"}
	inn   = backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "shop"}
)

func fixed() time.Time { return start }

func openStore(t testing.TB) *sqlitestore.Store {
	t.Helper()
	st, err := sqlitestore.Open(ctx, sqlitestore.Memory, &sqlitestore.Config{Clock: fixed})
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// eachStore runs a test on SQLite and on the imitation of Redis.
func eachStore(t *testing.T, f func(t *testing.T, st store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, openStore(t)) })
	t.Run("miniredis", func(t *testing.T) {
		c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = c.Close() })
		f(t, onRedis(t, c, ""))
	})
}

func onRedis(t *testing.T, c redis.UniversalClient, prefix string) store.Store {
	t.Helper()
	st, err := redisstore.New(ctx, c, &redisstore.Config{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// The same tests on the servers that there are.
func TestOnServers(t *testing.T) {
	tests := map[string]func(*testing.T, store.Store){
		"R22WorkspacesAreIsolated": onR22WorkspacesAreIsolated, "WhatHoldsNoMoreIsLearntAnew": onWhatHoldsNoMoreIsLearntAnew, "AllAtTheSameTime": onAllAtTheSameTime,
		"R8TheLoserOfARaceWritesNothing":           onR8TheLoserOfARaceWritesNothing,
		"R8TheSecondIdenticalSummaryStoresNothing": onR8TheSecondIdenticalSummaryStoresNothing,
		"R8IdenticalSummariesAtTheSameTime":        onR8IdenticalSummariesAtTheSameTime,
		"R8WhatHasSomethingToAddIsJoined":          onR8WhatHasSomethingToAddIsJoined,
		"R2TheFieldsOfATaskMemory":                 onR2TheFieldsOfATaskMemory,
		"ARequestOfAKnownKeyIsFree":                onARequestOfAKnownKeyIsFree,
		"DEF02ForgettingDeletes":                   onDEF02ForgettingDeletes,
		"R11UseIsCounted":                          onR11UseIsCounted,
		"DEF08AHundredRecordersAddAHundred":        onDEF08AHundredRecordersAddAHundred,
		"DEF06QualityIsNoSimilarity":               onDEF06QualityIsNoSimilarity,
	}
	for _, server := range testredis.Flavours() {
		t.Run(server.Name, func(t *testing.T) {
			s := server.Start(t)
			for name, f := range tests {
				t.Run(name, func(t *testing.T) { f(t, onRedis(t, s.Client(t), "t"+name)) })
			}
		})
	}
}

// setup is what a world is made of.
type setup struct {
	store    store.Store
	embedder embedding.Embedder
	model    model.BaseChatModel
	clock    backends.Clock
	limits   flow.Limits
	redact   func(string) string
	task     task.Config
}

// world is task memory and what it stands on.
type world struct {
	*task.Memory
	t      testing.TB
	keeper *keeper.Keeper
	models *flow.Models
	brain  *brain // the model, if it is one
}

// open returns task memory on a store and with a model of its own, unless a change
// gives it others.
func open(t testing.TB, change ...func(*setup)) *world {
	t.Helper()
	s := &setup{clock: fixed}
	b := newBrain()
	s.model = b
	for _, f := range change {
		f(s)
	}
	if s.store == nil {
		s.store = openStore(t)
	}
	rc := &recall.Config{Records: s.store, Clock: s.clock, Keys: keeper.Keys}
	if s.embedder != nil {
		rc.Embedder, rc.EmbeddingModel = s.embedder, "test"
	}
	ranker, err := recall.New(ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	k, err := keeper.New(&keeper.Config{Name: "test", Store: s.store, Ranker: ranker, Embeds: s.embedder != nil, Redact: s.redact, Clock: s.clock})
	require.NoError(t, err)
	models, err := flow.New(&flow.Config{Name: "test", Model: s.model, Limits: s.limits, Tools: append(task.AnswerTools(), extract.AnswerTools()...)})
	require.NoError(t, err)
	c := s.task
	c.Keeper, c.Models, c.Embeds = k, models, s.embedder != nil
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if s.model != nil {
		c.Extractor, err = extract.New(&extract.Config{Models: models, Redact: s.redact})
		require.NoError(t, err)
	}
	m, err := task.New(&c)
	require.NoError(t, err)
	return &world{Memory: m, t: t, keeper: k, models: models, brain: b}
}

func on(st store.Store) func(*setup)               { return func(s *setup) { s.store = st } }
func embedded(e embedding.Embedder) func(*setup)   { return func(s *setup) { s.embedder = e } }
func withModel(m model.BaseChatModel) func(*setup) { return func(s *setup) { s.model = m } }
func config(f func(*task.Config)) func(*setup)     { return func(s *setup) { f(&s.task) } }

// attempt is a trajectory whose messages teach the lessons, each "when | what".
func attempt(score float64, lessons ...string) trajectory.Trajectory {
	t := trajectory.Trajectory{Query: "sell a kettle", Score: score, Observed: start.Add(-time.Hour)}
	t.Messages = append(t.Messages, schema.UserMessage("sell a kettle"))
	for _, l := range lessons {
		t.Messages = append(t.Messages, schema.AssistantMessage(lessonMark+l, nil))
	}
	return t
}

func attempts(lessons ...string) []trajectory.Trajectory {
	return []trajectory.Trajectory{attempt(1, lessons...)}
}

func (w *world) summarize(lessons ...string) *task.SummaryResponse {
	w.t.Helper()
	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: attempts(lessons...)})
	require.NoError(w.t, err)
	return resp
}

// active lists the texts that the workspace holds, in the order stored.
func (w *world) active() []string {
	w.t.Helper()
	resp, err := w.keeper.List(ctx, inn, &backends.ListRequest{Limit: 1000})
	require.NoError(w.t, err)
	out := []string{}
	for _, m := range resp.Memories {
		out = append(out, m.Text)
	}
	return out
}

// find returns the memory that holds and has the text.
func (w *world) find(text string) *backends.Memory {
	w.t.Helper()
	resp, err := w.keeper.List(ctx, inn, &backends.ListRequest{Limit: 1000})
	require.NoError(w.t, err)
	for i := range resp.Memories {
		if resp.Memories[i].Text == text {
			return &resp.Memories[i]
		}
	}
	require.Fail(w.t, "no memory", text)
	return nil
}

// version is that of the partition: it rises with every write.
func (w *world) version() int64 {
	w.t.Helper()
	c, err := w.keeper.Store().Changes(ctx, inn, "")
	require.NoError(w.t, err)
	return c.Version
}

// put stores memories as they are.
func (w *world) put(memories ...backends.Memory) {
	w.t.Helper()
	b := &store.Batch{}
	stamp := w.keeper.Stamps(len(memories))
	for i := range memories {
		m := memories[i]
		if m.Kind == "" {
			m.Kind = backends.KindTask
		}
		m.Created = stamp.Add(time.Duration(i) * time.Microsecond)
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
	}
	_, err := w.keeper.Commit(ctx, inn, b, nil)
	require.NoError(w.t, err)
}

func outcomes(resp *task.SummaryResponse) []backends.Outcome {
	var out []backends.Outcome
	for _, i := range resp.Items {
		out = append(out, i.Outcome)
	}
	return out
}
