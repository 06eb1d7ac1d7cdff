// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// People write a word in several forms. Each finds the others, and its own form comes first.
func TestFormsOfAWordMeet(t *testing.T) {
	others := []string{"the weather was mild", "we saw a film about bees", "今天下雨"}
	for _, c := range []struct {
		name, query string
		texts       []string // in the order in which the query finds them
	}{
		{"accents left out", "trip to malaga", []string{"a trip to Málaga"}},
		{"accents in both", "Dvořák", []string{"Dvořák wrote it", "Dvorak wrote it"}},
		{"accents left out in both", "dvorak", []string{"Dvorak wrote it", "Dvořák wrote it"}},
		{"letters that do not decompose", "Lodz", []string{"she moved to Łódź"}},
		{"a language with a sign", "C# or .NET", []string{"he writes C# on .NET", "the .NET runtime"}},
		{"two languages apart", "C++", []string{"C++ is hard"}},
		{"a flight in two words", "flight BA 249", []string{"the flight is BA249"}},
		{"a flight in one word", "BA249", []string{"flight BA249 to Rio", "flight BA 249 to Rio"}},
		{"a telephone number with hyphens", "call 138-0013-8000", []string{"13800138000 is his number"}},
		{"a telephone number without", "13800138000", []string{"call 138-0013-8000"}},
		{"a group of a telephone number", "8000", []string{"call 138-0013-8000"}},
		{"traditional characters", "身體檢查", []string{"下周身体检查"}},
		{"simplified characters", "医院电话", []string{"醫院的電話"}},
		{"another letter", "necklase", []string{"a necklace of pearls"}},
		{"a letter too few", "restarant", []string{"the restaurant is closed"}},                //nolint:misspell // on purpose
		{"letters that changed places", "restuarant", []string{"the restaurant is closed"}},    //nolint:misspell // on purpose
		{"a typing error that was stored", "restaurant", []string{"the restuarant is closed"}}, //nolint:misspell // on purpose
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(100)
			for i, text := range append(c.texts, others...) {
				apply(t, s, ann, fact(fmt.Sprint(i), text))
			}
			hits := search(t, newRanker(t, s), ann, backends.SearchRequest{Query: c.query})
			require.Len(t, hits, len(c.texts))
			for i, h := range hits {
				require.Equal(t, c.texts[i], h.Text)
				require.Greater(t, h.Score, 0.08)
			}
			require.Greater(t, hits[0].Score, 0.12)
		})
	}
}

// A word finds another one as its typing error only where both are long, alike and unknown.
func TestWhatIsNoTypingError(t *testing.T) {
	for query, text := range map[string]string{
		"horse":    "the house is old", // too short
		"necklice": "a bracelet",
		"1234560":  "call 1234561", // a number
		"Xecklace": "a necklace",   // its first letter
		"C++":      "vitamin C",
	} {
		s := newStore(100)
		apply(t, s, ann, fact("0", text), fact("1", "about something else"))
		require.Empty(t, find(t, newRanker(t, s), query), query)
	}
	for _, known := range []string{"a necklace", "a necklase"} { // the word itself, where it is known
		s := newStore(100)
		apply(t, s, ann, fact("0", "a necklace"), fact("1", "a necklase"))
		require.Equal(t, known, search(t, newRanker(t, s), ann, backends.SearchRequest{Query: known})[0].Text)
		require.Len(t, find(t, newRanker(t, s), known), 1)
	}
}
