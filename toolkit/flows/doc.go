// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package flows offers ReMe 0.2's flows as functions.
package flows
