// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/internal/trial"
)

func TestAnswersAreGradedByRules(t *testing.T) {
	for _, tt := range []struct {
		want, given string
		right       float64
	}{
		{"a greyhound", "She adopted a greyhound, Pepper.", 1},
		{"Rome, Oslo", "Oslo and Rome", 1},
		{"Rome, Oslo", "Rome", 0},
		{"dancing class", "A pottery class", 0},
		{"Likely no; he dislikes rain", "No", 1},
		{"a greyhound", "I do not know if it was a greyhound.", 0},
		{"two weeks", "for 2 weeks", 1},
		{"2 June 2024", "June 2nd, 2024", 1},
		{"2 June 2024", "On 2024-06-02", 1},
		{"2 June, 2024", "2 June", 1},
		{"2 June 2024", "June 2024", 0},
		{"2 June 2024", "2 June 2024 or 3 June 2024", 0},
		{"June 2024", "2 June 2024", 1},
		{"In 2024", "May 2024", 1},
		{"The week before 9 June 2023", "29 May to 4 June 2023", 1},
		{"The week before 9 June 2023", "the week before June 9, 2023", 1},
		{"The week before 9 June 2023", "9 June 2023", 0},
		{"Two weeks before 11 August 2023", "28 July 2023", 1},
		{"The Friday before 10July, 2022.", "8 July 2022", 1},
		{"The weekend before 13 September 2023", "Sunday, 10 September 2023", 1},
		{"The weekend of 24June, 2022.", "25 and 26 June 2022", 1},
		{"The week of 23 August 2023", "August 21, 2023", 1},
		{"an atlas of May 2023", "an atlas", 0},
		{"", "It is not mentioned.", 1},
		{"", "I don't know.", 1},
		{"", "A may day in Oslo", 0},
	} {
		q := &trial.Question{Answer: trial.Answer(tt.want)}
		if tt.want == "" {
			q.Category = trial.Adversarial
		}
		right, f1 := graded(q, tt.given)
		require.Equal(t, tt.right, right, "%q: %q, F1 %.2f", tt.want, tt.given, f1)
	}
	_, f1 := graded(&trial.Question{Answer: "the red car"}, "A red bicycle")
	require.InDelta(t, 0.5, f1, 1e-9)
}
