// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/prompt"
	"github.com/einomem/einomem/backends/working/session"
)

var errDown = errors.New("down")

func sum(upto int64, text string) *session.Summary { return &session.Summary{Upto: upto, Text: text} }

// A search that failed is no search that found nothing.
func TestOnlyAnEmptyAnswerIsNothing(t *testing.T) {
	const nothing = "Memory was searched for the question and holds nothing about it."
	for name, tc := range map[string]struct {
		memory  fake
		request prompt.Request
		line    bool
		fails   error
	}{
		"nothing found":               {fake{}, prompt.Request{EmptyMemoryLine: true}, true, nil},
		"nothing found, not asked to": {fake{}, prompt.Request{}, false, nil},
		"in part":                     {fake{degraded: errDown}, prompt.Request{EmptyMemoryLine: true}, true, nil},
		"failed":                      {fake{err: errDown}, prompt.Request{EmptyMemoryLine: true}, false, errDown},
		"no answer":                   {fake{none: true}, prompt.Request{EmptyMemoryLine: true}, false, backends.ErrUnavailable},
		"not searched":                {fake{}, prompt.Request{EmptyMemoryLine: true, NoMemories: true}, false, nil},
		"all shown already":           {fake{hits: []backends.Hit{hit("m", "why")}}, prompt.Request{EmptyMemoryLine: true}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, compaction.Budget{Window: 8000})
			w.memory = &tc.memory
			w.cfg.Backend = w.memory
			tc.request.Question = "But why?"
			p := w.must(&tc.request)
			require.ErrorIs(t, p.Failed.Memories, tc.fails)
			require.Equal(t, tc.fails == nil, p.Failed.Err() == nil)
			require.Equal(t, tc.memory.degraded, p.Degraded)
			if tc.line {
				require.Equal(t, "--- user memory\n"+nothing+"\n--- user\nBut why?\n", show(p.Messages))
			} else {
				require.Equal(t, "--- user\nBut why?\n", show(p.Messages))
			}
		})
	}
}

func TestAFailedReadIsReported(t *testing.T) {
	w := newWorld(t, compaction.Budget{Window: 8000})
	w.memory.hits = []backends.Hit{hit("m1", "Ann likes tea")}
	w.say(schema.UserMessage("Hi."), schema.AssistantMessage("Hello.", nil))
	var err error
	w.cfg.Core, err = core.New(&core.Config{Records: broken{w.db}, Blocks: []core.Block{{Name: "human"}}})
	require.NoError(t, err)
	w.reads.err = errDown
	p := w.must(&prompt.Request{Question: "Why?"})
	require.ErrorIs(t, p.Failed.History, errDown)
	require.ErrorIs(t, p.Failed.Core, errDown)
	require.NoError(t, p.Failed.Memories)
	require.ErrorIs(t, p.Failed.Err(), errDown)
	require.Len(t, p.Messages, 2, "what is there is shown")
}

func TestNoSessionIsNoFailure(t *testing.T) {
	w := newWorld(t, compaction.Budget{Window: 8000})
	b, err := prompt.New(w.cfg)
	require.NoError(t, err)
	for _, s := range []backends.Scope{{UserID: "ann"}, {UserID: "ann", SessionID: "new"}} {
		p, err := b.Build(t.Context(), &prompt.Request{Scope: s, Question: "Why?"})
		require.NoError(t, err)
		require.NoError(t, p.Failed.Err())
		require.Len(t, p.Messages, 1)
	}
	p, err := b.Build(t.Context(), &prompt.Request{Scope: backends.Scope{SessionID: "s1"}, Question: "Why?"})
	require.NoError(t, err)
	require.ErrorIs(t, p.Failed.History, backends.ErrNoScope, "whose session?")
}

func TestWhatIsNoRequest(t *testing.T) {
	b, err := prompt.New(&prompt.Config{Budget: compaction.Budget{Window: 100}})
	require.NoError(t, err)
	for name, r := range map[string]*prompt.Request{
		"nil":                   nil,
		"no question":           {},
		"blank":                 {Question: " \n"},
		"two questions":         {Question: "a", Message: schema.UserMessage("b")},
		"an empty message":      {Message: schema.UserMessage("")},
		"of another role":       {Message: schema.AssistantMessage("b", nil)},
		"a message of memory's": {Message: markNote(schema.UserMessage("x"))},
	} {
		p, err := b.Build(t.Context(), r)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.Nil(t, p, name)
	}
}

func TestWhatIsNoConfig(t *testing.T) {
	for name, cfg := range map[string]*prompt.Config{
		"nil":            nil,
		"no budget":      {},
		"no language":    {Budget: compaction.Budget{Window: 100}, Language: "fr"},
		"negative limit": {Budget: compaction.Budget{Window: 100}, HistoryTokens: -1},
	} {
		_, err := prompt.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	cfg := &prompt.Config{Budget: compaction.Budget{Window: 100}}
	_, err := prompt.New(cfg)
	require.NoError(t, err)
	require.Equal(t, &prompt.Config{Budget: compaction.Budget{Window: 100}}, cfg, "a config is not changed")
}

func TestAnEndedContextIsAnError(t *testing.T) {
	w := newWorld(t, compaction.Budget{Window: 8000})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := prompt.New(w.cfg)
	require.NoError(t, err)
	_, err = b.Build(ctx, &prompt.Request{Scope: ann, Question: "Why?"})
	require.ErrorIs(t, err, context.Canceled)
}

// A backend that panics costs its part of the prompt, and not the process.
func TestAPanicOfABackendIsReported(t *testing.T) {
	w := newWorld(t, compaction.Budget{Window: 8000})
	w.cfg.Backend = panicking{}
	p := w.must(&prompt.Request{Question: "But why?", EmptyMemoryLine: true})
	require.ErrorContains(t, p.Failed.Memories, "panicked: index out of range")
	require.Equal(t, "--- user\nBut why?\n", show(p.Messages))
}

type panicking struct{ backends.Backend }

func (panicking) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	panic("index out of range")
}
