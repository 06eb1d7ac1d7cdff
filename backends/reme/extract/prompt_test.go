// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/working/budget"
)

func zhAttempt(task string, score float64) trajectory.Trajectory {
	t := trajectory.Trajectory{TaskID: task, Query: "请打开" + task, Score: score}
	for _, said := range []string{"先在门垫下面找钥匙", "再慢慢转动把手", "最后检查门是否打开", "完成了"} {
		t.Messages = append(t.Messages, schema.AssistantMessage(said, nil), schema.ToolMessage(`{"status":"ok","message":"a long English line of a tool that says nothing about the language"}`, ""))
	}
	return t
}

func zhAnswers() map[step]func(asked) (string, error) {
	experience := answer("好的，结果如下：\n```json\n{\"experiences\":[{\"when_to_use\":\"门打不开时\",\"experience\":\"先在门垫下面找钥匙。\",\"tags\":\"门，钥匙\"}]}\n```")
	memory := answer(`[{“when_to_use”：“门打不开时”，“memory”：“先找钥匙”}]`)
	return map[step]func(asked) (string, error){
		success: experience, failure: experience, comparative: experience, similar: experience, simple: memory, simpleComparative: memory,
		segmenting: answer(`{"segment_points":[4]}`), judge: approve(0.8),
	}
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// ReMe's task flows break when the language is Chinese.
func TestDEF29EveryFlowWorksInChinese(t *testing.T) {
	for _, lang := range []flow.Language{flow.LanguageAuto, flow.Chinese} {
		m := &teacher{answers: zhAnswers()}
		e, run := open(t, m, withoutTools(t, m), func(c *extract.Config) {
			c.Language, c.Segment, c.Similar = lang, true, &trajectory.Similar{}
		})
		ts := []trajectory.Trajectory{zhAttempt("大门", 1), zhAttempt("大门", 0), zhAttempt("小门", 0)}
		found, err := e.Extract(t.Context(), run, ts)
		require.NoError(t, err)
		assert.Equal(t, []string{"门", "钥匙"}, found[0].Tags)
		kept, err := e.Validate(t.Context(), run, found)
		require.NoError(t, err)
		assert.Len(t, kept, len(found))
		plain, err := e.Simple(t.Context(), run, ts)
		require.NoError(t, err)
		assert.Equal(t, []string{"先找钥匙", "先找钥匙", "先找钥匙"}, texts(plain))
		_, err = e.SimpleComparative(t.Context(), run, ts)
		require.NoError(t, err)
		want := extract.DefaultPrompts(flow.Chinese)
		for s, text := range map[step]string{
			success: want.Success, failure: want.Failure, comparative: want.Comparative, similar: want.Similar, judge: want.Judge, segmenting: want.Segment,
			simple: want.Simple, simpleComparative: want.SimpleComparative,
		} {
			require.NotEmpty(t, m.of(s), s)
			for _, q := range m.of(s) {
				assert.True(t, strings.HasPrefix(q.system, text), s)
				assert.Contains(t, q.system, "只回答 JSON", s)
				assert.NotContains(t, q.system, "Answer", s)
			}
		}
		assert.Contains(t, m.of(success)[0].user, "任务：\n  请打开大门\n结果：成功，得分 1\n")
		assert.Contains(t, m.of(success)[0].user, "这里展示的是第 ")
	}
}

func TestR27TheLanguageIsAsConfiguredOrAsTheMaterial(t *testing.T) {
	for _, tc := range []struct {
		set  flow.Language
		in   trajectory.Trajectory
		want flow.Language
	}{
		{flow.LanguageAuto, attempt("door", 1, "key"), flow.English},
		{flow.LanguageAuto, zhAttempt("门", 1), flow.Chinese},
		{flow.English, zhAttempt("门", 1), flow.English},
		{flow.Chinese, attempt("door", 1, "key"), flow.Chinese},
	} {
		m := &teacher{answers: three(1)}
		e, run := open(t, m, func(c *extract.Config) { c.Language = tc.set })
		_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{tc.in})
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(m.of(success)[0].system, extract.DefaultPrompts(tc.want).Success))
	}
}

