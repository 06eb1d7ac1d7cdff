// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/profile"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

type Traveller struct {
	City    string   `json:"city,omitempty" jsonschema_description:"where the user lives"`
	Seat    string   `json:"seat,omitempty" jsonschema:"enum=aisle,enum=window"`
	Hobbies []string `json:"hobbies,omitempty"`
}

// The model that learns facts says which field each states; here its answer is scripted.
func Example() {
	model := testkit.New(testkit.Call("1", "remember", `{"operations": [
		{"op": "add", "text": "The user lives in Bergen.", "messages": [0], "field": "city", "value": "Bergen"},
		{"op": "add", "text": "The user likes sitting at the back.", "messages": [0], "field": "seat", "value": "back"}]}`))
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	traveller, err := profile.New[Traveller]()
	if err != nil {
		panic(err)
	}
	backend, err := mem0.New(ctx, &mem0.Config{Store: db, Model: model, Profile: traveller})
	if err != nil {
		panic(err)
	}
	defer backend.Close(ctx)
	scope := backends.Scope{UserID: "ann"}
	if _, err := backend.Add(ctx, &backends.AddRequest{Scope: scope, Messages: []backends.Message{
		{Message: schema.UserMessage("I live in Bergen, and I like to sit at the back.")},
	}}); err != nil {
		panic(err)
	}
	known, err := traveller.Get(ctx, scope) // "back" is no seat: it is in the fact, and not in the document
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v, from %d fact\n", known.Document, len(known.Evidence["city"]))

	known, err = traveller.Update(ctx, scope, func(t *Traveller) error { t.Seat = "window"; return nil })
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", known.Document)
	// Output:
	// {City:Bergen Seat: Hobbies:[]}, from 1 fact
	// {City:Bergen Seat:window Hobbies:[]}
}
