// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/modes"
)

func TestTheNoteStandsBeforeTheLastUserMessage(t *testing.T) {
	m := newMemory(t, nil)
	in := []*schema.Message{schema.SystemMessage("base"), schema.UserMessage("hi"), schema.AssistantMessage("hello", nil), schema.UserMessage("what do I"), schema.UserMessage("drink?")}
	r := m.BeforeReply(context.Background(), in)
	require.Equal(t, "what do I\ndrink?", r.Query)
	require.Equal(t, "t1", r.Turn)
	require.Equal(t, ann, r.Scope)
	require.Len(t, r.Messages, 6)
	require.True(t, einox.IsNote(r.Messages[4]))
	require.Equal(t, []string{"user: what do I", "user: drink?"}, lines(r.Said))
	require.Len(t, in, 5)
	for _, msg := range in {
		require.Nil(t, msg.Extra, "the caller's messages are left alone")
	}
	m.AfterReply(context.Background(), r, []*schema.Message{schema.AssistantMessage("green tea", nil)}, true)
	turns := m.log.recorded()
	require.Len(t, turns, 1)
	require.True(t, turns[0].Done)
	require.Equal(t, []string{"user: what do I", "user: drink?", "assistant: green tea"}, m.log.turn(t))
	require.Zero(t, m.log.appended)
	m.fine(t)
}

// Rows M01 to M04: where nobody asked anything, nothing is searched or written.
func TestWithoutAQueryThereIsNoSearch(t *testing.T) {
	call := schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "f"}}})
	for name, in := range map[string][]*schema.Message{
		"nil":             nil,
		"empty":           {},
		"system":          {schema.SystemMessage("x")},
		"answered":        {schema.UserMessage("hi"), schema.AssistantMessage("hello", nil)},
		"a tool's result": {schema.UserMessage("hi"), call, schema.ToolMessage("done", "c")},
		"a retold turn":   {schema.UserMessage("For context: [a] said: hi.")},
		"nil messages":    {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, nil)
			r := m.BeforeReply(context.Background(), in)
			require.Equal(t, in, r.Messages)
			m.AfterReply(context.Background(), r, []*schema.Message{schema.AssistantMessage("x", nil)}, true)
			require.Empty(t, m.backend.queries())
			require.Empty(t, m.log.recorded())
			m.fine(t)
		})
	}
}

func TestAPictureAloneIsRecordedAndNotSearchedFor(t *testing.T) {
	m := newMemory(t, nil)
	url := "https://example.com/cat.png"
	in := []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{
		Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}},
	}}}}
	r := m.BeforeReply(context.Background(), in)
	require.Empty(t, m.backend.queries())
	require.Len(t, r.Said, 1)
}

func TestTheTextOfPartsIsSearchedFor(t *testing.T) {
	m := newMemory(t, nil)
	m.BeforeReply(context.Background(), []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "what is"}, {Type: schema.ChatMessagePartTypeText, Text: "in it?"},
	}}})
	require.Equal(t, []string{"what is\nin it?"}, m.backend.queries())
}

func TestANoteOfAFormerTurnIsReplaced(t *testing.T) {
	m := newMemory(t, nil)
	first := m.BeforeReply(context.Background(), say("one"))
	history := append(first.Messages, schema.AssistantMessage("1", nil), schema.UserMessage("two"))
	second := m.BeforeReply(context.Background(), history)
	require.Equal(t, 1, notes(second.Messages))
	require.True(t, einox.IsNote(second.Messages[2]))
	require.Equal(t, []string{"one", "two"}, m.backend.queries())
	require.NotEqual(t, first.Turn, second.Turn)
}

func TestASecondRunOfTheSameInputIsAnotherTurn(t *testing.T) {
	m := newMemory(t, nil)
	first := m.BeforeReply(context.Background(), say("one"))
	second := m.BeforeReply(context.Background(), first.Messages)
	require.NotEqual(t, first.Turn, second.Turn)
	require.Equal(t, 1, notes(second.Messages))
	require.Len(t, m.backend.queries(), 2)

	m.backend.texts = nil
	none := m.BeforeReply(context.Background(), say("two"))
	m.BeforeReply(context.Background(), none.Messages)
	require.Equal(t, []string{"one", "one", "two", "two"}, m.backend.queries(), "what a former run did not find is searched for again")
}

