// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// Which tools were called is kept however often a running round is summarised:
// the newest calls with their arguments, of the older ones how many of each.
func TestCallsAreCarriedAlong(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	c := compactorOf(t, 1600, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000})
	v := newVault()
	now := work(0, 0)
	for n := 1; n <= 60; n++ {
		now = append(now, work(n, 800)[2*n:]...)
		r, err := c.Compact(t.Context(), &compaction.Request{Messages: now, Archive: v})
		require.NoError(t, err, n)
		now = r.Messages
	}
	text := now[2].Content
	_, list, _ := strings.Cut(text, "## Tools called\n")
	lines := strings.Split(list, "\n")
	summarised := 60 - strings.Count(strings.Join(outline(now), "\n"), "assistant: search")
	require.Regexp(t, `^- \d+ earlier calls: search ×\d+$`, lines[0])
	earlier := 0
	_, err := fmt.Sscanf(lines[0], "- %d earlier", &earlier)
	require.NoError(t, err)
	named := lines[1 : len(lines)-1]
	require.NotEmpty(t, named)
	require.Equal(t, summarised, earlier+len(named), "no call is forgotten")
	require.Equal(t, fmt.Sprintf(`- search({"page":%d})`, summarised), named[len(named)-1])
	require.Contains(t, text, fmt.Sprintf("place of %d messages", 2*summarised))
	require.Less(t, quarters.Text(text), 500, "it does not grow")
}

// However many tools there are, the list of those that were called stays short, and
// their calls are counted.
func TestToolsAreCountedTogether(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	c := compactorOf(t, 1600, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000})
	v := newVault()
	now := work(0, 0)
	for n := 1; n <= 60; n++ {
		step := work(n, 800)[2*n:]
		step[0].ToolCalls[0].Function.Name = fmt.Sprintf("tool_%d", n)
		r, err := c.Compact(t.Context(), &compaction.Request{Messages: append(now, step...), Archive: v})
		require.NoError(t, err, n)
		now = r.Messages
	}
	_, list, _ := strings.Cut(now[2].Content, "## Tools called\n")
	lines := strings.Split(list, "\n")
	require.Equal(t, 12, strings.Count(lines[0], " ×"), lines[0])
	require.Contains(t, lines[0], "… ×")
	earlier := 0
	_, err := fmt.Sscanf(lines[0], "- %d earlier", &earlier)
	require.NoError(t, err)
	summarised := 60 - strings.Count(strings.Join(outline(now), "\n"), "assistant: tool_")
	require.Equal(t, summarised, earlier+len(lines)-2, "no call is forgotten")
}

// However often it is summarised, archives do not nest without end, and all comes
// back.
func TestSummariesDoNotNestWithoutEnd(t *testing.T) {
	d := newDisk(t)
	m := testkit.New(harbour.calls(t), harbour.calls(t), testkit.Fail(errRateLimit), harbour.calls(t))
	c := compactorOf(t, 2500, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000, KeepShare: 0.1}, compaction.ArchiveCurrent{})
	all := work(1300, 800)
	now := all[:2]
	most := 0
	for n := 1; n <= 1300; n++ {
		now = append(now[:len(now):len(now)], all[2*n:2*n+2]...)
		r, err := c.Compact(t.Context(), &compaction.Request{Messages: now, Archive: d.archive})
		require.NoError(t, err, n)
		now = r.Messages
		most = max(most, len(d.names))
	}
	require.Greater(t, most, 120)
	back, err := d.archive.Restore(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, texts(all), texts(back))
}

// What only stands in for messages that no model has seen is carried along as it
// is: it is neither summarised away nor passed off as a summary.
func TestStandInsAreCarriedAlong(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	in := chat(12, 400)
	gap := schema.UserMessage("[Earlier messages are in the archive log-1-4.\nRead them there.]")
	einox.MarkSummary(gap)
	in = append([]*schema.Message{in[0], einox.MarkSeq(einox.MarkRef(gap, "log-1-4"), 4)}, in[5:]...)
	c := compactorOf(t, 1200, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000})
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	const kept = "\n## Not summarised\n- [Earlier messages are in the archive log-1-4. Read them there.]\n"
	require.Contains(t, r.Messages[1].Content, kept)
	require.EqualValues(t, 20, r.Summary.Upto)

	again := append([]*schema.Message{}, r.Messages...)
	again = append(again[:len(again)-1], chat(20, 400)[25:]...)
	r, err = c.Compact(t.Context(), &compaction.Request{Messages: again, Archive: v})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 2)
	require.Contains(t, r.Messages[1].Content, kept)
}

