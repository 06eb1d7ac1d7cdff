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
)

type object = map[string]any

// Learn is the [Reply] of a model that learns for package reme, by marks in its material:
//
//	LESSON when | what    an experience, for task memory
//	FACT text             a statement about the user, for personal memory
//
// It judges everything good, and finds no duplicates. It answers by the first tool that it
// is offered.
func Learn(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
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
	arguments, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return Call("1", name, string(arguments))(ctx, in, opts)
}

var experienceMark = regexp.MustCompile(`LESSON (.+?) \| (.+)`)

func experiences(material string) []object {
	out := []object{}
	for _, m := range experienceMark.FindAllStringSubmatch(material, -1) {
		out = append(out, object{"when_to_use": m[1], "experience": m[2], "confidence": 0.8})
	}
	return out
}

// numbered returns the same answer for each line of the material that is only a noun and
// a number.
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

// statements are the facts of the new messages: lines of JSON that have a number.
func statements(text string) []object {
	out := []object{}
	for line := range strings.Lines(text) {
		var said struct {
			N    *int
			Text string
		}
		if json.Unmarshal([]byte(line), &said) != nil || said.N == nil {
			continue
		}
		if m := factMark.FindStringSubmatch(said.Text); m != nil {
			keywords := strings.Join(strings.Fields(m[1]), ", ")
			out = append(out, object{"op": "add", "text": m[1], "keywords": keywords, "score": 3, "messages": []int{*said.N}})
		}
	}
	return out
}
