// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget counts tokens and says how many a context may have.
package budget
