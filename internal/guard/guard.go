// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package guard makes errors of panics where nobody else can: in goroutines of our own,
// which run what callers configured: embedders, counters, redaction.
package guard

import "fmt"

// Call calls f, and returns an error for a panic in it. what says whose it is.
func Call(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return f()
}
