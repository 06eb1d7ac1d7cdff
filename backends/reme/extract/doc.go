// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package extract learns from trajectories: a model says what made attempts succeed,
// what made them fail, and what sets the best attempt at a task apart from the worst;
// a second look judges what it said. Nothing is stored here.
//
//	e, err := extract.New(&extract.Config{Models: models})
//	run := models.Begin()
//	found, err := e.Extract(ctx, run, trajectories) // what could be learnt
//	kept, err := e.Validate(ctx, run, found)        // what is worth keeping
//	report := run.Report()                          // a line a stage, with what failed
//
// [Extractor.Simple] and [Extractor.SimpleComparative] do with one question a
// trajectory or pair, and without a judge.
package extract
