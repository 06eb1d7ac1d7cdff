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

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
)

var annAtWork = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1", Workspace: "lab"}

// recorder is a backend that keeps the calls of tools that it is given.
type recorder struct {
	testkit.Backend
	mu       sync.Mutex
	calls    []backends.ToolCall
	scope    backends.Scope
	err      error
	recorded chan struct{} // one for each call
}

func (r *recorder) RecordCalls(_ context.Context, req *backends.RecordCallsRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.scope = append(r.calls, req.Calls...), req.Scope
	r.recorded <- struct{}{}
	return r.err
}

func (r *recorder) Flush(context.Context) error { return nil }

func (r *recorder) seen() []backends.ToolCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]backends.ToolCall(nil), r.calls...)
}

// recording is a memory whose clock moves a second each time that it is read, and its
// tool middleware.
func recording(t *testing.T, change func(*setup)) (*recorder, *memory, compose.ToolMiddleware) {
	t.Helper()
	rec, clock := &recorder{recorded: make(chan struct{}, 100)}, testkit.NewClock()
	m := newMemory(t, func(s *setup) {
		s.Backend, s.Scope, s.noLog = rec, annAtWork, true
		s.Clock = func() time.Time { return clock.Advance(time.Second) }
		s.IDs = func() string { return "t1" }
		if change != nil {
			change(s)
		}
	})
	return rec, m, m.ToolMiddleware()
}

// input is the model's call of the tool "probe".
func input(arguments string) *compose.ToolInput {
	return &compose.ToolInput{Name: "probe", CallID: "c1", Arguments: arguments}
}

// returns is a tool that returns a text, or fails.
func returns(text string, err error) compose.InvokableToolEndpoint {
	return func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		return &compose.ToolOutput{Result: text}, err
	}
}

func TestCallsOfToolsAreRecorded(t *testing.T) {
	rec, m, mw := recording(t, nil)
	out, err := mw.Invokable(mw.Invokable(returns("12 °C", nil)))(t.Context(), input(`{"q":"北京"}`))
	require.NoError(t, err)
	require.Equal(t, "12 °C", out.Result)
	require.Equal(t, []backends.ToolCall{{ID: "t1", Tool: "probe", Arguments: `{"q":"北京"}`, Result: "12 °C",
		Time: testkit.NewClock().Advance(time.Second), Took: time.Second}}, rec.seen(), "once, though the tool got the middleware in two ways")
	require.Equal(t, annAtWork, rec.scope)

	boom := errors.New("quota used up")
	_, err = mw.Invokable(returns("", boom))(t.Context(), input(`{}`))
	require.ErrorIs(t, err, boom)
	require.Equal(t, "quota used up", rec.seen()[1].Error)

	parts := &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "a map"}, {Type: schema.ToolPartTypeImage}}}
	enhanced, err := mw.EnhancedInvokable(func(context.Context, *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
		return &compose.EnhancedInvokableToolOutput{Result: parts}, nil
	})(t.Context(), input(`{}`))
	require.NoError(t, err)
	require.Same(t, parts, enhanced.Result)
	require.Equal(t, "a map\n[image]", rec.seen()[2].Result)

	stream, err := mw.EnhancedStreamable(func(context.Context, *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
		return &compose.EnhancedStreamableToolOutput{Result: schema.StreamReaderFromArray([]*schema.ToolResult{parts, nil})}, nil
	})(t.Context(), input(`{}`))
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Result.Recv()
	}
	for range 4 {
		<-rec.recorded
	}
	require.Equal(t, "a map\n[image]", rec.seen()[3].Result)
	m.fine()
}