// Only so many are listed; all are in the archive.
func TestManyStandIns(t *testing.T) {
	in := chat(12, 400)[:1]
	for n := range 30 {
		gap := schema.UserMessage(fmt.Sprintf("[Earlier messages are in the archive a-%020d.]", n))
		einox.MarkSummary(gap)
		in = append(in, einox.MarkRef(gap, fmt.Sprintf("a-%020d", n)))
	}
	in = append(in, chat(12, 400)[1:]...)
	r, err := compactorOf(t, 1800, compaction.SummarizeRounds{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err, r.Steps)
	require.Equal(t, 12, strings.Count(r.Messages[1].Content, "\n- [Earlier messages"))
	require.Contains(t, r.Messages[1].Content, fmt.Sprintf("a-%020d", 29))
}

// What the free steps told of messages that no model has seen, goes into the
// summary when there is a model again: the former summary, the calls.
func TestFreeStandInsAreTakenOver(t *testing.T) {
	v := newVault()
	good := compactorOf(t, 1600, compaction.SummarizeCurrent{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000})
	free := compactorOf(t, 1600, compaction.ArchiveCurrent{})
	r, err := good.Compact(t.Context(), &compaction.Request{Messages: work(12, 800), Archive: v})
	require.NoError(t, err)
	r, err = free.Compact(t.Context(), &compaction.Request{Messages: append(r.Messages, work(18, 800)[26:]...), Archive: v})
	require.NoError(t, err)
	m := testkit.New(harbour.calls(t))
	good = compactorOf(t, 1600, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000})
	r, err = good.Compact(t.Context(), &compaction.Request{Messages: append(r.Messages, work(26, 800)[38:]...), Archive: v})
	require.NoError(t, err)
	require.Contains(t, m.Calls()[0][1].Content, "find out about the harbour", "the former summary is in the stand-in")
	text := r.Messages[2].Content
	require.True(t, einox.IsSummary(r.Messages[2]))
	require.Contains(t, text, "\n## Not summarised\n- [Moved to the archive: ")
	left := 26 - strings.Count(strings.Join(outline(r.Messages), "\n"), "assistant: search")
	require.Contains(t, text, fmt.Sprintf("place of %d messages", 2*left))
	_, list, _ := strings.Cut(text, "## Tools called\n")
	named, earlier := strings.Count(list, "- search("), 0
	if strings.Contains(list, "earlier calls") {
		_, err = fmt.Sscanf(list, "- %d earlier", &earlier)
		require.NoError(t, err)
	}
	require.Equal(t, left, named+earlier, list)
}

// An agent without the tools is not told to call them.
func TestSummaryWithoutTools(t *testing.T) {
	c, err := compaction.New(&compaction.Config{Budget: exactly(1600), NoTools: true, Language: compaction.LanguageEnglish,
		Steps: []compaction.Step{compaction.SummarizeRounds{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000}}})
	require.NoError(t, err)
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
	require.NoError(t, err)
	require.NotContains(t, r.Messages[1].Content, "read_working_memory")
	require.True(t, strings.HasSuffix(r.Messages[1].Content, "\n[The messages themselves are in the archive log-1-14.]"))
}

