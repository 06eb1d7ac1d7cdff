// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/text"
)

// Who judged a call, or wrote a guideline.
const (
	byRules = "rules"
	byModel = "model"
)

// judgedAtOnce is how many calls one question to the model shows.
const judgedAtOnce = 8

// judge gives calls without a score one, by the model or by rules. Calls that the model
// could not judge stay without a score: the stage says why.
func (m *Memory) judge(ctx context.Context, run *ask.Run, calls []*Call, withModel bool) {
	var open []*Call
	for _, c := range calls {
		switch {
		case c.Score != nil:
		case withModel:
			open = append(open, c)
		default:
			c.judgeByRules()
		}
	}
	stage := run.Stage(stageJudge)
	stage.In(len(calls))
	stage.Out(len(calls) - len(open))
	batches := slices.Collect(slices.Chunk(open, judgedAtOnce))
	errs := each(len(batches), func(i int) error { return m.judgeByModel(ctx, run, batches[i]) })
	for i, err := range errs {
		if err != nil {
			stage.Fail(fmt.Errorf("%d calls stay without a score: %w", len(batches[i]), err))
			continue
		}
		stage.Out(len(batches[i]))
	}
}

// judgements are what a model answers by the tool tool_judge.
type judgements struct {
	List []judgement `json:"judgements" alias:"results" jsonschema:"required" jsonschema_description:"one for each call"`
}

type judgement struct {
	N          *int     `json:"n" jsonschema:"required" jsonschema_description:"of the call"`
	Score      *float64 `json:"score" jsonschema:"required" jsonschema_description:"1: the result is useful; 0: it is not"`
	Summary    string   `json:"summary" jsonschema_description:"one sentence"`
	Evaluation string   `json:"evaluation" jsonschema_description:"two or three sentences"`
}

// Check refuses judgements that cannot be used.
func (j *judgement) Check() error {
	switch {
	case j.N == nil:
		return errors.New("n of the call is missing")
	case j.Score == nil || *j.Score < 0 || *j.Score > 1:
		return errors.New("the score must be 0 or 1")
	}
	return nil
}

func (m *Memory) judgeByModel(ctx context.Context, run *ask.Run, calls []*Call) error {
	lines, material := make([]string, len(calls)), make([]Call, len(calls))
	for i, c := range calls {
		lines[i], material[i] = shown(i, c, m.cfg.PromptTokens/len(calls)), *c
	}
	l := m.languageOf(material)
	q := &ask.Question{System: m.prompts(l).Judge, User: fenced("calls", strings.Join(lines, "\n")), Tool: "tool_judge", Purpose: "Gives the judgements of calls.", Language: l}
	answer, err := ask.For(ctx, run, q, func(j *judgements) error {
		return ask.EachOnce("call", 0, len(calls), j.List, func(j judgement) int { return *j.N })
	})
	if err != nil {
		return err
	}
	for _, j := range answer.Value.List {
		c, score := calls[*j.N], binary(*j.Score)
		c.Summary, c.Evaluation = text.Middle(m.redact(j.Summary), m.cfg.MaxResult), text.Middle(m.redact(j.Evaluation), m.cfg.MaxResult)
		c.Score, c.Judge = &score, byModel
	}
	return nil
}

// judgeByRules scores a call by how it ended.
func (c *Call) judgeByRules() {
	score := 1.0
	if c.problem() != "" || reportsNothing(c.Output) {
		score = 0
	}
	c.Score, c.Judge = &score, byRules
}

// nothing are results that say that there is nothing, emptyJSON those that hold nothing.
var (
	nothing   = regexp.MustCompile(`(?i)^[\s\p{P}\p{S}]*((sorry,? )?(there (is|are|were) )?no (relevant |matching |such |search )?(results?|matches|records?|data|documents?|items?|entries|hits)( (was|were|are|is))?( (found|available|returned))?( for .{0,80})?|nothing( was)? found|not found|none|null|n/a|empty|0 results?( found)?|(没有|未|无|暂无)(找到|查到|搜索到|查询到|检索到|匹配|搜索|查询|相关)*(任何)?(相关|匹配)?的?(结果|数据|记录|内容|信息|文档)?)[\s\p{P}\p{S}]*$`)
	emptyJSON = regexp.MustCompile(`^\s*(\[\s*\]|\{\s*\}|\{\s*"(results?|data|items|hits|records|list)"\s*:\s*(\[\s*\]|\{\s*\}|null)\s*\}|"")\s*$`)
)

// reportsNothing reports whether a result is empty, or says that nothing was found.
func reportsNothing(output string) bool {
	if strings.TrimSpace(output) == "" {
		return true
	}
	return len(output) < 400 && (nothing.MatchString(output) || emptyJSON.MatchString(output))
}

// errorWords are beginnings of results that report an error in words, as tools do whose
// errors are handled for the model.
var errorWords = regexp.MustCompile(`(?i)^[\s\[("'*#]*(tool |runtime |internal |http |server )?(error|exception|failed|failure|fatal)\b["'\])*]*\s*[:：-]|^\s*traceback \(|^\s*(failed to|unable to|could not|cannot) |^\s*\{\s*"(error|err|error_?message|errmsg)"\s*:\s*("[^"]|\{|\[\s*[^\]\s]|true|[1-9])|^\s*\{\s*"(success|ok)"\s*:\s*false|^[\s【\["']*(工具|调用|请求|执行|操作|运行)?(错误|出错|失败|异常|报错)(了|信息)?[】\]"']*\s*([:：，,。！!]|$)`)

// reportsError reports whether a result is an error in words.
func reportsError(output string) bool { return errorWords.MatchString(text.TruncateBytes(output, 160)) }
