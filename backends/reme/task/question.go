// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/modelanswer"
)

// The tools by which the model answers. They are never run: their arguments are the
// answer.
const (
	toolQuery      = "task_query"
	toolRerank     = "task_rerank"
	toolRewrite    = "task_rewrite"
	toolDuplicates = "task_duplicates"
)

// forms are the same answers for models that call no tools.
var forms = map[string]string{
	toolQuery:      `{"query":"..."}`,
	toolRerank:     `{"reasoning":"...","ranked_indices":[0]}`,
	toolRewrite:    `{"rewritten_context":"..."}`,
	toolDuplicates: `{"decisions":[{"pair":0,"verdict":"same|merge|distinct","when_to_use":"...","content":"..."}]}`,
}

// AnswerTools returns the tools by which the model answers: a [flow.Models] for this
// package is made with them.
func AnswerTools() []*schema.ToolInfo {
	text := func(what string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.String, Desc: what}
	}
	must := func(p *schema.ParameterInfo) *schema.ParameterInfo { p.Required = true; return p }
	tool := func(name, what string, fields map[string]*schema.ParameterInfo) *schema.ToolInfo {
		return &schema.ToolInfo{Name: name, Desc: what, ParamsOneOf: schema.NewParamsOneOfByParams(fields)}
	}
	number := &schema.ParameterInfo{Type: schema.Integer}
	decision := map[string]*schema.ParameterInfo{
		"pair":        must(&schema.ParameterInfo{Type: schema.Integer, Desc: "the number of the pair"}),
		"verdict":     must(&schema.ParameterInfo{Type: schema.String, Enum: []string{"same", "merge", "distinct"}}),
		"when_to_use": text("for merge: the situation of the joined experience"),
		"content":     text("for merge: the joined experience"),
	}
	return []*schema.ToolInfo{
		tool(toolQuery, "Give what to look for.", map[string]*schema.ParameterInfo{"query": must(text("what to look for"))}),
		tool(toolRerank, "Give the order of the experiences.", map[string]*schema.ParameterInfo{
			"reasoning":      text("why, in a sentence"),
			"ranked_indices": must(&schema.ParameterInfo{Type: schema.Array, ElemInfo: number, Desc: "numbers, the most helpful first; empty if none helps"}),
		}),
		tool(toolRewrite, "Give the advice for the task.", map[string]*schema.ParameterInfo{"rewritten_context": must(text("the advice"))}),
		tool(toolDuplicates, "Decide every pair.", map[string]*schema.ParameterInfo{
			"decisions": must(&schema.ParameterInfo{Type: schema.Array, ElemInfo: &schema.ParameterInfo{Type: schema.Object, SubParams: decision}}),
		}),
	}
}

// ask puts one question to the model: what to do, the material, and how to answer.
func (m *Memory) ask(ctx context.Context, run *flow.Run, l flow.Language, tool, task, material string, read func(map[string]any) error) error {
	f := frameIn(l)
	form := f.byTool + " " + tool + "."
	if !m.models.ByTool() {
		form = f.byJSON + " " + forms[tool]
	}
	q := &flow.Question{
		System: task + "\n\n" + f.data, User: material + "\n\n" + form, Tool: tool,
		Complaint: func(err error) string { return f.bad + " " + err.Error() },
	}
	return run.Ask(ctx, q, func(out *schema.Message) error {
		o, err := answerIn(out, tool)
		if err != nil {
			return err
		}
		return read(o)
	})
}

var errNoObject = errors.New("the answer is no JSON object")

// answerIn returns the object that a model answered with. Of several, as of a model
// that calls the tool once an entry, the lists are one.
func answerIn(out *schema.Message, tool string) (map[string]any, error) {
	all, err := modelanswer.Of(out, tool)
	if err != nil {
		return nil, err
	}
	var joined map[string]any
	for _, v := range all {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, errNoObject
		}
		if joined == nil {
			joined = o
			continue
		}
		for key, x := range o {
			before, list := joined[key].([]any)
			if more, ok := x.([]any); ok && list {
				joined[key] = append(before, more...)
			}
		}
	}
	return joined, nil
}

// textOf reads a text that must be there.
func textOf(o map[string]any, key string) (string, error) {
	s, _ := o[key].(string)
	if s = strings.TrimSpace(strings.ReplaceAll(s, "\x00", "")); s == "" {
		return "", fmt.Errorf("%s is missing or blank", key)
	}
	return s, nil
}

// listOf reads a list that must be there.
func listOf(o map[string]any, key string) ([]any, error) {
	list, ok := o[key].([]any)
	if !ok {
		return nil, fmt.Errorf("%s is missing or no list", key)
	}
	return list, nil
}

// intOf reads a whole number from 0 to below n: 3, 3.0 or "3".
func intOf(v any, n int) (int, error) {
	var s string
	switch x := v.(type) {
	case json.Number:
		s = x.String()
	case string:
		s = strings.TrimSpace(x)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f >= float64(n) {
		return 0, fmt.Errorf("%v is no number from 0 to %d", v, n-1)
	}
	return int(f), nil
}

// indexesOf reads a list of numbers from 0 to below n, each once.
func indexesOf(o map[string]any, key string, n int) ([]int, error) {
	list, err := listOf(o, key)
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(list))
	for _, v := range list {
		i, err := intOf(v, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if slices.Contains(out, i) {
			return nil, fmt.Errorf("%s: %d stands there twice", key, i)
		}
		out = append(out, i)
	}
	return out, nil
}