func TestNothingFoundIsNoNote(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Backend = &backend{} })
	r := m.BeforeReply(context.Background(), say("hi"))
	require.Nil(t, r.Note)
	require.Len(t, r.Messages, 1)
	m.fine(t)
}

func TestAFailingSearchDoesNotBreakTheReply(t *testing.T) {
	for name, find := range map[string]func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error){
		"error": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			return nil, backends.ErrUnavailable
		},
		"panic": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("boom") },
		"nil":   func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return nil, nil },
		"late": func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, func(c *hooks.Config) { c.SearchTimeout = 5 * time.Millisecond })
			m.backend.find = find
			r := m.BeforeReply(context.Background(), say("hi"))
			require.Nil(t, r.Note)
			m.AfterReply(context.Background(), r, []*schema.Message{schema.AssistantMessage("x", nil)}, true)
			require.Len(t, m.log.recorded(), 1, "the turn is written after a failed search")
			stages, _ := m.failures.seen()
			if name != "nil" {
				require.Equal(t, []string{hooks.StageSearch}, stages)
			}
		})
	}
}

func TestABackendThatIgnoresItsContextDoesNotHoldUpTheReply(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.SearchTimeout = time.Millisecond })
	release := make(chan struct{})
	m.backend.find = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		<-release
		return nil, nil
	}
	require.Nil(t, m.BeforeReply(context.Background(), say("hi")).Note)
	close(release)
	_, err := m.failures.seen()
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTheSearchHasADeadlineUnlessItIsSwitchedOff(t *testing.T) {
	for timeout, limited := range map[time.Duration]bool{0: true, time.Minute: true, -1: false} {
		m := newMemory(t, func(c *hooks.Config) { c.SearchTimeout = timeout })
		m.backend.find = func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			_, got := ctx.Deadline()
			require.Equal(t, limited, got)
			return nil, nil
		}
		m.BeforeReply(context.Background(), say("hi"))
		m.fine(t)
	}
}

func TestADegradedAnswerIsUsedAndReported(t *testing.T) {
	m := newMemory(t, nil)
	m.backend.find = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return &backends.SearchResponse{Hits: []backends.Hit{{Memory: backends.Memory{ID: "m", Text: tea}}}, Degraded: backends.ErrUnavailable}, nil
	}
	require.NotNil(t, m.BeforeReply(context.Background(), say("hi")).Note)
	stages, err := m.failures.seen()
	require.Equal(t, []string{hooks.StageSearch}, stages)
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestWritingFailsQuietly(t *testing.T) {
	for _, await := range []bool{false, true} {
		m := newMemory(t, func(c *hooks.Config) { c.AwaitWrite = await })
		m.log.err = backends.ErrUnavailable
		r := m.BeforeReply(context.Background(), say("hi"))
		m.AfterReply(context.Background(), r, nil, true)
		stages, err := m.failures.seen()
		require.Equal(t, []string{hooks.StageRecord}, stages)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.Empty(t, m.log.consolidated)
	}
}

// A turn that cannot be awaited because the store is away is kept for when it is
// back, and told of; one that can never be written is only told of.
func TestAwaitWriteKeepsATurnForLater(t *testing.T) {
	for cause, kept := range map[error]int{backends.ErrUnavailable: 1, context.DeadlineExceeded: 1, context.Canceled: 1, backends.ErrInvalid: 0} {
		m := newMemory(t, func(c *hooks.Config) { c.AwaitWrite = true })
		m.log.appendErr = cause
		r := m.BeforeReply(context.Background(), say("hi"))
		m.AfterReply(context.Background(), r, nil, true)
		stages, err := m.failures.seen()
		require.Equal(t, []string{hooks.StageRecord}, stages)
		require.ErrorIs(t, err, cause)
		require.Len(t, m.log.recorded(), kept, "%v", cause)
		require.Empty(t, m.log.consolidated)
	}
}

