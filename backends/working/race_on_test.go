// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package working_test

// The race detector makes everything ten times slower.
const (
	stride = 24  // how many steps lie between the deaths of the crash test
	checks = "6" // how many runs a property gets
)
