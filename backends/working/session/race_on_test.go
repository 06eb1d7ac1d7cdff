// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package session_test

// The race detector makes everything ten times slower.
const (
	checks = "10" // how many runs a property gets
	pace   = 5    // how many steps lie between two that fail
)