// A stream is passed on as it comes, and recorded as far as it went; of a large one only
// so much is held.
func TestStreamsAreRecordedAsTheyGoBy(t *testing.T) {
	const chunk = 700 << 10
	boom := errors.New("line lost")
	three := []string{"one", "two", "three"}
	for name, c := range map[string]struct {
		chunks []string
		end    error // of the tool's stream; nil: its end
		panics bool
		takes  int // chunks that the reader takes before it closes
		result string
		failed string
	}{
		"to the end":         {chunks: three, takes: 9, result: "onetwothree"},
		"until it fails":     {chunks: three, end: boom, takes: 9, result: "onetwothree", failed: "line lost"},
		"until it is closed": {chunks: three, takes: 1, result: "one"},
		"until it panics":    {chunks: three, panics: true, takes: 9, failed: "out of paper"},
		"large":              {chunks: []string{strings.Repeat("a", chunk), strings.Repeat("b", chunk), "c"}, takes: 9, result: strings.Repeat("a", chunk) + strings.Repeat("b", 1<<20-chunk)},
	} {
		t.Run(name, func(t *testing.T) {
			rec, _, mw := recording(t, nil)
			out, err := mw.Streamable(func(context.Context, *compose.ToolInput) (*compose.StreamToolOutput, error) {
				r, w := schema.Pipe[string](9)
				for _, s := range c.chunks {
					w.Send(s, nil)
				}
				if c.end != nil {
					w.Send("", c.end)
				}
				w.Close()
				return &compose.StreamToolOutput{Result: schema.StreamReaderWithConvert(r, func(s string) (string, error) {
					if c.panics {
						panic("out of paper")
					}
					return s, nil
				})}, nil
			})(t.Context(), input("{}"))
			require.NoError(t, err)
			for range c.takes {
				if _, err = out.Result.Recv(); err != nil {
					break
				}
			}
			switch {
			case c.failed != "":
				require.ErrorContains(t, err, c.failed)
			case c.takes > 3:
				require.ErrorIs(t, err, io.EOF)
			}
			out.Result.Close()
			<-rec.recorded
			call := rec.seen()[0]
			require.True(t, strings.HasPrefix(call.Result, c.result), "%d bytes", len(call.Result))
			require.LessOrEqual(t, len(call.Result), 1<<20)
			require.Equal(t, c.failed != "", strings.Contains(call.Error, c.failed) && call.Error != "")
		})
	}
}

func TestWhatSaysNothingAboutTheToolIsNotRecorded(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		call   compose.InvokableToolEndpoint
		change func(*setup)
		stages []string
	}{
		"an interrupt": {func(ctx context.Context, _ *compose.ToolInput) (*compose.ToolOutput, error) {
			return nil, compose.Interrupt(ctx, "sure?")
		}, nil, nil},
		"a cancelled run": {func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
			cancel()
			return nil, context.Canceled
		}, nil, nil},
		"no workspace":        {returns("ok", nil), func(s *setup) { s.Scope = ann }, nil},
		"no scope":            {returns("ok", nil), func(s *setup) { s.Scope = backends.Scope{} }, nil},
		"a tool not asked of": {returns("ok", nil), func(s *setup) { s.RecordTool = func(string) bool { return false } }, nil},
		"a filter that fails": {returns("ok", nil), func(s *setup) { s.RecordTool = func(string) bool { panic("who knows") } }, []string{hooks.StageRecord}},
	} {
		t.Run(name, func(t *testing.T) {
			rec, m, mw := recording(t, c.change)
			ctx := t.Context()
			if name == "a cancelled run" {
				ctx = cancelled
			}
			_, _ = mw.Invokable(c.call)(ctx, input(`{}`))
			require.Empty(t, rec.seen())
			require.Equal(t, c.stages, m.failures.Stages())
		})
	}
	rec, m, mw := recording(t, nil)
	rec.err = backends.ErrUnavailable
	_, err := mw.Invokable(returns("ok", nil))(t.Context(), input(`{}`))
	require.NoError(t, err, "a recorder that fails is no failure of the tool")
	require.Equal(t, []string{hooks.StageRecord}, m.failures.Stages())
	require.ErrorIs(t, m.failures.Err(), backends.ErrUnavailable)
}

// In an agent whose backend records calls, memory's own tools and those by which agents
// hand over are left out; with another backend calls are not recorded.
func TestWhichToolsAreRecorded(t *testing.T) {
	other := newMemory(t, nil)
	out, err := other.AgentMiddleware().WrapToolCall.Invokable(returns("ok", nil))(t.Context(), &compose.ToolInput{Name: "probe"})
	require.NoError(t, err)
	require.Equal(t, "ok", out.Result)
	other.fine()
	rec, m, mw := recording(t, func(s *setup) { s.tools = append(s.tools, testkit.Approval(t)) })
	require.NotNil(t, m.AgentMiddleware().WrapToolCall.Invokable)
	for _, name := range []string{"ask", "transfer_to_agent", "exit", "probe"} {
		_, err := mw.Invokable(returns("ok", nil))(t.Context(), &compose.ToolInput{Name: name})
		require.NoError(t, err)
	}
	_, err = mw.Invokable(returns("ok", nil))(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, rec.seen(), 1)
	require.Equal(t, "probe", rec.seen()[0].Tool)
}
