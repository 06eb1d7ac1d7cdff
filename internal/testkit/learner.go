// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Learner is a chat model that learns for package reme, by marks in its material:
//
//	LESSON when | what    an experience, for task memory
//	FACT text             a statement about the user, for personal memory
//
// It judges everything good, and finds that nothing repeats anything. It answers by
// the tools that it is given. It is safe for concurrent use.
type Learner struct {
	// Instead answers question n, from 1 on, in its place if it returns true. Optional.
	Instead func(n int) (*schema.Message, error, bool)

	mu    sync.Mutex
	asked map[string]int
	shown []string
	err   error
}

// Shown returns all texts that it was shown.
func (l *Learner) Shown() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.shown)
}

// Asked returns how often it was asked to answer by a tool, and in all by none.
func (l *Learner) Asked(tool string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tool != "" {
		return l.asked[tool]
	}
	all := 0
	for _, n := range l.asked {
		all += n
	}
	return all
}

// Break makes it fail from now on; nil makes it work again.
func (l *Learner) Break(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// WithTools implements model.ToolCallingChatModel.
func (l *Learner) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &taught{Learner: l, tool: tools[0].Name}, nil
}

// Generate implements model.BaseChatModel.
func (l *Learner) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("Give me a tool to answer by.", nil), nil
}

// Stream implements model.BaseChatModel.
func (l *Learner) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := l.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{out}), nil
}

// taught answers by one tool.
type taught struct {
	*Learner
	tool string
}

func (t *taught) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	t.mu.Lock()
	if t.asked == nil {
		t.asked = map[string]int{}
	}
	t.asked[t.tool]++
	for _, m := range in {
		t.shown = append(t.shown, m.Content)
	}
	err := t.err
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if t.Instead != nil {
		if answer, err, instead := t.Instead(t.Asked("")); instead {
			return answer, err
		}
	}
	answer, ok := answers[t.tool]
	if !ok {
		return nil, fmt.Errorf("nobody taught the learner %q", t.tool)
	}
	text, err := json.Marshal(answer(in[len(in)-1].Content))
	if err != nil {
		return nil, err
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: t.tool, Arguments: string(text)}}}), nil
}

var (
	lessonMark    = regexp.MustCompile(`LESSON (.+?) \| (.+)`)
	factMark      = regexp.MustCompile(`FACT (.+)$`)
	candidateMark = regexp.MustCompile(`(?m)^candidate (\d+)$`)
	pairMark      = regexp.MustCompile(`(?m)^pair (\d+)$`)
)

type object = map[string]any

// answers are the Learner's answers to material, by tool.
var answers = map[string]func(material string) object{
	"extract_experiences": func(s string) object { return object{"experiences": experiences(s)} },
	"judge_experiences": func(s string) object {
		var out []object
		for _, m := range candidateMark.FindAllStringSubmatch(s, -1) {
			n, _ := strconv.Atoi(m[1])
			out = append(out, object{"candidate": n, "is_valid": true, "score": 0.9})
		}
		return object{"judgements": out}
	},
	"task_duplicates": func(s string) object {
		out := []object{}
		for _, m := range pairMark.FindAllStringSubmatch(s, -1) {
			n, _ := strconv.Atoi(m[1])
			out = append(out, object{"pair": n, "decision": "distinct"})
		}
		return object{"decisions": out}
	},
	"personal_statements": func(s string) object {
		out := []object{}
		for _, l := range numbered(s) {
			if m := factMark.FindStringSubmatch(l.Text); l.N != nil && m != nil {
				out = append(out, object{"op": "add", "text": m[1], "keywords": strings.Join(strings.Fields(m[1]), ", "), "score": 3, "messages": []int{*l.N}})
			}
		}
		return object{"statements": out}
	},
	"tool_guideline": func(string) object { return object{"guideline": "Use it with care."} },
	"tool_judge":     func(string) object { return object{"judgements": []object{}} },
}

func experiences(material string) []object {
	out := []object{}
	for _, m := range lessonMark.FindAllStringSubmatch(material, -1) {
		out = append(out, object{"when_to_use": m[1], "experience": m[2], "confidence": 0.8})
	}
	return out
}

// line is a line of JSON in the material.
type line struct {
	N    *int
	Text string
}

func numbered(material string) []line {
	var out []line
	for text := range strings.Lines(material) {
		var l line
		if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &l) == nil {
			out = append(out, l)
		}
	}
	return out
}

// Rewording is a Learner that says of a "drawer", and that a user "bought", something
// else each time: what it learns again is not recognised by its words.
type Rewording struct{ *Learner }

// WithTools implements model.ToolCallingChatModel.
func (r Rewording) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := r.Learner.WithTools(tools)
	return rewordingTool{inner}, err
}

type rewordingTool struct{ model.ToolCallingChatModel }

func (r rewordingTool) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	m, err := r.ToolCallingChatModel.Generate(ctx, in, opts...)
	if err == nil && !strings.Contains(m.ToolCalls[0].Function.Name, "verdicts") {
		word := " {" + backends.NewID() + "}"
		c := &m.ToolCalls[0].Function
		c.Arguments = strings.NewReplacer("drawer", "drawer"+word, "bought", "bought"+word).Replace(c.Arguments)
	}
	return m, err
}

var reworded = regexp.MustCompile(` \{[-0-9a-f]+\}`)

// Reworded returns a text without what a [Rewording] put into it.
func Reworded(text string) string { return reworded.ReplaceAllString(text, "") }
