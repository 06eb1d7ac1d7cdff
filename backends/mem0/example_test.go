// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// Without a model, what was said is stored as it is.
func Example() {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	clock := func() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }
	b, err := mem0.New(ctx, &mem0.Config{Store: st, Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = b.Close(ctx) }()

	ann := backends.Scope{UserID: "ann", SessionID: "monday"}
	added, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: []backends.Message{
		{Message: schema.UserMessage("My sister Eva keeps bees in Bergen.")},
		{Message: schema.AssistantMessage("How lovely! Does she sell honey?", nil)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range added.Items {
		fmt.Println(item.Outcome, item.Memory.Origin.Role, item.Memory.Observed.Format(time.DateOnly))
	}

	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Who keeps bees?", TopK: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Hits[0].Text)
	// Output:
	// added user 2026-03-02
	// added assistant 2026-03-02
	// My sister Eva keeps bees in Bergen.
}

// mover is a chat model for the example: it knows one thing about the world. Take
// any Eino chat model in its place.
type mover struct{}

func (mover) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	prompt := in[1].Content
	switch {
	case strings.Contains(prompt, "moved to Shanghai") && strings.Contains(prompt, `"index":0`):
		return schema.AssistantMessage(`{"operations":[{"op":"supersede","index":0,"text":"Ann lives in Shanghai.","said_by":"user"}]}`, nil), nil
	case strings.Contains(prompt, "live in Beijing"):
		return schema.AssistantMessage(`{"operations":[{"op":"add","text":"Ann lives in Beijing.","said_by":"user"}]}`, nil), nil
	}
	return schema.AssistantMessage(`{"operations":[]}`, nil), nil
}

func (m mover) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{out}), err
}

// With a model, a fact that changes is replaced, and its history kept.
func ExampleBackend_History() {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	b, err := mem0.New(ctx, &mem0.Config{Store: st, Model: mover{}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = b.Close(ctx) }()

	say := func(session, text string) *backends.AddResponse {
		resp, err := b.Add(ctx, &backends.AddRequest{
			Scope:    backends.Scope{UserID: "ann", SessionID: session},
			Messages: []backends.Message{{Message: schema.UserMessage(text)}},
		})
		if err != nil {
			log.Fatal(err)
		}
		return resp
	}
	say("monday", "I live in Beijing")
	now := say("friday", "I moved to Shanghai").Items[0].Memory

	ann := backends.Scope{UserID: "ann"}
	held, err := b.List(ctx, &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindFact}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range held.Memories {
		fmt.Println("holds:", m.Text)
	}
	events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: now.ID})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Printf("%s: %q -> %q\n", e.Type, e.Old, e.New)
	}
	// Output:
	// holds: Ann lives in Shanghai.
	// added: "" -> "Ann lives in Beijing."
	// added: "" -> "Ann lives in Shanghai."
	// superseded: "Ann lives in Beijing." -> "Ann lives in Shanghai."
}

// The model that extracts facts names whom and what they are about; a program may, too.
func ExampleBackend_Entities() {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	b, err := mem0.New(ctx, &mem0.Config{Store: st})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = b.Close(ctx) }()

	ann := backends.Scope{UserID: "ann"}
	for text, names := range map[string][]string{"Eva keeps bees in Bergen.": {"Eva", "Bergen"}, "Eva plays the cello.": {"EVA"}} {
		_, err := b.Remember(ctx, ann, text, func(r *backends.AddRequest) {
			r.Metadata = map[string]any{backends.MetaEntities: names}
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	all, err := b.Entities(ctx, ann)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range all {
		fmt.Println(strings.ToLower(e.Name), e.Memories)
	}
	of := backends.Eq("entity", "bergen")
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "What does Eva do?", Filter: &of})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		fmt.Println(h.Text)
	}
	// Output:
	// eva 2
	// bergen 1
	// Eva keeps bees in Bergen.
}

// A document is found beside what people said, cited, and replaced by its source. Its passages come
// from a splitter of Eino, with what a loader wrote into their metadata.
func ExampleBackend_Add_documents() {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	b, err := mem0.New(ctx, &mem0.Config{Store: st})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = b.Close(ctx) }()

	ann := backends.Scope{UserID: "ann"}
	manual := func(passages ...string) {
		r := &backends.AddRequest{Scope: ann, Kind: backends.KindDocument}
		for i, said := range passages {
			r.Documents = append(r.Documents, &schema.Document{Content: said, MetaData: map[string]any{"_source": "kettle.pdf", "page": i + 1}})
		}
		added, err := b.Add(ctx, r)
		for _, item := range added.Items {
			fmt.Println(item.Outcome, item.Memory.Citation(), err)
		}
	}
	manual("Descale the kettle every month.", "The lid is locked while it boils.")
	manual("Descale the kettle every week.", "The lid is locked while it boils.") // a new edition

	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "How often do I descale it?", TopK: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Hits[0].Text)
	// Output:
	// added kettle.pdf, p. 1 <nil>
	// added kettle.pdf, p. 2 <nil>
	// added kettle.pdf, p. 1 <nil>
	// unchanged kettle.pdf, p. 2 <nil>
	// deleted kettle.pdf, p. 1 <nil>
	// Descale the kettle every week.
}
