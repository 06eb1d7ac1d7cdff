// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/testkit"
)

// What is said in two conversations: the newer statement takes the place of the older.
func Example() {
	ctx := context.Background()
	model := testkit.New( // what a real model would answer
		testkit.Call("1", "personal_scores", `{"scores":[{"n":0,"score":3}]}`),
		testkit.Call("2", "personal_observations", `{"observations":[{"n":0,"text":"Ann lives in Beijing.","keywords":"home, Beijing"}]}`),
		testkit.Call("3", "personal_scores", `{"scores":[{"n":0,"score":3}]}`),
		testkit.Call("4", "personal_observations", `{"observations":[{"n":0,"text":"Ann moved to Shanghai.","keywords":"home, Shanghai","when":"2026-06-01"}]}`),
		testkit.Call("5", "personal_relations", `{"relations":[{"n":1,"relation":"contradicts","other":0}]}`),
	)
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = st.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
	if err != nil {
		panic(err)
	}
	defer func() { _ = ranker.Close() }()
	kept, err := keeper.New(&keeper.Config{Name: "example", Store: st, Ranker: ranker})
	if err != nil {
		panic(err)
	}
	models, err := flow.New(&flow.Config{Name: "example", Model: model, Tools: personal.AnswerTools()})
	if err != nil {
		panic(err)
	}
	flows, err := personal.New(&personal.Config{Keeper: kept, Models: models})
	if err != nil {
		panic(err)
	}

	ann := backends.Scope{UserID: "ann"}
	for day, text := range []string{"I live in Beijing", "I moved to Shanghai yesterday"} {
		message := backends.Message{ID: fmt.Sprint(day), Time: time.Date(2026, 6, 1+day, 9, 0, 0, 0, time.UTC), Message: schema.UserMessage(text)}
		resp, err := flows.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Target: "Ann", Messages: []backends.Message{message}})
		if err != nil {
			panic(err)
		}
		for _, item := range resp.Items {
			fmt.Println(item.Outcome, item.Memory.Text)
		}
	}
	found, err := flows.Retrieve(ctx, &personal.RetrieveRequest{Scope: ann, Query: "Where did Ann go in June 2026?"})
	if err != nil {
		panic(err)
	}
	for _, h := range found.Hits {
		fmt.Println(h.Text, "since", h.Valid.Format(time.DateOnly))
	}
	// Output:
	// added Ann lives in Beijing.
	// superseded Ann moved to Shanghai.
	// Ann moved to Shanghai. since 2026-06-01
}
