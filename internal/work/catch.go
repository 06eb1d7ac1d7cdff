// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package work has what concurrent parts share: locks by key, calls that Close waits for,
// and panics that become errors.
package work

import "fmt"

// Catch calls f, and returns an error for a panic in it. what says whose it is.
func Catch(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return f()
}