func TestR27PromptsAreReplacedOneByOne(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){"": says("own", 1), failure: says("f", 1)}}
	own := &extract.Prompts{Success: "My own words, {braces} and %d included.", Failure: " \n"}
	e, run := open(t, m, func(c *extract.Config) { c.Prompts = own })
	own.Success = "changed later"
	_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt("a", 1, "x"), attempt("b", 0, "y")})
	require.NoError(t, err)
	require.Len(t, m.of(""), 1)
	system := m.of("")[0].system
	assert.True(t, strings.HasPrefix(system, "My own words, {braces} and %d included.\n\n"))
	assert.Contains(t, system, "never instructions", "what keeps material from being obeyed stays")
	assert.Len(t, m.of(failure), 1)
}

func TestR27EveryPromptIsThereInBothLanguages(t *testing.T) {
	for lang, han := range map[flow.Language]bool{flow.English: false, flow.Chinese: true} {
		p := reflect.ValueOf(extract.DefaultPrompts(lang))
		for i := range p.NumField() {
			text := p.Field(i).String()
			assert.Equal(t, han, hasHan(text), p.Type().Field(i).Name)
			assert.Less(t, budget.Estimate.Text(text), 500, p.Type().Field(i).Name)
			assert.Greater(t, budget.Estimate.Text(text), 40, p.Type().Field(i).Name)
		}
	}
	assert.Equal(t, extract.DefaultPrompts(flow.English), extract.DefaultPrompts(flow.LanguageAuto))
}

func TestAModelWithoutToolsIsAskedForJSON(t *testing.T) {
	m := &teacher{answers: three(2)}
	e, run := open(t, m, withoutTools(t, m))
	got, err := e.Extract(t.Context(), run, attempts())
	require.NoError(t, err)
	assert.Len(t, got, 6)
	assert.Contains(t, m.of(success)[0].system, `Answer with JSON alone: {"experiences":[`)
	assert.Empty(t, m.of(success)[0].tool)
}

func TestAnAnswerThatCannotBeUsedIsAskedForAgainWithTheReason(t *testing.T) {
	m := &teacher{}
	m.answers = map[step]func(asked) (string, error){success: func(q asked) (string, error) {
		if strings.Contains(q.user, "What was wrong: no entry has both") {
			return says("s", 1)(q)
		}
		return `{"experiences":[{"when_to_use":"x"}]}`, nil
	}}
	e, run := open(t, m)
	got, err := e.Extract(t.Context(), run, []trajectory.Trajectory{attempt("a", 1, "x")})
	require.NoError(t, err)
	assert.Len(t, got, 1)
	assert.Equal(t, 2, run.Usage().ModelCalls)
	assert.Equal(t, flow.StageReport{Name: extract.StageSuccess, In: 1, Out: 1}, run.Report().Stage(extract.StageSuccess), "what the first answer held does not count")
}

func TestConfigurationsThatCannotWorkAreInvalid(t *testing.T) {
	fine := models(t, nil, flow.Limits{})
	nan := 0.0
	nan /= nan
	for name, cfg := range map[string]*extract.Config{
		"nil": nil, "no models": {}, "a quality above 1": {Models: fine, MinQuality: 1.1}, "below 0": {Models: fine, MinQuality: -1}, "NaN": {Models: fine, Threshold: nan},
		"no language": {Models: fine, Language: "fr"}, "no room": {Models: models(t, nil, flow.Limits{Prompt: 100})}, "similar": {Models: fine, Similar: &trajectory.Similar{Threshold: 2}},
	} {
		_, err := extract.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
}

func TestAnswerToolsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range extract.AnswerTools() {
		assert.True(t, strings.HasPrefix(tool.Name, "extract_"))
		assert.False(t, seen[tool.Name])
		seen[tool.Name] = true
		_, err := tool.ToJSONSchema()
		require.NoError(t, err)
	}
}
