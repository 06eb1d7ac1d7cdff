// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package reme_test

// raced tells whether the race detector is on, which makes everything ten times slower.
const raced = false
