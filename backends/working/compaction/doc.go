// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package compaction makes the context of a long task fit what a model takes,
// without losing a word of it.
package compaction