func TestAwaitWriteLearnsBeforeItReturns(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.AwaitWrite = true })
	r := m.BeforeReply(context.Background(), say("hi"))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	m.AfterReply(cancelled, r, []*schema.Message{schema.AssistantMessage("x", nil)}, false)
	require.Equal(t, 1, m.log.appended, "what was said is kept though the run was cancelled")
	require.Empty(t, m.log.consolidated, "an open turn is not learnt from")
	m.AfterReply(context.Background(), r, []*schema.Message{schema.AssistantMessage("x", nil)}, true)
	require.Equal(t, []backends.Scope{ann}, m.log.consolidated)
}

func TestAPanickingCallbackIsContained(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) {
		c.OnError = func(context.Context, string, error) { panic("callback") }
		c.Scope = backends.Scope{}
	})
	require.NotPanics(t, func() { m.BeforeReply(context.Background(), say("hi")) })
}

func TestThePlanDecides(t *testing.T) {
	for _, c := range []struct {
		plan      modes.Plan
		searches  int
		recorded  int
		tools     bool
		instructs bool
	}{
		{modes.Plan{}, 0, 0, false, false},
		{modes.Plan{Search: true}, 1, 0, false, false},
		{modes.Plan{Record: true}, 0, 1, false, false},
		{modes.Plan{Tools: true, Instruct: true}, 0, 0, true, true},
	} {
		m := newMemory(t, func(cfg *hooks.Config) { cfg.Plan = c.plan; cfg.Tools = append(cfg.Tools, echoTool(t)) })
		r := m.BeforeReply(context.Background(), say("hi"))
		m.AfterReply(context.Background(), r, nil, true)
		require.Len(t, m.backend.queries(), c.searches)
		require.Len(t, m.log.recorded(), c.recorded)
		mw := m.AgentMiddleware()
		require.Equal(t, c.tools, len(mw.AdditionalTools) > 0)
		require.Equal(t, c.instructs, mw.AdditionalInstruction != "")
	}
}

func TestSearchByAgentNarrowsTheSearchAndNotTheRecording(t *testing.T) {
	for _, by := range []bool{true, false} {
		m := newMemory(t, func(c *hooks.Config) { c.SearchByAgent = by; c.TopK = 3; c.Threshold = 0.2 })
		r := m.BeforeReply(context.Background(), say("hi"))
		req := m.backend.searches[0]
		require.Equal(t, 3, req.TopK)
		require.InDelta(t, 0.2, req.Threshold, 0)
		require.Equal(t, by, req.Filter != nil)
		m.AfterReply(context.Background(), r, nil, true)
		require.Equal(t, "bot", m.log.recorded()[0].Scope.AgentID)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]*hooks.Config{
		"nil":          nil,
		"no backend":   {},
		"braces":       {Backend: &backend{}, Instruction: "use {this}"},
		"scope":        {Backend: &backend{}, Scope: backends.Scope{UserID: "a*"}},
		"top k":        {Backend: &backend{}, TopK: -1},
		"language":     {Backend: &backend{}, Language: "fr"},
		"note tokens":  {Backend: &backend{}, Note: hooks.NoteConfig{Tokens: -1}},
		"note role":    {Backend: &backend{}, Note: hooks.NoteConfig{Role: schema.Tool}},
		"note's place": {Backend: &backend{}, Note: hooks.NoteConfig{Position: "anywhere"}},
	} {
		_, err := hooks.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
}

func TestTheConfigIsCopied(t *testing.T) {
	cfg := &hooks.Config{Backend: &backend{}, SessionKeys: &hooks.SessionKeys{UserID: "uid"}}
	before := *cfg
	_, err := hooks.New(cfg)
	require.NoError(t, err)
	require.Equal(t, before.Note, cfg.Note)
	require.Zero(t, cfg.TopK)
	require.Equal(t, "", cfg.SessionKeys.AgentID)
	require.True(t, errors.Is(err, nil))
}
