// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package trial is what benchmarks of einomem and of its peers share, so that they
// search the same memories and print the same columns: made-up texts and vectors,
// the exact answer to each query, and tables.
package trial
