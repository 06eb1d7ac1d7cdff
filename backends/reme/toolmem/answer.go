// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/modelanswer"
)

// The tools by which a model answers. They are never run: their arguments are the
// answer.
const (
	toolJudge     = "tool_judge"
	toolGuideline = "tool_guideline"
)

// AnswerTools returns the tools by which a model answers, for the flow.Config of
// Config.Models.
func AnswerTools() []*schema.ToolInfo {
	verdict := map[string]*schema.ParameterInfo{
		"n":          {Type: schema.Integer, Required: true, Desc: "of the call"},
		"score":      {Type: schema.Number, Required: true, Desc: "1: the result serves; 0: it does not"},
		"summary":    {Type: schema.String, Required: true, Desc: "one sentence"},
		"evaluation": {Type: schema.String, Required: true, Desc: "two or three sentences"},
	}
	return []*schema.ToolInfo{
		{Name: toolJudge, Desc: "Give the verdicts on calls.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"verdicts": {Type: schema.Array, Required: true, Desc: "one for each call", ElemInfo: &schema.ParameterInfo{Type: schema.Object, SubParams: verdict}},
		})},
		{Name: toolGuideline, Desc: "Give the guideline of the tool.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"guideline": {Type: schema.String, Required: true, Desc: "plain text, at most 200 words"},
		})},
	}
}

// maxGuideline bounds a guideline, in characters: more is no guideline.
const maxGuideline = 4000

func readGuideline(out *schema.Message) (string, error) {
	all, err := modelanswer.Of(out, toolGuideline)
	if err != nil {
		return "", err
	}
	o, _ := all[0].(map[string]any)
	text, _ := o["guideline"].(string)
	switch text = strings.TrimSpace(text); {
	case text == "":
		return "", errors.New("the answer holds no guideline")
	case len([]rune(text)) > maxGuideline:
		return "", fmt.Errorf("the guideline has more than %d characters", maxGuideline)
	}
	return text, nil
}

// verdict is what a model says of one call.
type verdict struct {
	score               float64
	summary, evaluation string
}

// readVerdicts puts the verdicts of an answer where they belong. One that is missing
// or unreadable is an error, and the others are kept.
func readVerdicts(out *schema.Message, into []*verdict) error {
	all, err := modelanswer.Of(out, toolJudge)
	if err != nil {
		return err
	}
	var entries []any
	for _, v := range all {
		list, ok := v.([]any)
		if o, isObject := v.(map[string]any); isObject {
			list, ok = o["verdicts"].([]any)
		}
		if !ok {
			return errors.New("the answer holds no verdicts")
		}
		entries = append(entries, list...)
	}
	for _, e := range entries {
		o, _ := e.(map[string]any)
		n, hasN := number(o["n"])
		score, hasScore := number(o["score"])
		if !hasN || !hasScore || n != math.Trunc(n) || n < 0 || n >= float64(len(into)) || score < 0 || score > 1 {
			continue
		}
		summary, _ := o["summary"].(string)
		evaluation, _ := o["evaluation"].(string)
		into[int(n)] = &verdict{score: binary(score), summary: strings.TrimSpace(summary), evaluation: strings.TrimSpace(evaluation)}
	}
	for n := range into {
		if into[n] == nil {
			return fmt.Errorf("no readable verdict on call n=%d: n of the call, and a score of 0 or 1", n)
		}
	}
	return nil
}

// binary makes a score 0 or 1, as ReMe does.
func binary(score float64) float64 {
	if score >= 0.5 {
		return 1
	}
	return 0
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
