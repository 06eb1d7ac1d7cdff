// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
)

// numberedTurn is a turn that has a number of its own, of messages of so many words.
func numberedTurn(n, words int) []*schema.Message {
	return testkit.Turn(fmt.Sprintf("turn%dend. %s", n, testkit.Page(n, words)), "Noted. "+testkit.Page(n, words))
}

var turnNumber = regexp.MustCompile(`turns?(\d+)(?:to(\d+))?end`)

// numbersIn returns the numbers of the turns in a text, ascending.
func numbersIn(text string) []int {
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

// keepNumbers is the answer of a model that summarises: the summary has the numbers of
// the turns that it was shown, in ranges. before, which may be nil, is called first.
func keepNumbers(before func()) testkit.Reply {
	return func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		if before != nil {
			before()
		}
		numbers := numbersIn(in[len(in)-1].Content)
		var ranges []string
		for i := 0; i < len(numbers); {
			j := i
			for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
				j++
			}
			ranges = append(ranges, fmt.Sprintf("turns%dto%dend", numbers[i], numbers[j]))
			i = j + 1
		}
		arguments := fmt.Sprintf(`{"goal":"talk","directives":[],"facts":[%q],"failed":[],"open":[],"next":[]}`, strings.Join(ranges, " "))
		return testkit.Call("k", "keep_summary", arguments)(ctx, in, opts)
	}
}

// rewording answers as reply does, but writes of a "drawer", and that a user "bought",
// something else each time: what it learns once more is not recognised by its words.
func rewording(reply testkit.Reply) testkit.Reply {
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

var rewordings = regexp.MustCompile(` \{[-0-9a-f]+\}`)

// reworded returns a text without what rewording put into it.
func reworded(text string) string { return rewordings.ReplaceAllString(text, "") }

// several answers with a call of each of these tools, with the arguments {"n":1}.
func several(tools ...string) testkit.Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		m := schema.AssistantMessage("", nil)
		for i, name := range tools {
			m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: fmt.Sprint("c", i), Type: "function", Function: schema.FunctionCall{Name: name, Arguments: `{"n":1}`}})
		}
		return m, nil
	}
}

// noteIn is the text of the note of a search among messages, "" for none.
func noteIn(messages []*schema.Message) string {
	for _, m := range einox.Encode(einox.Unfold(messages)) {
		if einox.MarkOf(m).Kind == einox.Note {
			return m.Content
		}
	}
	return ""
}
