// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package config completes configurations.
package config

import "reflect"

// Default sets an unset field of a configuration to a value. A zero value counts as
// unset; an empty list or map counts as set. Unlike [cmp.Or] it takes functions.
func Default[T any](field *T, value T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = value
	}
}
