// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// lessonMark stands before what a trajectory teaches the brain.
const lessonMark = "LESSON "

var (
	lessonLine    = regexp.MustCompile(`(?m)LESSON (.+?) \| (.+)$`)
	candidateLine = regexp.MustCompile(`(?m)^candidate (\d+)\nwhen_to_use:\n(.*)\nexperience:\n(.*)$`)
)

// brain is a model whose answers depend on what it is shown, and on nothing else. It
// answers by the tool that it is given.
type brain struct {
	mu     sync.Mutex
	asked  map[string][]string // what was asked, by tool
	failAt int                 // the number of the call that fails, from 1 on; 0: none
	total  int

	// What it thinks, where it is not the default.
	decide  func(fresh, known experience) (verdict, when, content string)
	rank    func(n int) string
	rewrite string
	query   string
	says    map[string]string // a whole answer, by tool
}

type experience struct {
	WhenToUse string `json:"when_to_use"`
	Content   string `json:"content"`
}

var errDown = errors.New("the model is down")

func newBrain() *brain { return &brain{asked: map[string][]string{}, says: map[string]string{}} }

// WithTools implements model.ToolCallingChatModel.
func (b *brain) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &bound{b, tools[0].Name}, nil
}

type bound struct {
	*brain
	tool string
}

func (b *bound) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	answer, err := b.answer(b.tool, in)
	if err != nil {
		return nil, err
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: b.tool, Arguments: answer}}}), nil
}

// Generate implements model.BaseChatModel: without a tool the form that the prompt
// asks for tells what is asked.
func (b *brain) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	tool := "unknown"
	all := in[0].Content + in[1].Content
	for key, name := range map[string]string{`"decisions":`: "task_duplicates", `"ranked_indices":`: "task_rerank", `"rewritten_context":`: "task_rewrite", `{"query":`: "task_query"} {
		if strings.Contains(all, key) {
			tool = name
		}
	}
	answer, err := b.answer(tool, in)
	if err != nil {
		return nil, err
	}
	return schema.AssistantMessage("Here you are:\n```json\n"+answer+"\n```", nil), nil
}

// Stream implements model.BaseChatModel.
func (b *brain) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("not asked for")
}

func (b *brain) answer(tool string, in []*schema.Message) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	user := in[len(in)-1].Content
	b.asked[tool] = append(b.asked[tool], in[0].Content+"\n"+user)
	if b.total++; b.total == b.failAt {
		return "", errDown
	}
	if whole, ok := b.says[tool]; ok {
		return whole, nil
	}
	switch tool {
	case "extract_experiences":
		return lessonsIn(user, "experiences", "experience"), nil
	case "extract_memories":
		return lessonsIn(user, "memories", "memory"), nil
	case "extract_verdicts":
		return judged(user), nil
	case "task_duplicates":
		return b.decided(user), nil
	case "task_rerank":
		return b.rank(strings.Count(user, `{"n":`)), nil
	case "task_rewrite":
		return fmt.Sprintf(`{"rewritten_context":%q}`, b.rewrite), nil
	case "task_query":
		return fmt.Sprintf(`{"query":%q}`, b.query), nil
	}
	return "", fmt.Errorf("nobody asks for %q", tool)
}

// calls tells how often the model was asked, by tool; without one in all.
func (b *brain) calls(tool ...string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(tool) == 0 {
		return b.total
	}
	return len(b.asked[tool[0]])
}

func (b *brain) last(tool string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked[tool]) == 0 {
		return ""
	}
	return b.asked[tool][len(b.asked[tool])-1]
}

func lessonsIn(material, list, field string) string {
	out := []map[string]any{}
	for _, m := range lessonLine.FindAllStringSubmatch(material, -1) {
		out = append(out, map[string]any{"when_to_use": m[1], field: m[2], "tags": []string{"kettle"}, "confidence": 0.7, "step_type": "action", "tools_used": []string{"sell"}})
	}
	return encode(map[string]any{list: out})
}

// judged finds everything worth 0.8, but what says so bad.
func judged(material string) string {
	var out []map[string]any
	for _, m := range candidateLine.FindAllStringSubmatch(material, -1) {
		n, _ := strconv.Atoi(m[1])
		score := 0.8
		if strings.Contains(m[3], "rubbish") {
			score = 0.1
		}
		out = append(out, map[string]any{"candidate": n, "is_valid": score > 0.5, "score": score})
	}
	return encode(map[string]any{"verdicts": out})
}

func (b *brain) decided(material string) string {
	var out []map[string]any
	for line := range strings.Lines(material) {
		var p struct {
			Pair       int
			New, Known experience
		}
		if !strings.HasPrefix(line, `{"pair"`) || json.Unmarshal([]byte(line), &p) != nil {
			continue
		}
		verdict, when, content := "distinct", "", ""
		if b.decide != nil {
			verdict, when, content = b.decide(p.New, p.Known)
		}
		out = append(out, map[string]any{"pair": p.Pair, "verdict": verdict, "when_to_use": when, "content": content})
	}
	return encode(map[string]any{"decisions": out})
}

func encode(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// plainBrain is a brain that calls no tools.
type plainBrain struct{ b *brain }

func (p plainBrain) Generate(ctx context.Context, in []*schema.Message, o ...model.Option) (*schema.Message, error) {
	return p.b.Generate(ctx, in, o...)
}

func (p plainBrain) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("not asked for")
}
