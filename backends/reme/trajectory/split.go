// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

// DefaultThreshold is the score from which on an attempt is a success.
const DefaultThreshold = 1.0

// Split divides trajectories by their score: those of threshold and above are
// successes, all others failures. Both lists point into ts, in its order.
func Split(ts []Trajectory, threshold float64) (success, failure []*Trajectory) {
	for i := range ts {
		if ts[i].Score >= threshold {
			success = append(success, &ts[i])
		} else {
			failure = append(failure, &ts[i])
		}
	}
	return success, failure
}
