// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/toolmem"
)

func TestGuidelinesByRulesSayWhatFails(t *testing.T) {
	r := newRig(t, setup{})
	var all []toolmem.Call
	for n := range 6 {
		c := call("fetch", n)
		c.Input, c.Took = object("url", fmt.Sprint("https://a.example/", n), "limit", 10), 2*time.Second
		if n >= 3 {
			c.Input, c.Output, c.Error = object("url", "https://b.example", "limit", 100), "", "limit must be at most 50"
		}
		all = append(all, c)
	}
	r.record(t, all...)
	got := r.force(t, "fetch").Tools[0]
	assert.Equal(t, `- 3 of the last 6 calls served their purpose.
- An input that worked: {"limit":10,"url":"https://a.example/2"}
- 3 calls failed (invalid argument), such as with "limit must be at most 50". Check names, types and ranges of the arguments against the tool's description.
- 3 of 3 calls with limit=100 went badly: avoid it, or check it first.
- 3 of 3 calls with url="https://b.example" went badly: avoid it, or check it first.
- One call was made 3 times with the same failure (limit must be at most 50): {"limit":100,"url":"https://b.example"}. Never repeat a failed call unchanged.
- Expect about 2.0 s; nine of ten calls take at most 2.0 s.`, got.Guideline)
	assert.Equal(t, "rules", got.Memory.Origin.Author)
	assert.Equal(t, got.Guideline, r.tool(t, "fetch").Guideline)
	assert.Equal(t, got.Guideline, r.force(t, "fetch").Tools[0].Guideline, "the same calls give the same text")
}

func TestDEF29GuidelinesInChinese(t *testing.T) {
	zh := func() []toolmem.Call {
		var all []toolmem.Call
		for n := range 6 {
			c := call("天气", n)
			c.Input, c.Output = object("城市", fmt.Sprint("北京市第", n, "区")), "今天晴，气温二十度"
			if n%2 == 1 {
				c.Output, c.Error = "", "请求超时，请稍后再试"
			}
			all = append(all, c)
		}
		return all
	}
	r := newRig(t, setup{})
	r.record(t, zh()...)
	got := r.force(t, "天气").Tools[0]
	assert.Contains(t, got.Guideline, "最近的调用中有 3 次有用，共 6 次。")
	assert.Contains(t, got.Guideline, "3 次调用失败（超时），例如「请求超时，请稍后再试」。每次少要一些，或稍后再试。")
	assert.Contains(t, got.Memory.Text, "## 统计\n- 调用：最近 6 次，共 6 次")
	assert.Contains(t, got.Memory.Text, "- 错误：超时 3")
	assert.Equal(t, got.Guideline, r.tool(t, "天气").Guideline)
	assert.NotContains(t, got.Memory.Text, "%!")

	m := answering(func(_, user string) (string, error) { return `{"guideline":"先指定城市。"}`, nil })
	r = newRig(t, setup{model: textual{m}})
	r.record(t, zh()...)
	got = r.force(t, "天气").Tools[0]
	assert.Equal(t, "先指定城市。", got.Guideline)
	assert.Contains(t, m.Calls()[0][0].Content, "你要写下一个工具的最佳用法")
	assert.Contains(t, m.Calls()[0][0].Content, `只用 JSON 回答：{"guideline":"…"}`)
	r = newRig(t, setup{change: func(c *toolmem.Config) { c.Language = flow.English }})
	r.record(t, zh()...)
	assert.Contains(t, r.force(t, "天气").Tools[0].Memory.Text, "## Statistics", "as configured")
}

func TestR27PromptsCanBeReplaced(t *testing.T) {
	m := answering(func(string, string) (string, error) { return `no`, nil })
	r := newRig(t, setup{model: textual{m}, change: func(c *toolmem.Config) {
		c.Prompts = &toolmem.Prompts{Guideline: "MY PROMPT", Again: "MY COMPLAINT"}
	}})
	r.record(t, calls("x", 0, 3)...)
	_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
	require.ErrorIs(t, err, backends.ErrModel)
	assert.True(t, strings.HasPrefix(m.Calls()[0][0].Content, "MY PROMPT\n\nAnswer with JSON"))
	assert.Contains(t, m.Calls()[1][1].Content, "MY COMPLAINT the answer holds no JSON")
	for _, l := range []flow.Language{flow.English, flow.Chinese, flow.LanguageAuto} {
		p := toolmem.DefaultPrompts(l)
		for _, text := range []string{p.Judge, p.JudgeJSON, p.Guideline, p.GuidelineJSON, p.Again, p.Note} {
			assert.NotEmpty(t, text)
		}
	}
}
