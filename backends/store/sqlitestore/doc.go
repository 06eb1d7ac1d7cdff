// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package sqlitestore keeps records and sessions in one SQLite file: the
// embedded default, in pure Go (modernc.org/sqlite), with nothing to install.
package sqlitestore
