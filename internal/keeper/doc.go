// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package keeper is what every backend over a store does with the memories of a
// partition: find, list, change, delete, return their history, write them to a stream
// and read them back, and store a batch with its vectors. A backend decides what is
// worth remembering; its keeper keeps it.
//
//	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
//	k, err := keeper.New(&keeper.Config{Name: "notes", Store: st, Ranker: ranker})
//
// A backend resolves the scope of a call to a [backends.Partition] and hands it on;
// scopes in requests are not looked at here. An id of another partition is
// [backends.ErrNotFound]: to a call nothing exists but its own partition.
//
// # Storing
//
// [Keeper.Commit] takes a [store.Batch], embeds the records in it and applies it, all
// or nothing. What other processes may store at the same time is stored in four steps:
//
//   - look for it: [Keeper.Lookup] by [TextKey], or by keys of one's own made by [Key];
//   - give it an id that follows from what it is, by [ContentID] (the [TextKey] is a
//     good part), and an instant of [Keeper.Stamps];
//   - put it with Expect [store.MustNotExist], or with the version that was read
//     ([Keeper.Records]) where it replaces something;
//   - do all that in [Retry]: a race that was lost is [backends.ErrConflict], and the
//     second look finds what the winner stored.
//
// With an idempotency key as the batch's Key a repeated call stores nothing;
// [Keeper.Replayed] says so before a model is asked.
//
// # Reading
//
// [Keeper.All], [Keeper.Lookup] and [Keeper.Held] answer from the ranker's index, at
// no cost worth counting, with memories that belong to it: Clone one to change it.
// Everything else hands out copies.
package keeper
