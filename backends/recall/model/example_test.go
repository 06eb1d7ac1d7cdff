// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/recall/model"
	"github.com/einomem/einomem/internal/test/testkit"
)

// A chat model says what to look for besides the words of a query. Here its answer is scripted.
func ExampleNewChat() {
	small := testkit.New(testkit.Call("1", "look_for", `{"keywords": ["puppy", "kitten"], "when": "2026-03/2026-05"}`))
	chat, err := model.NewChat(small)
	if err != nil {
		panic(err)
	}
	_ = &recall.Config{Rewriter: chat, Reranker: chat} // as mem0.Config.Recall

	now := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	look, err := chat.Rewrite(context.Background(), "Which pets did Ann get last spring?", now)
	if err != nil {
		panic(err)
	}
	fmt.Println(look.Keywords, look.From.Format(time.DateOnly), look.Until.Format(time.DateOnly))
	// Output:
	// [puppy kitten] 2026-03-01 2026-06-01
}
