// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package session_test

const (
	checks = "100" // how many runs a property gets
	pace   = 1     // how many steps lie between two that fail
)
