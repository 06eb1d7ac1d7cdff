// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reflect consolidates.
package reflect
