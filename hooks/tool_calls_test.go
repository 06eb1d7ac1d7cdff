// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
)

var annAtWork = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1", Workspace: "lab"}

// recorder keeps what it is told.
type recorder struct {
	mu    sync.Mutex
	calls []backends.ToolCall
	scope backends.Scope
	err   error
	told  chan struct{} // one for each call
}

func newRecorder() *recorder { return &recorder{told: make(chan struct{}, 100)} }

func (r *recorder) RecordCalls(_ context.Context, req *backends.RecordCallsRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.scope = append(r.calls, req.Calls...), req.Scope
	r.told <- struct{}{}
	return r.err
}

func (r *recorder) Flush(context.Context) error { return nil }

func (r *recorder) seen() []backends.ToolCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]backends.ToolCall(nil), r.calls...)
}

// probe is a tool of every kind at once that does what it is told.
type probe struct {
	run    func(ctx context.Context, arguments string) (string, error)
	stream func(ctx context.Context, arguments string) (*schema.StreamReader[string], error)
}

func (probe) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "probe", Desc: "probes"}, nil
}

type invokable struct{ probe }

func (p invokable) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return p.run(ctx, arguments)
}

type streamable struct{ probe }

func (p streamable) StreamableRun(ctx context.Context, arguments string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	return p.stream(ctx, arguments)
}

type enhanced struct{ probe }

func (p enhanced) InvokableRun(ctx context.Context, a *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	text, err := p.run(ctx, a.Text)
	if err != nil {
		return nil, err
	}
	url := "https://example.com/map.png"
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}, {Type: schema.ToolPartTypeImage, Image: &schema.ToolOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}}}, nil
}

func recording(t *testing.T, rec *recorder, change func(*hooks.Config)) *memory {
	t.Helper()
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	return newMemory(t, func(c *hooks.Config) {
		c.ToolCalls, c.Scope = rec, annAtWork
		c.Clock = func() time.Time { now = now.Add(time.Second); return now }
		if change != nil {
			change(c)
		}
	})
}

func node(t *testing.T, m *memory, tools ...tool.BaseTool) *compose.ToolsNode {
	t.Helper()
	n, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: tools, ToolCallMiddlewares: []compose.ToolMiddleware{m.ToolMiddleware()}})
	require.NoError(t, err)
	return n
}

func asked(arguments string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "probe", Arguments: arguments}}})
}

func says(text string, err error) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return text, err }
}

func TestCallsOfToolsAreRecorded(t *testing.T) {
	rec := newRecorder()
	m := recording(t, rec, nil)
	out, err := node(t, m, invokable{probe{run: says("12 °C", nil)}}).Invoke(t.Context(), asked(`{"q":"北京"}`))
	require.NoError(t, err)
	assert.Equal(t, "12 °C", out[0].Content)
	assert.Equal(t, []backends.ToolCall{{ID: "t1", Tool: "probe", Arguments: `{"q":"北京"}`, Result: "12 °C",
		Time: time.Date(2026, 4, 1, 12, 0, 1, 0, time.UTC), Took: time.Second}}, rec.seen())
	assert.Equal(t, annAtWork, rec.scope)
	m.fine(t)
}

func TestFailuresOfToolsAreRecordedAndPassedOn(t *testing.T) {
	rec := newRecorder()
	boom := errors.New("quota used up")
	_, err := node(t, recording(t, rec, nil), invokable{probe{run: says("", boom)}}).Invoke(t.Context(), asked(`{}`))
	require.ErrorIs(t, err, boom)
	require.Len(t, rec.seen(), 1)
	assert.Contains(t, rec.seen()[0].Error, "quota used up")
}

func TestResultsInPartsAreRecorded(t *testing.T) {
	rec := newRecorder()
	_, err := node(t, recording(t, rec, nil), enhanced{probe{run: says("a map", nil)}}).Invoke(t.Context(), asked(`{}`))
	require.NoError(t, err)
	assert.Equal(t, "a map\n[image]", rec.seen()[0].Result)
}

func TestStreamsAreRecordedAsTheyGoBy(t *testing.T) {
	boom := errors.New("line lost")
	for name, c := range map[string]struct {
		end    error // of the tool's stream
		takes  int   // chunks that the reader takes before it closes
		result string
		failed string
	}{
		"to the end":         {takes: 9, result: "onetwothree"},
		"until it fails":     {end: boom, takes: 9, result: "onetwothree", failed: "line lost"},
		"until it is closed": {takes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			rec := newRecorder()
			stream := func(context.Context, string) (*schema.StreamReader[string], error) {
				r, w := schema.Pipe[string](9)
				for _, s := range []string{"one", "two", "three"} {
					w.Send(s, nil)
				}
				if c.end != nil {
					w.Send("", c.end)
				}
				w.Close()
				return r, nil
			}
			endpoint := recording(t, rec, nil).ToolMiddleware().Streamable(func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				r, err := stream(ctx, in.Arguments)
				return &compose.StreamToolOutput{Result: r}, err
			})
			out, err := endpoint(t.Context(), &compose.ToolInput{Name: "probe", Arguments: "{}"})
			require.NoError(t, err)
			for range c.takes {
				if _, err = out.Result.Recv(); err != nil {
					break
				}
			}
			if c.end == nil && c.takes > 3 {
				require.ErrorIs(t, err, io.EOF)
			} else {
				require.ErrorIs(t, err, c.end)
			}
			out.Result.Close()
			<-rec.told
			call := rec.seen()[0]
			if c.result != "" {
				assert.Equal(t, c.result, call.Result)
			}
			assert.Equal(t, c.failed, call.Error)
		})
	}
}

