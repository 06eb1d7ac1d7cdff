// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

// What a model asks an agent is no turn, also where it does not fit.
func TestAQuestionOfAModelThatDoesNotFitIsNotRecorded(t *testing.T) {
	d := newDesk(t, setting{tokens: 500})
	sub := d.WrapRunner(newRunner(newAgent(t, "sub", testkit.New(testkit.Text("never")), nil), false, nil))
	outer := testkit.New(testkit.Call("x", "run", fmt.Sprintf(`{"q":%q}`, page(1, 2000))), testkit.Text("done"))
	out := drain(t, newRunner(newAgent(t, "outer", outer, nil, runTool(t, sub)), false, nil).Query(context.Background(), "go"))
	require.Contains(t, fmt.Sprint(out), "over budget")
	require.Empty(t, d.logged())
}

// A run that begins with the result of a call is somebody's, too: what does not fit
// leaves for the archives of the session.
func TestARunThatNobodyAsksAnythingInFits(t *testing.T) {
	d := newDesk(t, setting{tokens: 1500})
	chat := testkit.New(testkit.Text("done"))
	in := append(say("read"), schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: `{"n":1}`}}}),
		schema.ToolMessage(page(1, 3000), "c", schema.WithToolName("read")))
	out := drain(t, d.WrapRunner(newRunner(newAgent(t, "a", chat, nil), false, nil)).Run(context.Background(), in))
	require.Equal(t, []string{"assistant: done"}, out)
	d.sane(chat)
	d.fine()
	back, err := d.window.Restore(context.Background(), ann, chat.Calls()[0])
	require.NoError(t, err)
	require.Contains(t, text(back...), page(1, 3000))
}

// bounded notes whether each read of what a turn needs at its end has a deadline.
type bounded struct {
	store.Sessions
	mu    sync.Mutex
	reads []bool
}

func (b *bounded) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	_, ok := ctx.Deadline()
	b.mu.Lock()
	b.reads = append(b.reads, ok)
	b.mu.Unlock()
	return b.Sessions.GetBlob(ctx, p, session, name)
}

func (b *bounded) seen() []bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]bool(nil), b.reads...)
}

// Finish waits for what left the context, and not without end.
func TestWhatLeftIsReadBackInTime(t *testing.T) {
	sessions := &bounded{Sessions: memorySessions(t)}
	d := newDesk(t, setting{tokens: 1500, sessions: sessions})
	ctx := context.Background()
	in, err := d.Prepare(ctx, say("read"))
	require.NoError(t, err)
	in = append(in, schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: `{"n":1}`}}}),
		schema.ToolMessage(page(1, 3000), "c", schema.WithToolName("read")))
	in, err = d.Prepare(ctx, in)
	require.NoError(t, err)
	require.NoError(t, d.Finish(ctx, append(in, assistant("done"))))
	require.Contains(t, fmt.Sprint(d.logged()), page(1, 3000))
	require.NotEmpty(t, sessions.seen())
	require.NotContains(t, sessions.seen(), false)
	d.fine()
}
