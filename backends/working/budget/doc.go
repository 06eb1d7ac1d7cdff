// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget counts tokens and says how many a context may have.
//
// A [Budget] divides the context window of a model: a part is kept free for the
// answer, one for the definitions of the tools, one for what memory puts in, and
// the rest is the [Budget.Limit] of the conversation:
//
//	b, err := budget.Budget{
//		Window: 128_000,
//		Tools:  budget.CountTools(infos), // else a sixteenth of the window
//	}.WithDefaults()
//
// [Budget.Usage] measures a context against it: how full it is in percent, for a
// display, and an error that says by how much it does not fit:
//
//	u := b.Usage(messages)
//	if err := u.Err(); err != nil { // errors.Is(err, budget.ErrOver)
//		return err
//	}
//
// What counts the tokens is a [Counter]. [Estimate] needs no vocabulary and is the
// default; [Tokenizer] makes one of any tokenizer:
//
//	Counter: budget.Tokenizer(func(s string) int { return len(encoding.Encode(s)) })
//
// To bring a context within its budget is the work of package compaction.
package budget
