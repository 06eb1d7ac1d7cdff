// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
)

// A text of 60,000 tokens is read piece by piece: after each piece the summary is written anew, with
// what the question needs, and has never more than its bound. MemAgent (arXiv 2507.02259) trains a
// model to keep the right things; the loop is this one, with any model.
func ExampleSummarizeCurrent_pieceByPiece() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		panic(err)
	}
	kept, err := archives.Of(backends.Scope{UserID: "ann", SessionID: "s1"}) // whatever leaves the context is here, to be read again
	if err != nil {
		panic(err)
	}
	quarters := compaction.Counter(func(text string) int { return len(text) / 4 })
	pumps := &reader{keep: regexp.MustCompile(`pump \d+ was replaced on \w+`)}
	compactor, err := compaction.New(&compaction.Config{
		Budget: compaction.Budget{Window: 8000, Counter: quarters},
		Steps:  []compaction.Step{compaction.SummarizeCurrent{Model: pumps, GroupTokens: 5000}},
	})
	if err != nil {
		panic(err)
	}
	messages := []*schema.Message{schema.UserMessage("Which pumps were replaced, and when?")}
	for page := range 60 {
		call := schema.ToolCall{ID: fmt.Sprint("c", page), Function: schema.FunctionCall{Name: "read_page", Arguments: fmt.Sprintf(`{"page":%d}`, page)}}
		text := strings.Repeat("all is well, ", 300)
		switch page {
		case 3:
			text += "pump 7 was replaced on Monday"
		case 41:
			text += "pump 2 was replaced on Friday"
		}
		messages = append(messages, schema.AssistantMessage("", []schema.ToolCall{call}), schema.ToolMessage(text, call.ID))
		result, err := compactor.Compact(ctx, &compaction.Request{Messages: messages, Archive: kept})
		if err != nil {
			panic(err)
		}
		messages = result.Messages // of at most 8,000 tokens
	}
	fmt.Println(pumps.pieces, "pieces of at most", pumps.largest/1000, "thousand tokens")
	for _, line := range strings.Split(messages[1].Content, "\n") {
		if pumps.keep.MatchString(line) {
			fmt.Println(line)
		}
	}
	// Output:
	// 14 pieces of at most 4 thousand tokens
	// - pump 7 was replaced on Monday
	// - pump 2 was replaced on Friday
}

// reader is a model that keeps what matches.
type reader struct {
	keep            *regexp.Regexp
	pieces, largest int
}

func (r *reader) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	asked := in[len(in)-1].Content
	r.pieces, r.largest = r.pieces+1, max(r.largest, len(asked)/4)
	facts := r.keep.FindAllString(asked, -1)
	answer, err := json.Marshal(map[string]any{"goal": "which pumps were replaced", "directives": []string{}, "facts": facts, "failed": []string{}, "open": []string{}, "next": []string{}})
	return schema.AssistantMessage(string(answer), nil), err
}

func (r *reader) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := r.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}
