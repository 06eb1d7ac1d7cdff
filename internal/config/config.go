// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package config completes configurations.
package config

import "reflect"

// Default sets a field of a configuration to a value, unless it is set: its zero value
// counts as unset, and an empty list or map does not. Unlike [cmp.Or] it takes functions.
func Default[T any](field *T, value T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = value
	}
}
