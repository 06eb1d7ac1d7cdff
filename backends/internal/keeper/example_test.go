// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"context"
	"fmt"
	"log"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// note stores a text once, however it is spelled and whichever process stores it, too.
func note(ctx context.Context, k *keeper.Keeper, p backends.Partition, text string) (outcome backends.Outcome, err error) {
	text = k.Redact(text)
	err = store.OnConflict(ctx, func() error {
		words := keeper.TextKey(backends.KindFact, "", text)
		known, err := k.Lookup(ctx, p, words)
		if err != nil || len(known) > 0 {
			outcome = backends.OutcomeUnchanged
			return err
		}
		put := store.Put(&store.Record{Memory: backends.Memory{
			ID: keeper.ContentID(p, backends.KindFact, words), Kind: backends.KindFact, Text: text, Created: k.Stamps(1),
		}})
		put.Expect = store.MustNotExist
		outcome = backends.OutcomeAdded
		_, err = k.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{put}}, nil)
		return err
	})
	return outcome, err
}

// A backend that keeps notes, each of them once.
func Example() {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ranker.Close() }()
	k, err := keeper.New(&keeper.Config{Name: "notes", Store: st, Ranker: ranker})
	if err != nil {
		log.Fatal(err)
	}

	ann, err := backends.Scope{UserID: "ann"}.Partition(backends.PartitionUser)
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"Deploys need a tag.", "ＤＥＰＬＯＹＳ need a tag!", "Deploys need 2 tags."} {
		outcome, err := note(ctx, k, ann, text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(outcome, text)
	}
	found, err := k.Search(ctx, ann, &backends.SearchRequest{Query: "what does a deploy need?", TopK: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("found:", found.Hits[0].Text)
	// Output:
	// added Deploys need a tag.
	// unchanged ＤＥＰＬＯＹＳ need a tag!
	// added Deploys need 2 tags.
	// found: Deploys need a tag.
}
