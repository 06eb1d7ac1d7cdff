// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package testkit

const raced = true
