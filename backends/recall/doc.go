// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package recall ranks the memories of one partition for a query.
package recall
