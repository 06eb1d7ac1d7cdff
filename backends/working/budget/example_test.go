// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/budget"
)

func Example() {
	b, err := budget.Budget{Window: 1000, Answer: 300, Tools: 100, Memories: 100}.WithDefaults()
	if err != nil {
		panic(err)
	}
	messages := []*schema.Message{
		schema.SystemMessage("You are brief."),
		schema.UserMessage("What does this file say? " + strings.Repeat("All work and no play. ", 60)),
	}
	u := b.Usage(messages)
	fmt.Printf("%d of %d tokens, %.0f%%\n", u.Tokens, u.Limit, u.Percent())

	messages = append(messages, schema.UserMessage(strings.Repeat("And this one? ", 60)))
	if over := (*budget.OverError)(nil); errors.As(b.Usage(messages).Err(), &over) {
		fmt.Println("too large by", over.Tokens-over.Limit)
	}
	// Output:
	// 330 of 500 tokens, 66%
	// too large by 26
}

func ExampleTokenizer() {
	words := budget.Tokenizer(func(text string) int { return len(strings.Fields(text)) })
	fmt.Println(words.Text("how long is a piece of string"))
	fmt.Println(words.Message(schema.UserMessage("as long as you like")), "with what a message costs")
	// Output:
	// 7
	// 9 with what a message costs
}

func ExampleCountTools() {
	tools := []*schema.ToolInfo{{
		Name: "weather", Desc: "Returns the weather of a city.",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"city": {Type: schema.String, Desc: "The name of the city.", Required: true},
		}),
	}}
	b := budget.Budget{Window: 8000, Tools: budget.CountTools(tools)}
	fmt.Println(b.Tools)
	// Output: 50
}