func TestAStreamOfATwoWayNodeIsRecorded(t *testing.T) {
	rec := newRecorder()
	p := streamable{probe{stream: func(context.Context, string) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray([]string{"a", "b"}), nil
	}}}
	out, err := node(t, recording(t, rec, nil), p).Invoke(t.Context(), asked(`{}`))
	require.NoError(t, err)
	assert.Equal(t, "ab", out[0].Content)
	<-rec.told
	assert.Equal(t, "ab", rec.seen()[0].Result)
}

func TestWhatSaysNothingAboutTheToolIsNotRecorded(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		run    func(context.Context, string) (string, error)
		change func(*hooks.Config)
		ctx    context.Context
	}{
		"an interrupt":        {run: func(ctx context.Context, _ string) (string, error) { return "", compose.Interrupt(ctx, "sure?") }},
		"a cancelled run":     {ctx: cancelled, run: func(ctx context.Context, _ string) (string, error) { cancel(); return "", context.Cause(ctx) }},
		"no workspace":        {run: says("ok", nil), change: func(c *hooks.Config) { c.Scope = ann }},
		"nobody":              {run: says("ok", nil), change: func(c *hooks.Config) { c.Scope = backends.Scope{} }},
		"a tool not asked of": {run: says("ok", nil), change: func(c *hooks.Config) { c.RecordTool = func(string) bool { return false } }},
	} {
		t.Run(name, func(t *testing.T) {
			rec := newRecorder()
			m := recording(t, rec, c.change)
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			_, _ = node(t, m, invokable{probe{run: c.run}}).Invoke(ctx, asked(`{}`))
			assert.Empty(t, rec.seen())
			m.fine(t)
		})
	}
}

func TestAFailingRecorderIsNoFailureOfTheTool(t *testing.T) {
	rec := newRecorder()
	rec.err = backends.ErrUnavailable
	m := recording(t, rec, nil)
	_, err := node(t, m, invokable{probe{run: says("ok", nil)}}).Invoke(t.Context(), asked(`{}`))
	require.NoError(t, err)
	stages, err := m.failures.seen()
	assert.Equal(t, []string{hooks.StageToolCall}, stages)
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestWithoutARecorderToolsAreNotWrapped(t *testing.T) {
	assert.Nil(t, newMemory(t, nil).ToolMiddleware().Invokable)
	assert.Nil(t, newMemory(t, nil).AgentMiddleware().WrapToolCall.Invokable)
	assert.NotNil(t, recording(t, newRecorder(), nil).AgentMiddleware().WrapToolCall.Invokable)
}

func TestAFilterThatPanicsIsNoFailureOfTheTool(t *testing.T) {
	rec := newRecorder()
	m := recording(t, rec, func(c *hooks.Config) { c.RecordTool = func(string) bool { panic("who knows") } })
	_, err := node(t, m, invokable{probe{run: says("ok", nil)}}).Invoke(t.Context(), asked(`{}`))
	require.NoError(t, err)
	stages, _ := m.failures.seen()
	assert.Equal(t, []string{hooks.StageToolCall}, stages)
	assert.Empty(t, rec.seen())
}

// A stream is held for the record up to a size, however large its chunks; a result that
// is there is told whole.
func TestOfAStreamOnlySoMuchIsHeld(t *testing.T) {
	const chunk = 700 << 10
	rec := newRecorder()
	m := recording(t, rec, nil)
	out, err := node(t, m, streamable{probe{stream: func(context.Context, string) (*schema.StreamReader[string], error) {
		return schema.StreamReaderFromArray([]string{strings.Repeat("a", chunk), strings.Repeat("b", chunk), strings.Repeat("c", chunk)}), nil
	}}}).Stream(t.Context(), asked(`{}`))
	require.NoError(t, err)
	for {
		if _, err := out.Recv(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	<-rec.told
	assert.Len(t, rec.seen()[0].Result, 1<<20)

	_, err = node(t, m, invokable{probe{run: says(strings.Repeat("a", 3*chunk), nil)}}).Invoke(t.Context(), asked(`{}`))
	require.NoError(t, err)
	assert.Len(t, rec.seen()[1].Result, 3*chunk)
}
