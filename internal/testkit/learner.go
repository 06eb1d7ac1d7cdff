// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

type object = map[string]any

// Learn is the [Reply] of a model that learns for package reme, by marks in its material:
//
//	LESSON when | what    an experience, for task memory
//	FACT text             a statement about the user, for personal memory
//
// It judges everything good, and finds no duplicates. It answers by the first tool that it
// is given.
func Learn(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	if len(opts.Tools) == 0 {
		return schema.AssistantMessage("Give me a tool to answer by.", nil), nil
	}
	name, material := opts.Tools[0].Name, in[len(in)-1].Content
	var answer object
	switch name {
	case "extract_experiences":
		answer = object{"experiences": experiences(material)}
	case "judge_experiences":
		answer = object{"judgements": numbered(material, "candidate", object{"is_valid": true, "score": 0.9})}
	case "task_duplicates":
		answer = object{"decisions": numbered(material, "pair", object{"decision": "distinct"})}
	case "remember": // package mem0's
		answer = object{"operations": statements(material)}
	case "personal_statements":
		answer = object{"statements": statements(material)}
	case "tool_guideline":
		answer = object{"guideline": "Use it with care."}
	default:
		return nil, fmt.Errorf("the model has no answer for %q", name)
	}
	return answerBy(name, answer)
}

func answerBy(tool string, answer object) (*schema.Message, error) {
	arguments, err := json.Marshal(answer)
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: tool, Arguments: string(arguments)}}}), err
}

var experienceMark = regexp.MustCompile(`LESSON (.+?) \| (.+)`)

func experiences(material string) []object {
	out := []object{}
	for _, m := range experienceMark.FindAllStringSubmatch(material, -1) {
		out = append(out, object{"when_to_use": m[1], "experience": m[2], "confidence": 0.8})
	}
	return out
}

// numbered says the same of each line of the material that has a noun and a number alone.
func numbered(material, noun string, same object) []object {
	out := []object{}
	for line := range strings.Lines(material) {
		if n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, noun+" "))); err == nil && strings.HasPrefix(line, noun) {
			one := maps.Clone(same)
			one[noun] = n
			out = append(out, one)
		}
	}
	return out
}

var factMark = regexp.MustCompile(`FACT (.+)$`)

// material is a line that a model is shown: a fact that has an index, or a message that, if
// it is new, has a number.
type material struct {
	N, Index   *int
	Role, Text string
}

// materials reads the lines of JSON among those that a model is shown.
func materials(text string) (out []material) {
	for line := range strings.Lines(text) {
		var m material
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &m) == nil {
			out = append(out, m)
		}
	}
	return out
}

// statements are the facts of the new messages.
func statements(text string) []object {
	out := []object{}
	for _, line := range materials(text) {
		if m := factMark.FindStringSubmatch(line.Text); line.N != nil && m != nil {
			out = append(out, object{"op": "add", "text": m[1], "keywords": strings.Join(strings.Fields(m[1]), ", "), "score": 3, "messages": []int{*line.N}})
		}
	}
	return out
}

// Lesson is what a message teaches: a fact that takes the place of an old one. Without an
// old one it is new; without a new one the old one ends.
type Lesson struct{ Old, Now string }

// Taught is the [Reply] of a model that learns for package mem0, in mode Reconcile, what
// taughtBy returns for each new message, and fails where it is not shown a fact that ends.
func Taught(taughtBy func(text string) ([]Lesson, error)) Reply {
	return func(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		known := map[string]int{}
		operations := []object{}
		for _, line := range materials(in[len(in)-1].Content) {
			if line.Index != nil {
				known[line.Text] = *line.Index
			}
			if line.N == nil {
				continue
			}
			lessons, err := taughtBy(line.Text)
			if err != nil {
				return nil, err
			}
			for _, l := range lessons {
				op := object{"op": "add", "text": l.Now, "said_by": line.Role, "messages": []int{*line.N}}
				index, shown := known[l.Old]
				switch {
				case l.Old == "":
				case !shown:
					return nil, fmt.Errorf("among the known facts that the model is shown is not %q", l.Old)
				case l.Now == "":
					op["op"], op["index"] = "retract", index
				default:
					op["op"], op["index"] = "supersede", index
				}
				operations = append(operations, op)
			}
		}
		return answerBy(opts.Tools[0].Name, object{"operations": operations})
	}
}

// Rewording answers as reply does, but writes of a "drawer", and that a user "bought",
// something else each time: what it learns once more is not recognised by its words.
func Rewording(reply Reply) Reply {
	return func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		m, err := reply(ctx, in, opts)
		if err == nil {
			word := " {" + backends.NewID() + "}"
			c := &m.ToolCalls[0].Function
			c.Arguments = strings.NewReplacer("drawer", "drawer"+word, "bought", "bought"+word).Replace(c.Arguments)
		}
		return m, err
	}
}

var reworded = regexp.MustCompile(` \{[-0-9a-f]+\}`)

// Reworded returns a text without what [Rewording] put into it.
func Reworded(text string) string { return reworded.ReplaceAllString(text, "") }
