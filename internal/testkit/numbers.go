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

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// NumberedTurn is a turn that has a number of its own, of messages of so many words.
func NumberedTurn(n, words int) []*schema.Message {
	return Turn(fmt.Sprintf("turn%dend. %s", n, Page(n, words)), "Noted. "+Page(n, words))
}

var turnNumber = regexp.MustCompile(`turns?(\d+)(?:to(\d+))?end`)

// Numbers returns the numbers of the turns in a text, ascending.
func Numbers(text string) []int {
	var out []int
	for _, m := range turnNumber.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		upto, err := strconv.Atoi(m[2])
		if err != nil {
			upto = from
		}
		for n := from; n <= upto; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// KeepNumbers is the answer of a model that summarises: the summary has the numbers of
// the turns that it was shown, in ranges. before, which may be nil, is called first.
func KeepNumbers(before func()) Reply {
	return func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
		if before != nil {
			before()
		}
		numbers := Numbers(in[len(in)-1].Content)
		var ranges []string
		for i := 0; i < len(numbers); {
			j := i
			for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
				j++
			}
			ranges = append(ranges, fmt.Sprintf("turns%dto%dend", numbers[i], numbers[j]))
			i = j + 1
		}
		return KeepSummary(strings.Join(ranges, " "))
	}
}

// KeepSummary is an answer to a question for a summary, with one fact.
func KeepSummary(fact string) (*schema.Message, error) {
	arguments, err := json.Marshal(map[string]any{"goal": "talk", "directives": []string{}, "facts": []string{fact}, "failed": []string{}, "open": []string{}, "next": []string{}})
	call := schema.ToolCall{ID: "k", Type: "function", Function: schema.FunctionCall{Name: "keep_summary", Arguments: string(arguments)}}
	return schema.AssistantMessage("", []schema.ToolCall{call}), err
}
