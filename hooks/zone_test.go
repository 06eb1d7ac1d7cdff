// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	count "github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/modes"
)

// Thursday, 23:30 in UTC.
func lateOnThursday() time.Time { return time.Date(2026, 11, 26, 23, 30, 0, 0, time.UTC) }

func TestTheNoteIsInTheZoneOfThePerson(t *testing.T) {
	oslo, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		t.Skip("no zones here: ", err)
	}
	note := func(m *memory, options ...adk.AgentRunOption) string {
		var shown string
		chat := testkit.New(func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
			shown = in[0].Content
			return schema.AssistantMessage("ok", nil), nil
		})
		agent, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{Name: "bot", Description: "an assistant", Model: chat})
		require.NoError(t, err)
		testkit.Drain(m.WrapRunner(adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent})).Query(t.Context(), "What do I like?", options...))
		first, _, _ := strings.Cut(shown, "\n")
		return first
	}
	in := func(zone any) adk.AgentRunOption { return adk.WithSessionValues(map[string]any{"time_zone": zone}) }
	utc, shanghai := "Today is Thursday, 26 November 2026, 23:30 (UTC).", "Today is Friday, 27 November 2026, 07:30 (Asia/Shanghai)."

	m := newMemory(t, func(s *setup) { s.noLog, s.Clock = true, lateOnThursday })
	require.Equal(t, utc, note(m))
	require.Equal(t, shanghai, note(m, in("Asia/Shanghai")))
	require.Empty(t, m.failures.Stages())
	for range 3 {
		require.Equal(t, utc, note(m, in("Mars/Olympus")), "a bad name is ignored")
	}
	require.Len(t, m.failures.At(hooks.StageZone), 1, "and reported once")
	require.Equal(t, utc, note(m, in(8.5)))
	require.Len(t, m.failures.At(hooks.StageZone), 2)

	m = newMemory(t, func(s *setup) { s.noLog, s.Clock, s.Location = true, lateOnThursday, oslo })
	require.Equal(t, "Today is Friday, 27 November 2026, 00:30 (Europe/Oslo).", note(m))
	m.backend.Standing = []backends.Hit{{Memory: backends.Memory{Text: "The user lives in Shanghai", Metadata: map[string]any{"time_zone": "Asia/Shanghai"}}}}
	require.Equal(t, shanghai, note(m), "known of the person")
	require.Equal(t, utc, note(m, in("UTC")), "the run says more")
}

func TestASmallMemoryIsAskedForWhole(t *testing.T) {
	for _, c := range []struct {
		message      string
		tokens, want int
	}{
		{"What is the capital of Peru?", 0, 300},
		{"What is the capital of Peru?", 500, 500},
		{"What is the capital of Peru?", -1, -1},
		{"What do I like?", 0, 1000},
		{"晚饭吃什么好？", 0, 1000},
		{"What do I like?", 2000, 2000},
		{"What do I like?", -1, -1},
	} {
		m := newMemory(t, func(s *setup) { s.noLog, s.WholeTokens = true, c.tokens })
		_, err := m.Prepare(t.Context(), testkit.Say(c.message))
		require.NoError(t, err)
		require.Equal(t, c.want, m.backend.Searches()[0].Brief, c)
	}
}

// Ten facts, two of them standing, with the days on which they were said.
func TestANoteOfTenFactsIsShort(t *testing.T) {
	for question, facts := range map[string][]string{
		"Any news?": {"The user is allergic to peanuts.", "The user wants answers in bullet points.", "The user lives in Shanghai with two flatmates.", "The user works as a nurse at the children's hospital.",
			"The user has a dog called Rex.", "The user's sister Eva lives in Bergen.", "The user is learning Spanish for a trip to Peru.", "The user runs ten kilometres every Sunday.", "The user's budget for the new flat is 900 euros a month.", "The user does not like cilantro."},
		"有什么消息？": {"用户对花生过敏。", "用户希望回答用要点列出。", "用户和两个室友住在上海。", "用户在儿童医院当护士。", "用户有一只叫旺财的狗。", "用户的姐姐住在杭州。", "用户正在学西班牙语，准备去秘鲁旅行。", "用户每周日跑十公里。", "用户新公寓的预算是每月六千元。", "用户不喜欢香菜。"},
	} {
		var hits []backends.Hit
		for i, f := range facts {
			hits = append(hits, backends.Hit{Memory: backends.Memory{ID: fmt.Sprintf("id-%d", i), Kind: backends.KindFact, Text: f, Observed: day(i), Origin: backends.Origin{Role: "user"}}})
		}
		m := newMemory(t, func(s *setup) {
			s.noLog, s.Clock, s.Mode = true, lateOnThursday, modes.StaticControl
			s.backend = &testkit.Backend{Found: hits, Standing: hits[:2]}
		})
		out, err := m.Prepare(t.Context(), testkit.Say(question))
		require.NoError(t, err)
		require.LessOrEqual(t, count.Tokens(out[0].Content), 300, out[0].Content)
		for _, f := range facts[2:] {
			require.Contains(t, out[0].Content, "- "+f)
		}
		t.Log(count.Tokens(out[0].Content), out[0].Content)
	}
}
