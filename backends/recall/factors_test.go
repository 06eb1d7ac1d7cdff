// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

var factorNames = []string{"content", "rare", "self", "names", "time", "number"}

// Of two messages with the same words of a query, a factor puts the one first that tells more, and
// says so. Score is the same without it.
func TestEachFactorPutsFirstWhatItSays(t *testing.T) {
	for _, c := range []struct {
		factor, query string
		first, second string // of about one length; the second is newer, and so comes first in a tie
		more          []string
	}{
		{"content", "pottery", "The pottery kiln cracked", "The pottery week passed", []string{"week passed", "the week passed", "a week passed"}},
		{"rare", "pottery", "The pottery kiln cracked", "The pottery week passed", []string{"week passed", "the week passed", "a week passed"}},
		{"self", "pottery", "I sold pottery", "You sold pottery", nil},
		{"self", "陶艺", "我卖陶艺", "你卖陶艺", nil},
		{"names", "pottery", "My pottery is in Lisbon with Tom", "My pottery is in town with them", nil},
		{"time", "When did she sell pottery?", "We sold pottery last Friday", "We sold pottery with pleasure", nil},
		{"time", "陶艺什么时候卖的", "陶艺昨天卖了", "陶艺终于卖了", nil},
		{"time", "陶藝什麼時候賣的", "陶藝昨天賣了", "陶藝終於賣了", nil},
		{"number", "How many pots did he sell?", "He sold three pots", "He sold nice pots", nil},
		{"number", "卖了多少陶艺", "卖了三件陶艺", "卖了这件陶艺", nil},
	} {
		s := newStore(1)
		apply(t, s, ann, said("a", day(1), "", "", c.first)...)
		apply(t, s, ann, said("b", day(2), "", "", c.second)...)
		for i, text := range c.more {
			apply(t, s, ann, said(fmt.Sprint("c", i), day(3), "", "", text)...)
		}
		others := func(names ...string) []string { // leaves all signals out but these
			var out []string
			for _, name := range Signals() {
				if len(names) == 0 || name != names[0] {
					out = append(out, name)
				}
			}
			return out
		}
		q := backends.SearchRequest{Query: c.query}
		with := search(t, newRanker(t, s, func(cfg *Config) { cfg.Without = others(c.factor) }), ann, q)
		without := search(t, newRanker(t, s, func(cfg *Config) { cfg.Without = others() }), ann, q)
		require.Equal(t, []string{"a:1", "b:1"}, ids(with), "%s: %s", c.factor, c.first)
		require.Greater(t, signalsOf(with, "a:1")[c.factor], signalsOf(with, "b:1")[c.factor], c.factor)
		require.Empty(t, without[0].Parts.Signals)
		scores := map[string]float64{}
		for _, h := range without {
			scores[h.ID] = h.Score
		}
		for _, h := range with {
			require.InDelta(t, scores[h.ID], h.Score, 0, "a factor leaves Score")
		}
	}
}

// The time and the number of an answer count for facts, too. Facts take no part in the rest. None
// counts for a question that asks for neither, for experience, or where an assistant answers at length.
func TestWhereFactorsCount(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, fact("fact", "Ann sold two pots last Friday in Oslo"))
	apply(t, s, ann, put(backends.Memory{ID: "task", Kind: backends.KindTask, Text: "Sell pots last on Friday"}))
	apply(t, s, ann, said("a", day(1), "", "", "I sold two pots last Friday in Oslo")...)
	factorsOf := func(query, id string) (out []string) {
		has := signalsOf(search(t, r, ann, backends.SearchRequest{Query: query}), id)
		for _, name := range factorNames {
			if has[name] != 0 {
				out = append(out, name)
			}
		}
		return out
	}
	require.Equal(t, []string{"time"}, factorsOf("When did Ann sell pots?", "fact"))
	require.Equal(t, []string{"number"}, factorsOf("How many pots did Ann sell?", "fact"))
	require.Empty(t, factorsOf("Where did Ann sell pots?", "fact"))
	require.Empty(t, factorsOf("When did Ann sell pots?", "task"))
	require.Equal(t, []string{"content", "rare", "names"}, factorsOf("Where did Ann sell pots?", "a:1"))
	apply(t, s, ann, said("b", day(2), "user", "", "Pots?")...)
	apply(t, s, ann, said("c", day(2), "assistant", "", "Pots are sold at markets, in shops and online, where buyers compare prices, shapes, glazes and sizes at leisure."+strings.Repeat(" Clay shrinks when it dries.", 20))...)
	require.Empty(t, factorsOf("When did Ann sell pots?", "a:1"))
}

func TestKindsOfThingsThatATextTells(t *testing.T) {
	for text, want := range map[string]stating{
		"":                      0,
		"It was nice.":          0,
		"She’s seen it. Great!": 0, // a word that opens a sentence may be no name
		"I’ve been there":       tellsSelf,
		"Is it YOURS?":          tellsYou,
		"born in 1984":          tellsTime | tellsNumber,
		"at 12345":              tellsNumber,
		"since last winter":     tellsTime,
		"we met Ann":            tellsSelf | tellsName,
		"saw Ann and Bob":       tellsName | tellsNames,
		"去年我见过你":                tellsSelf | tellsYou | tellsTime,
		"三只猫":                   tellsNumber,
	} {
		require.Equal(t, want, tellingOf(text), text)
	}
}

// Users who ask for the assistant's words find its answers; else theirs come first.
func TestAnAssistantsOwnWordsCanBeAskedFor(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, said("a", day(1), "user", "", "I glaze pots.", "And then?")...)
	apply(t, s, ann, said("b", day(1), "assistant", "", "To glaze pots I suggest the celadon method, fired slowly, since it forgives mistakes and hides small cracks in the clay."+strings.Repeat(" Clay shrinks when it dries.", 20))...)
	for query, want := range map[string]bool{
		"Which method did you suggest to glaze pots?": true, "What was your advice on how to glaze pots?": true, "你之前推荐的 glaze pots 方法": true,
		"How do I glaze pots?": false, "What did I suggest to glaze pots?": false,
	} {
		off := signalsOf(search(t, r, ann, backends.SearchRequest{Query: query}), "b:1")["assistant"]
		require.Equal(t, want, off == 0, query)
	}
}
