// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

func TestIsVariant(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"allergi", "allerg", true},
		{"allergi", "allergen", true},
		{"marri", "marriag", true},
		{"teach", "teacher", true},
		{"contact", "contain", false}, // five of seven
		{"inter", "international", false},
		{"peanut", "peanutti", true},
		{"tea", "teas", false}, // too short to tell
		{"аллергия", "аллергик", true},
		{"花生", "花生过敏", false},
	} {
		require.Equal(t, c.want, recall.IsVariant(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, recall.IsVariant(c.b, c.a), "%s %s", c.b, c.a)
	}
}

func TestAWordThatNobodyUsedStandsForItsVariants(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "I am allergic to peanuts"), fact("2", "I live in Hangzhou"))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "Do I have any allergies?"})
	require.Len(t, hits, 1)
	require.Equal(t, "1", hits[0].ID)
	require.Less(t, hits[0].Score, find(t, r, ann, &backends.SearchRequest{Query: "Am I allergic?"})[0].Score, "a variant counts less than the word")
	require.Empty(t, find(t, r, ann, &backends.SearchRequest{Query: "Do I have any alligators?"}))
}

func TestAKnownWordHasNoVariants(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "allergic to peanuts"), fact("2", "her allergies are mild"))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "allergies"})
	require.Len(t, hits, 1)
	require.Equal(t, "2", hits[0].ID)
}

func TestVariantsCountAsOneTerm(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "allergic allergen allergenic"), fact("2", "tea"), fact("3", "dog"))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "allergies"})
	require.Len(t, hits, 1)
	require.LessOrEqual(t, hits[0].Score, 0.5, "however many variants there are")
}
