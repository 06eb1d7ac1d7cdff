// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

// Similar says which successes and failures are enough alike to be compared. Zero
// fields have the defaults.
type Similar struct {
	Threshold float64 // similarity above which two are compared. Defaults to 0.3.
	PerSide   int     // successes and failures that are looked at, each. Defaults to 5.
	Pairs     int     // pairs that are compared, the most similar first. Defaults to 3.
}
