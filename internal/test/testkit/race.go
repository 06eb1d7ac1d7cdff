// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"testing"
)

// Raced says that the race detector is on, which makes everything ten times slower.
func Raced() bool { return raced }

// SlowUnderRace skips a test under the race detector. It marks tests that go through many
// cases one after another, or in processes of their own: they take minutes there, and find
// no race that the other tests do not find.
func SlowUnderRace(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("it is slow under the race detector, and runs without it")
	}
}

// Once skips a test where CI repeats tests with another release of Eino or of Go, and sets
// EINOMEM_AGAIN. It marks kills, outages and hostile names, which end alike with each release.
func Once(t testing.TB) {
	t.Helper()
	if os.Getenv("EINOMEM_AGAIN") != "" {
		t.Skip("no release of Eino or Go changes how it ends")
	}
}
