// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/testkit"
)

func (x *world) fitter() window.Fitter {
	return func(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
		res, err := x.Fit(ctx, ann, messages)
		if res == nil {
			return messages, err
		}
		return res.Messages, err
	}
}

func TestAModelIsGivenWhatFits(t *testing.T) {
	x := newWorld(t, 2000, nil)
	chat := testkit.New(testkit.Text("read"))
	m := window.Model(chat, x.fitter())
	in := task(30, 100)
	before := snapshot(in)
	out, err := m.Generate(context.Background(), in)
	require.NoError(t, err)
	require.Equal(t, "read", out.Content)
	stream, err := m.Stream(context.Background(), in)
	require.NoError(t, err)
	text := ""
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		text += chunk.Content
	}
	require.Equal(t, "read", text)
	for _, call := range chat.Calls() {
		x.valid(call)
	}
	require.Len(t, chat.Calls(), 2)
	require.Equal(t, before, snapshot(in))
	x.fine()
}

func TestAModelIsNotAskedWhatDoesNotFit(t *testing.T) {
	x := newWorld(t, 200, nil)
	chat := testkit.New(testkit.Text("never"))
	m := window.Model(chat, x.fitter())
	in := []*schema.Message{schema.UserMessage(prose("question", 0, 300))}
	_, err := m.Generate(context.Background(), in)
	require.ErrorIs(t, err, compaction.ErrOver)
	_, err = m.Stream(context.Background(), in)
	require.ErrorIs(t, err, compaction.ErrOver)
	require.Empty(t, chat.Calls())
}

func TestAFittedModelTakesTools(t *testing.T) {
	x := newWorld(t, 2000, nil)
	var seen []*schema.ToolInfo
	chat := testkit.New(func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		seen = o.Tools
		return schema.AssistantMessage("ok", nil), nil
	})
	bare := window.Model(chat, x.fitter())
	m, err := bare.WithTools([]*schema.ToolInfo{{Name: "read"}})
	require.NoError(t, err)
	_, err = m.Generate(context.Background(), task(30, 100))
	require.NoError(t, err)
	require.Len(t, seen, 1)
	x.valid(chat.Calls()[0])
	_, err = bare.Generate(context.Background(), task(1, 1))
	require.NoError(t, err)
	require.Empty(t, seen, "the model that was given is not changed")

	_, err = window.Model(toolless{chat}, x.fitter()).WithTools(nil)
	require.ErrorContains(t, err, "takes no tools")
}

type toolless struct{ *testkit.Chat }

func (toolless) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return nil, errors.New("takes no tools")
}

// plainModel is a model that leaves callbacks to Eino and has no name.
type plainModel struct{ model.ToolCallingChatModel }

func TestAFittedModelIsTheModelThatIsInIt(t *testing.T) {
	x := newWorld(t, 2000, nil)
	for _, inner := range []model.ToolCallingChatModel{testkit.New(), &plainModel{testkit.New()}} {
		m := window.Model(inner, x.fitter())
		want, named := components.GetType(inner)
		got, ok := components.GetType(m)
		require.True(t, ok)
		if named {
			require.Equal(t, want, got)
		} else {
			require.Equal(t, "Fitted", got)
		}
		require.Equal(t, components.IsCallbacksEnabled(inner), components.IsCallbacksEnabled(m))
	}
}

// In a graph, callbacks hear of a fitted model once, as they do of the bare one,
// and nothing of what was done to make its input fit.
func TestCallbacksHearOfAFittedModelAsOfTheBareOne(t *testing.T) {
	for name, inner := range map[string]func() model.ToolCallingChatModel{
		"reports itself":  func() model.ToolCallingChatModel { return testkit.New(testkit.Text("ok")) },
		"leaves it to us": func() model.ToolCallingChatModel { return &silent{chat: testkit.New(testkit.Text("ok"))} },
		"fails":           func() model.ToolCallingChatModel { return testkit.New(testkit.Fail(errors.New("down"))) },
	} {
		for _, stream := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				x := newWorld(t, 2000, func(c *window.Config) { c.Model = summariser() })
				bare := heard(t, inner(), stream)
				fitted := heard(t, window.Model(inner(), x.fitter()), stream)
				require.Equal(t, bare, fitted)
				require.Len(t, bare, 2)
			})
		}
	}
}

// heard runs a model in a graph and returns what callbacks hear of chat models.
func heard(t *testing.T, m model.ToolCallingChatModel, stream bool) []string {
	t.Helper()
	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	require.NoError(t, g.AddChatModelNode("model", m))
	require.NoError(t, g.AddEdge(compose.START, "model"))
	require.NoError(t, g.AddEdge("model", compose.END))
	r, err := g.Compile(context.Background())
	require.NoError(t, err)
	var mu sync.Mutex
	var out []string
	hear := func(what string, ctx context.Context, info *callbacks.RunInfo) context.Context {
		mu.Lock()
		defer mu.Unlock()
		if info.Component == components.ComponentOfChatModel {
			out = append(out, what+" "+info.Name)
		}
		return ctx
	}
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, i *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			return hear("start", ctx, i)
		}).
		OnEndFn(func(ctx context.Context, i *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			return hear("end", ctx, i)
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, i *callbacks.RunInfo, s *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			s.Close()
			return hear("stream", ctx, i)
		}).
		OnErrorFn(func(ctx context.Context, i *callbacks.RunInfo, _ error) context.Context { return hear("error", ctx, i) }).Build()
	in := task(30, 100)
	if !stream {
		_, _ = r.Invoke(context.Background(), in, compose.WithCallbacks(h))
		return out
	}
	s, err := r.Stream(context.Background(), in, compose.WithCallbacks(h))
	if err == nil {
		_, err = schema.ConcatMessageStream(s)
		require.NoError(t, err)
	}
	return out
}

// silent is a model that reports nothing itself.
type silent struct{ chat *testkit.Chat }

func (s *silent) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("ok", nil), nil
}

func (s *silent) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray([]*schema.Message{schema.AssistantMessage("ok", nil)}), nil
}

func (s *silent) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }
