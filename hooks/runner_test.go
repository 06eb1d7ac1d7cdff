// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// scripted is an agent that sends the events it is given.
type scripted struct {
	events []*adk.AgentEvent
	seen   [][]*schema.Message
	asks   bool   // whether a run ends in an interrupt
	resume func() // what a resume does before its events
}

func (s *scripted) Name(context.Context) string        { return "scripted" }
func (s *scripted) Description(context.Context) string { return "d" }

func (s *scripted) Run(ctx context.Context, in *adk.AgentInput, _ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	if in != nil {
		s.seen = append(s.seen, in.Messages)
	}
	it, gen := adk.NewAsyncIteratorPair[*adk.AgentEvent]()
	for _, e := range s.events {
		gen.Send(e)
	}
	if s.asks {
		gen.Send(adk.Interrupt(ctx, "may I?"))
	}
	gen.Close()
	return it
}

func (s *scripted) Resume(ctx context.Context, _ *adk.ResumeInfo, _ ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent] {
	if s.resume != nil {
		s.resume()
	}
	return s.Run(ctx, nil)
}

func answer(text string) *adk.AgentEvent {
	return adk.EventFromMessage(schema.AssistantMessage(text, nil), nil, schema.Assistant, "")
}

func TestEventsAreForwardedUnchangedAndInOrder(t *testing.T) {
	m := newMemory(t, nil)
	custom := &adk.AgentEvent{Output: &adk.AgentOutput{CustomizedOutput: 7}}
	broken := &adk.AgentEvent{Err: errors.New("broken")}
	a := &scripted{events: []*adk.AgentEvent{answer("one"), custom, answer("two"), broken, {Action: &adk.AgentAction{CustomizedAction: "x"}}}}
	it := m.WrapRunner(newRunner(a, false, nil)).Query(context.Background(), "hi")
	for _, want := range a.events {
		got, ok := it.Next()
		require.True(t, ok)
		require.Same(t, want, got)
	}
	_, ok := it.Next()
	require.False(t, ok)
	_, ok = it.Next()
	require.False(t, ok)
	require.Equal(t, []string{"user: hi", "assistant: one", "assistant: two"}, m.log.turn(t))
	require.False(t, m.log.recorded()[0].Done, "a failed turn is not complete")
}

func TestStreamsThatFailAreNotRecorded(t *testing.T) {
	m := newMemory(t, nil)
	read := make(chan struct{})
	close(read)
	failing := &slowModel{Chat: testkit.New(), proceed: read, err: errors.New("cut")}
	retry := func(cfg *adk.ChatModelAgentConfig) {
		cfg.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 1, IsRetryAble: func(context.Context, error) bool { return true }}
	}
	out := drain(t, m.WrapRunner(newRunner(newAgent(t, "a", failing, retry), true, nil)).Query(context.Background(), "hi"))
	require.Contains(t, out[0], "broken stream")
	require.Equal(t, []string{"user: hi"}, m.log.turn(t))
	require.False(t, m.log.recorded()[0].Done)
}

func TestARetriedStreamIsRecordedOnce(t *testing.T) {
	m := newMemory(t, nil)
	sr, sw := schema.Pipe[*schema.Message](2)
	sw.Send(schema.AssistantMessage("fir", nil), nil)
	sw.Send(nil, &adk.WillRetryError{ErrStr: "cut"})
	sw.Close()
	again := adk.EventFromMessage(nil, schema.StreamReaderFromArray([]*schema.Message{schema.AssistantMessage("fir", nil), schema.AssistantMessage("st", nil)}), schema.Assistant, "")
	a := &scripted{events: []*adk.AgentEvent{adk.EventFromMessage(nil, sr, schema.Assistant, ""), again}}
	out := drain(t, m.WrapRunner(newRunner(a, true, nil)).Query(context.Background(), "hi"))
	require.Equal(t, []string{"broken stream: cut", "assistant: first"}, out)
	require.Equal(t, []string{"user: hi", "assistant: first"}, m.log.turn(t))
	require.True(t, m.log.recorded()[0].Done)
}

func TestAnIteratorThatNobodyReadsIsRecordedAllTheSame(t *testing.T) {
	recorded := make(chan struct{})
	m := newMemory(t, nil)
	m.log.onRecord = func(context.Context) { close(recorded) }
	m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(), nil), true, nil)).Query(context.Background(), "hi")
	<-recorded
}

func TestTheRunnersScope(t *testing.T) {
	session := adk.WithSessionValues(map[string]any{"user_id": "sam", "session_id": int64(7), "other": struct{}{}})
	in := backends.WithScope(context.Background(), backends.Scope{UserID: "cleo"})
	for name, c := range map[string]struct {
		ctx  context.Context
		opts []adk.AgentRunOption
		want backends.Scope
	}{
		"default":        {context.Background(), nil, ann},
		"session values": {context.Background(), []adk.AgentRunOption{session}, backends.Scope{UserID: "sam", AgentID: "bot", SessionID: "7"}},
		"context":        {in, []adk.AgentRunOption{session}, backends.Scope{UserID: "cleo", AgentID: "bot"}},
		"option":         {in, []adk.AgentRunOption{session, hooks.WithScopeOption(backends.Scope{UserID: "olga", SessionID: "s9"})}, backends.Scope{UserID: "olga", AgentID: "bot", SessionID: "s9"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, nil)
			drain(t, m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(), m.with), false, nil)).Query(c.ctx, "hi", c.opts...))
			require.Equal(t, c.want, m.log.recorded()[0].Scope)
			require.Equal(t, c.want, m.backend.searches[0].Scope)
			m.fine(t)
		})
	}
}

func TestWithoutAScopeThereIsNoMemory(t *testing.T) {
	for name, c := range map[string]struct {
		opts []adk.AgentRunOption
		want error
	}{
		"nobody":     {nil, backends.ErrNoScope},
		"a struct":   {[]adk.AgentRunOption{adk.WithSessionValues(map[string]any{"user_id": struct{ A int }{}})}, backends.ErrInvalid},
		"a wildcard": {[]adk.AgentRunOption{hooks.WithScopeOption(backends.Scope{UserID: "a*"})}, backends.ErrInvalid},
		"a blank":    {[]adk.AgentRunOption{adk.WithSessionValues(map[string]any{"user_id": " "})}, backends.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, func(cfg *hooks.Config) {
				if name == "nobody" {
					cfg.Scope = backends.Scope{}
				}
			})
			out := drain(t, m.WrapRunner(newRunner(newAgent(t, "a", testkit.New(), nil), false, nil)).Query(context.Background(), "hi", c.opts...))
			require.Equal(t, []string{"assistant: ok"}, out)
			require.Empty(t, m.backend.queries())
			require.Empty(t, m.log.recorded())
			stages, err := m.failures.seen()
			require.Equal(t, []string{hooks.StageScope}, stages)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestMiddlewareAndRunnerTogetherWorkOnce(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		m := newMemory(t, nil)
		chat := threeCalls()
		drain(t, m.WrapRunner(newRunner(newAgent(t, "a", chat, m.with, echoTool(t)), streaming, nil)).Query(context.Background(), "hi"))
		require.Equal(t, []string{"hi"}, m.backend.queries())
		require.Len(t, m.log.recorded(), 1)
		require.Len(t, m.log.turn(t), 6)
		for _, call := range chat.Calls() {
			require.Equal(t, 1, notes(call))
		}
		m.fine(t)
	}
}

// A sub-agent that builds its own messages loses the note; its middleware puts it
// back without another search.
func TestALostNoteOfAWrappedRunIsRestored(t *testing.T) {
	m := newMemory(t, nil)
	chat := testkit.New()
	own := func(cfg *adk.ChatModelAgentConfig) {
		m.with(cfg)
		cfg.GenModelInput = func(context.Context, string, *adk.AgentInput) ([]*schema.Message, error) {
			return say("summarised: hi"), nil
		}
	}
	drain(t, m.WrapRunner(newRunner(newAgent(t, "a", chat, own), false, nil)).Query(context.Background(), "hi"))
	require.Equal(t, 1, notes(chat.Calls()[0]))
	require.Equal(t, []string{"hi"}, m.backend.queries())
	require.Equal(t, []string{"user: hi", "assistant: ok"}, m.log.turn(t))
}

func TestTwoMemoriesOnOneAgent(t *testing.T) {
	one := newMemory(t, nil)
	two := newMemory(t, func(c *hooks.Config) { c.Note.Name = "experience" })
	two.backend.texts = []string{"try again after an hour"}
	chat := threeCalls()
	agent := newAgent(t, "a", chat, func(cfg *adk.ChatModelAgentConfig) { one.with(cfg); two.with(cfg) }, echoTool(t))
	drain(t, one.WrapRunner(newRunner(agent, false, nil)).Query(context.Background(), "hi"))
	for _, call := range chat.Calls() {
		require.Equal(t, 2, notes(call))
	}
	for _, m := range []*memory{one, two} {
		require.Equal(t, []string{"hi"}, m.backend.queries())
		require.Len(t, m.log.turn(t), 6)
		m.fine(t)
	}
}
