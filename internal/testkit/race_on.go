// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package testkit

// Raced says that the race detector is on, which makes everything ten times slower.
const Raced = true
