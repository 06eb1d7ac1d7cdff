// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package working_test

const (
	stride = 1     // how many steps lie between the deaths of the crash test
	checks = "100" // how many runs a property gets
)