// The frame follows the configured language, or the user's; what is said stays in
// its own.
func TestLanguages(t *testing.T) {
	for name, tc := range map[string]struct {
		language compaction.Language
		last     string
		want     string
	}{
		"en":           {compaction.LanguageEnglish, "现在呢？", "## Facts and decisions\n- the harbour is closed"},
		"zh":           {compaction.LanguageChinese, "and now?", "## 事实与决定\n- the harbour is closed"},
		"auto Chinese": {compaction.LanguageAuto, "那现在呢？", "## 事实与决定\n- the harbour is closed"},
		"auto English": {compaction.LanguageAuto, "and now?", "## Facts and decisions\n- the harbour is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			m := testkit.New(harbour.calls(t))
			c, err := compaction.New(&compaction.Config{Budget: exactly(1600), Language: tc.language,
				Steps: []compaction.Step{compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}}})
			require.NoError(t, err)
			in := chat(10, 400)
			in[len(in)-1] = schema.UserMessage(tc.last)
			v := newVault()
			r, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
			require.NoError(t, err)
			require.Contains(t, r.Messages[1].Content, tc.want)
			chinese := strings.Contains(tc.want, "事实")
			require.Equal(t, chinese, strings.Contains(m.Calls()[0][0].Content, "不要翻译"))
			require.Equal(t, !chinese, strings.Contains(m.Calls()[0][0].Content, "do not translate"))

			// a summary is read again whatever the language is now
			other, err := compaction.New(&compaction.Config{Budget: exactly(700), Language: compaction.LanguageChinese,
				Steps: []compaction.Step{compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}}})
			require.NoError(t, err)
			r, err = other.Compact(t.Context(), &compaction.Request{Messages: r.Messages, Archive: v})
			require.NoError(t, err)
			require.Contains(t, r.Messages[1].Content, "较早的 18 条消息")
			require.Contains(t, m.Calls()[1][1].Content, `"role":"summary","text":"## `)
			require.NotContains(t, m.Calls()[1][1].Content, "log-1-14")
		})
	}
}

// A Chinese conversation, and a model that answers in Chinese.
func TestChineseSummary(t *testing.T) {
	m := testkit.New(answer{Goal: "查明港口何时开放", Directives: []string{"回答要简短"}, Facts: []string{"港口因暴风雨关闭"}}.calls(t))
	var in []*schema.Message
	for n := range 12 {
		in = append(in, schema.UserMessage(strings.Repeat(fmt.Sprintf("第%d个问题：港口什么时候开放？", n), 30)), schema.AssistantMessage(strings.Repeat("港口因暴风雨关闭了。", 40), nil))
	}
	in = append(in, schema.UserMessage("现在呢？"))
	c, err := compaction.New(&compaction.Config{Budget: exactly(1600), Steps: []compaction.Step{compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}}})
	require.NoError(t, err)
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(r.Messages[0].Content, "[记忆：本摘要代替了对话中较早的 20 条消息。"), r.Messages[0].Content)
	require.Contains(t, r.Messages[0].Content, "\n## 用户的要求\n- 回答要简短\n## 事实与决定\n- 港口因暴风雨关闭\n[原消息存于归档 ")
}

// A result is shown with its tool, a call with its arguments.
func TestToolsAreShown(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	_, err := compactorOf(t, 1600, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: work(10, 800), Archive: newVault()})
	require.NoError(t, err)
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"assistant","calls":[{"tool":"search","arguments":"{\"page\":1}"}]}`+"\n"+`{"role":"tool","tool":"search","text":"page 1 says`)
}

// Images and reasoning: the model learns that there was a picture; what was only
// thought is left out.
func TestWhatIsShownOfAMessage(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := chat(10, 400)
	url := "https://example.org/harbour.png"
	in[1] = einox.MarkSeq(&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: padded("what is this?", 400)},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
	}}, 1)
	thinking := *in[2]
	thinking.ReasoningContent = "hmm, a picture"
	in[2] = &thinking
	_, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	shown := m.Calls()[0][1].Content
	require.Regexp(t, `"text":"what is this\? x+ \[image\]"`, shown)
	require.NotContains(t, shown, "hmm")
}

// The fixed part of a call is small.
func TestPromptSize(t *testing.T) {
	for _, l := range []compaction.Language{compaction.LanguageEnglish, compaction.LanguageChinese} {
		m := testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			s, err := o.Tools[0].ToJSONSchema()
			require.NoError(t, err)
			tool, err := json.Marshal(s)
			require.NoError(t, err)
			fixed := budget.Estimate.Text(in[0].Content + string(tool) + o.Tools[0].Name + o.Tools[0].Desc)
			require.Less(t, fixed, 600)
			return nil, errRateLimit
		})
		c, err := compaction.New(&compaction.Config{Budget: exactly(1600), Language: l, Steps: []compaction.Step{compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}}})
		require.NoError(t, err)
		_, _ = c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
		require.Len(t, m.Calls(), 1)
	}
}
