// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive keeps what left the context of a session, so that it can be
// read, searched and put back.
package archive
