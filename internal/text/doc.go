// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package text shortens, cleans, compares and counts texts: the one place for each of
// these. It knows nothing of memory and imports nothing of this module. All functions
// are pure.
package text
