// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/internal/transcript/drawn"
)

func TestProvidersTakeWhatIsNotBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := transcript.New(drawn.Source(t), &transcript.Shape{Logged: true, Plain: rapid.Bool().Draw(t, "plain")})
		require.NoError(t, transcript.Check(h.Messages))
	})
}

// What carries a number is in the log under that number, and the log is whole.
func TestTheLogHoldsWhatIsNumbered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := transcript.New(drawn.Source(t), &transcript.Shape{Logged: true, Broken: true})
		for i, m := range h.Log {
			require.Equal(t, int64(i+1), einox.SeqOf(m))
			require.NotEmpty(t, einox.TurnOf(m))
			require.False(t, einox.IsNote(m))
		}
		last := int64(0)
		for _, m := range h.Messages {
			n := einox.SeqOf(m)
			if n == 0 {
				continue
			}
			if einox.IsSummary(m) {
				require.Zero(t, last, "the oldest leave first")
			} else {
				require.Equal(t, last+1, n, "in order and without gaps")
				require.Same(t, h.Log[n-1], m)
			}
			last = n
		}
		require.True(t, last == 0 || last == int64(len(h.Log)), "the newest of the log is in the context")
	})
}

// seen are the features that TestEverySortComesUp looks for.
var seen = map[string]func(h *transcript.History) bool{
	"no system prompt":       func(h *transcript.History) bool { return h.Messages[0] != nil && h.Messages[0].Role != schema.System },
	"several system prompts": func(h *transcript.History) bool { return count(h, role(schema.System)) > 1 },
	"five calls at once":     has(func(m *schema.Message) bool { return len(m.ToolCalls) == 5 }),
	"an agent as a tool":     has(func(m *schema.Message) bool { return m.ToolName == "research_agent" }),
	"calls without a word":   has(func(m *schema.Message) bool { return len(m.ToolCalls) > 0 && m.Content == "" }),
	"calls with words":       has(func(m *schema.Message) bool { return len(m.ToolCalls) > 0 && m.Content != "" }),
	"ids that come again":    has(func(m *schema.Message) bool { return m.ToolCallID == "call_0" }),
	"an empty result":        has(func(m *schema.Message) bool { return m.Role == schema.Tool && m.Content == "" }),
	"a huge result": has(func(m *schema.Message) bool {
		return m.Role == schema.Tool && compaction.Estimate.Message(m) > 3000
	}),
	"a huge question":    has(func(m *schema.Message) bool { return m.Role == schema.User && compaction.Estimate.Message(m) > 3000 }),
	"a huge line":        has(func(m *schema.Message) bool { return len(m.Content) > 8000 && !strings.Contains(m.Content, "\n") }),
	"a huge word":        has(func(m *schema.Message) bool { return len(m.Content) > 8000 && !strings.ContainsAny(m.Content, " \n{") }),
	"Chinese":            says("会议"),
	"Japanese":           says("とどきました"),
	"emoji":              says("🎉"),
	"what pretends":      says("</summary>"),
	"a picture":          has(func(m *schema.Message) bool { return len(m.UserInputMultiContent) > 0 }),
	"an old picture":     has(func(m *schema.Message) bool { return len(m.MultiContent) > 0 }),
	"a drawn picture":    has(func(m *schema.Message) bool { return len(m.AssistantGenMultiContent) > 0 }),
	"reasoning":          has(func(m *schema.Message) bool { return m.ReasoningContent != "" }),
	"a note":             has(einox.IsRecalled),
	"a core message":     has(einox.IsCore),
	"a stand-in":         has(einox.IsSummary),
	"nothing from a log": func(h *transcript.History) bool { return h.Log == nil },
	"all from a log": func(h *transcript.History) bool {
		return len(h.Log) > 0 && einox.SeqOf(last(h)) > 0
	},
	"some from a log": func(h *transcript.History) bool {
		return len(h.Log) > 0 && einox.SeqOf(last(h)) == 0
	},
	"ends with a question": func(h *transcript.History) bool { return last(h).Role == schema.User },
	"ends with a result":   func(h *transcript.History) bool { return last(h).Role == schema.Tool },
	"ends with an answer":  func(h *transcript.History) bool { return last(h).Role == schema.Assistant },
	"calls and nothing more": breaks(func(v *transcript.Violation, h *transcript.History) bool {
		return v.Rule == transcript.RuleUnanswered && v.Index == len(h.Messages)
	}),
	"calls and then something else": breaks(func(v *transcript.Violation, h *transcript.History) bool {
		return v.Rule == transcript.RuleUnanswered && v.Index < len(h.Messages)
	}),
	"a result of nothing":      breaks(func(v *transcript.Violation, _ *transcript.History) bool { return v.Rule == transcript.RuleOrphan }),
	"a role that nobody knows": breaks(rule(transcript.RuleRole)),
	"a nil":                    breaks(rule(transcript.RuleNil)),
	"nothing said":             breaks(rule(transcript.RuleContent)),
	"calls with the same id":   breaks(rule(transcript.RuleCallID)),
	"a greeting": func(h *transcript.History) bool {
		return ruleOf(transcript.Anthropic(h.Messages)) == transcript.RuleFirst
	},
	"a result twice": breaks(func(v *transcript.Violation, _ *transcript.History) bool { return v.Rule == transcript.RuleTwice }),
}

func TestEverySortComesUp(t *testing.T) {
	missing := make(map[string]bool)
	for name := range seen {
		missing[name] = true
	}
	for seed := range uint64(1000) {
		h := transcript.New(transcript.Seed(seed), &transcript.Shape{Broken: true, Logged: true})
		for name := range missing {
			if seen[name](h) {
				delete(missing, name)
			}
		}
	}
	require.Empty(t, missing)
}

func TestASeedMakesTheSameAgain(t *testing.T) {
	made := func(seed uint64) string {
		h := transcript.New(transcript.Seed(seed), &transcript.Shape{Broken: true, Logged: true})
		text, err := json.Marshal(h)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, made(7), made(7))
	require.NotEqual(t, made(7), made(8))
}

func TestPlainIsTextAndCalls(t *testing.T) {
	for seed := range uint64(200) {
		h := transcript.New(transcript.Seed(seed), &transcript.Shape{Plain: true, Rounds: 4, Exchanges: 1, Calls: 1})
		require.LessOrEqual(t, count(h, role(schema.User)), 4)
		for _, m := range h.Messages {
			require.Empty(t, m.ReasoningContent)
			require.False(t, einox.IsNote(m))
			require.LessOrEqual(t, len(m.ToolCalls), 1)
			require.Empty(t, m.MultiContent)
			require.Empty(t, m.UserInputMultiContent)
			require.Empty(t, m.AssistantGenMultiContent)
		}
	}
}

func last(h *transcript.History) *schema.Message {
	if m := h.Messages[len(h.Messages)-1]; m != nil {
		return m
	}
	return &schema.Message{}
}

func count(h *transcript.History, is func(*schema.Message) bool) int {
	n := 0
	for _, m := range h.Messages {
		if m != nil && is(m) {
			n++
		}
	}
	return n
}

func has(is func(*schema.Message) bool) func(*transcript.History) bool {
	return func(h *transcript.History) bool { return count(h, is) > 0 }
}

func says(text string) func(*transcript.History) bool {
	return has(func(m *schema.Message) bool { return strings.Contains(m.Content, text) })
}

func role(r schema.RoleType) func(*schema.Message) bool {
	return func(m *schema.Message) bool { return m.Role == r }
}

func rule(r transcript.Rule) func(*transcript.Violation, *transcript.History) bool {
	return func(v *transcript.Violation, _ *transcript.History) bool { return v.Rule == r }
}

func ruleOf(err error) transcript.Rule {
	var v *transcript.Violation
	if errors.As(err, &v) {
		return v.Rule
	}
	return ""
}

func breaks(f func(*transcript.Violation, *transcript.History) bool) func(*transcript.History) bool {
	return func(h *transcript.History) bool {
		var v *transcript.Violation
		return errors.As(transcript.OpenAI(h.Messages), &v) && f(v, h)
	}
}
