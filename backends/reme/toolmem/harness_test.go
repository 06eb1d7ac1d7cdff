// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/testkit"
)

var (
	ctx   = context.Background()
	team  = backends.Scope{Workspace: "team"}
	start = time.Date(2026, 3, 12, 9, 0, 0, 0, time.UTC)
)

// clock is a clock that tests move.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(start.UnixMicro())
	return c
}

func (c *clock) Now() time.Time          { return time.UnixMicro(c.now.Load()).UTC() }
func (c *clock) Advance(d time.Duration) { c.now.Add(d.Microseconds()) }

// rig is a memory on a store of its own.
type rig struct {
	*toolmem.Memory
	keeper *keeper.Keeper
	store  store.Store
	clock  *clock
	ids    atomic.Int64
	mu     sync.Mutex
	errs   []error // what Config.OnError was told
}

type setup struct {
	store  store.Store
	model  model.BaseChatModel
	limits flow.Limits
	clock  *clock
	change func(*toolmem.Config)
	// embeds makes vectors of guidelines
	embeds *testkit.Embedder
}

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	if s.clock == nil {
		s.clock = newClock()
	}
	r := &rig{store: s.store, clock: s.clock}
	if r.store == nil {
		st, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Clock: r.clock.Now})
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		r.store = st
	}
	rc := &recall.Config{Records: r.store, Keys: keeper.Keys, Clock: r.clock.Now}
	if s.embeds != nil {
		rc.Embedder, rc.EmbeddingModel = s.embeds, "hash"
	}
	ranker, err := recall.New(ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	r.keeper, err = keeper.New(&keeper.Config{Name: "test", Store: r.store, Ranker: ranker, Embeds: s.embeds != nil, Clock: r.clock.Now})
	require.NoError(t, err)
	models, err := flow.New(&flow.Config{Name: "test", Model: s.model, Tools: toolmem.AnswerTools(), Limits: s.limits})
	require.NoError(t, err)
	c := &toolmem.Config{Keeper: r.keeper, Models: models, Clock: r.clock.Now, OnError: r.note, IDs: func() string { return fmt.Sprintf("id%d", r.ids.Add(1)) }}
	if s.change != nil {
		s.change(c)
	}
	r.Memory, err = toolmem.New(c)
	require.NoError(t, err)
	return r
}

func (r *rig) note(_ context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *rig) record(t testing.TB, calls ...toolmem.Call) *toolmem.RecordResponse {
	t.Helper()
	resp, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: calls})
	require.NoError(t, err)
	return resp
}

func (r *rig) tool(t testing.TB, name string) toolmem.Tool {
	t.Helper()
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Tools: []string{name}, WithCalls: true, Last: 10_000})
	require.NoError(t, err)
	require.Len(t, resp.Tools, 1)
	return resp.Tools[0]
}

func (r *rig) force(t testing.TB, names ...string) *toolmem.SummaryResponse {
	t.Helper()
	resp, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Tools: names, Force: true})
	require.NoError(t, err)
	return resp
}

// memories returns everything that the workspace holds.
func (r *rig) memories(t testing.TB) []*backends.Memory {
	t.Helper()
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	all, err := r.keeper.All(ctx, p)
	require.NoError(t, err)
	return all
}

func object(pairs ...any) map[string]any {
	o := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i].(string)] = pairs[i+1]
	}
	return o
}

// call is the nth call of a tool: all different, all good.
func call(tool string, n int) toolmem.Call {
	return toolmem.Call{Tool: tool, Time: start.Add(time.Duration(n) * time.Second), Input: object("q", fmt.Sprint("question ", n)), Output: fmt.Sprint("answer ", n), Took: time.Second, Tokens: 10}
}

func calls(tool string, from, upto int) []toolmem.Call {
	var out []toolmem.Call
	for n := from; n < upto; n++ {
		out = append(out, call(tool, n))
	}
	return out
}

// answering is a model whose answers depend on what it is shown: user is the whole of
// the material.
func answering(think func(tool, user string) (string, error)) *testkit.Chat {
	return testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		tool := ""
		if len(o.Tools) > 0 {
			tool = o.Tools[0].Name
		}
		answer, err := think(tool, in[len(in)-1].Content)
		if err != nil {
			return nil, err
		}
		if tool == "" {
			return schema.AssistantMessage(answer, nil), nil
		}
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: tool, Arguments: answer}}}), nil
	})
}

// textual hides that a model can call tools.
type textual struct{ model.BaseChatModel }

func message(text string) backends.Message {
	return backends.Message{ID: text, Turn: "t", Time: start, Message: schema.UserMessage(text)}
}
