// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/middleware"
)

// clearing is Eino's own reduction, set to clear early. It writes into the
// messages of the state.
func clearing(t testing.TB) adk.AgentMiddleware {
	t.Helper()
	m, err := reduction.NewToolResultMiddleware(context.Background(), &reduction.ToolResultConfig{
		ClearingTokenThreshold: 100, KeepRecentTokens: 1200, Backend: nowhere{},
	})
	require.NoError(t, err)
	return m
}

// nowhere is where the reduction writes results that are too large: none is here.
type nowhere struct{}

func (nowhere) Write(context.Context, *filesystem.WriteRequest) error {
	return errors.New("nothing was to be offloaded")
}

// summarising does what Eino's summarization of newer releases does: once the
// context has more than so many messages, one message in the role of the user
// stands in the place of all but the system's. With marked it says so itself.
func summarising(most int, marked bool) adk.AgentMiddleware {
	return adk.AgentMiddleware{BeforeChatModel: func(_ context.Context, s *adk.ChatModelAgentState) error {
		if len(s.Messages) <= most {
			return nil
		}
		summary := schema.UserMessage(fmt.Sprintf("Summary of %d messages. The user asked to read everything.", len(s.Messages)))
		if marked {
			summary.Extra = map[string]any{"_eino_summarization_content_type": "summary"}
		}
		s.Messages = []*schema.Message{s.Messages[0], summary}
		return nil
	}}
}

// With other middlewares that shrink the context before or after memory's, every
// context is valid and fits, and the log has every message once, as it was said.
func TestOtherMiddlewaresShrinkTheContextToo(t *testing.T) {
	const pages, words, tokens = 12, 200, 3000
	for name, chain := range map[string]func(m adk.AgentMiddleware) []adk.AgentMiddleware{
		"reduction before": func(m adk.AgentMiddleware) []adk.AgentMiddleware { return []adk.AgentMiddleware{clearing(t), m} },
		"reduction after":  func(m adk.AgentMiddleware) []adk.AgentMiddleware { return []adk.AgentMiddleware{m, clearing(t)} },
		"summarization before": func(m adk.AgentMiddleware) []adk.AgentMiddleware {
			return []adk.AgentMiddleware{summarising(8, true), m}
		},
		"summarization after": func(m adk.AgentMiddleware) []adk.AgentMiddleware {
			return []adk.AgentMiddleware{m, summarising(8, true)}
		},
		"unmarked summarization after": func(m adk.AgentMiddleware) []adk.AgentMiddleware {
			return []adk.AgentMiddleware{m, summarising(8, false)}
		},
		"both around": func(m adk.AgentMiddleware) []adk.AgentMiddleware {
			return []adk.AgentMiddleware{clearing(t), m, summarising(8, true)}
		},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %v", name, wrapped), func(t *testing.T) {
				cfg := windowed(tokens)
				cfg.Backend.(*fake).memories = []string{"Ann reads fast."}
				mem := open(t, cfg)
				newAgent(t, mem, readAll(0)...).reply(asAnn(), "Hello.")
				a, _ := reading(t, words, readAll(pages), chain(mem.AgentMiddleware())...)
				if wrapped {
					require.Equal(t, "I have read everything.", drain(t, mem.WrapRunner(a.runner).Query(asAnn(), "Read everything.")))
				} else {
					require.Equal(t, "I have read everything.", a.reply(asAnn(), "Read everything."))
				}
				for n, in := range a.model.Calls() {
					require.LessOrEqual(t, compaction.Budget{Window: tokens, Counter: compaction.Estimate}.Usage(in).Over(), 0, "call %d", n)
					require.NoError(t, transcript.Check(in), "call %d", n)
				}
				if !wrapped && name == "summarization before" {
					// It takes results away that memory has not seen: be first in the
					// chain, or wrap the runner.
					checkAnswers(t, cfg, pages)
					return
				}
				checkLog(t, cfg, pages, words)
			})
		}
	}
}

// checkLog checks that the log has the hello, and a reading of so many pages, each
// message once and in order.
func checkLog(t *testing.T, cfg *middleware.Config, pages, words int) {
	t.Helper()
	want := []string{"user: Hello.", "assistant: I have read everything.", "user: Read everything."}
	for n := range pages {
		want = append(want, "assistant: ", "tool: "+pageText(n, words))
	}
	require.Equal(t, brief(append(want, "assistant: I have read everything.")), brief(texts(logged(t, cfg.Sessions))))
}

// checkAnswers checks that the log has what the agent said, each message once and
// in order.
func checkAnswers(t *testing.T, cfg *middleware.Config, pages int) {
	t.Helper()
	var calls []string
	last := ""
	for _, e := range logged(t, cfg.Sessions) {
		for _, c := range e.ToolCalls {
			calls = append(calls, c.ID)
		}
		if e.Role == schema.User {
			require.NotContains(t, e.Content, "Summary", "nobody said that")
		}
		last = e.Content
	}
	require.Len(t, calls, pages)
	for n, id := range calls {
		require.Equal(t, fmt.Sprintf("c%d", n), id)
	}
	require.Equal(t, "I have read everything.", last)
}

// brief cuts texts, so that a difference can be read.
func brief(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = fmt.Sprintf("%.40s (%d)", text, len(text))
	}
	return out
}
