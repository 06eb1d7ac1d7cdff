// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

func TestParseNames(t *testing.T) {
	for _, c := range []struct{ prefix, after, low, high string }{
		{"", "", "", "\xff"}, {"a", "", "a", "b"}, {"a/", "", "a/", "a0"}, {"a\x7f", "", "a\x7f", "a\x80"}, {"é", "", "é", "\xc3\xaa"}, {"\U0010ffff", "", "\U0010ffff", "\xf4\x8f\xbf\xc0"},
		{"", "a", "a\x00", "\xff"}, {"a", "a", "a\x00", "b"}, {"a", "a\x00", "a\x00\x00", "b"}, {"a", "az", "az\x00", "b"},
	} {
		cursor := ""
		if c.after != "" {
			cursor = plan.NamesCursor(c.after)
		}
		got, err := plan.ParseNames("blob", c.prefix, cursor)
		require.NoError(t, err, "%+q", c)
		require.Equal(t, plan.Names{Low: c.low, High: c.high}, got, "%+q", c)
	}
}

func TestParseNamesRefusesBadInput(t *testing.T) {
	for _, c := range []struct{ prefix, cursor, says string }{
		{"\xff", "", "not UTF-8"}, {strings.Repeat("x", store.MaxID+1), "", "at most"},
		{"", "?", `cursor "?"`}, {"", "YQ==", "cursor"}, {"", plan.NamesCursor("\xff"), "cursor"}, {"", plan.NamesCursor(strings.Repeat("x", store.MaxID+1)), "cursor"},
		{"b", plan.NamesCursor("a"), `prefix "b"`}, {"ab", plan.NamesCursor("a"), `prefix "ab"`},
	} {
		_, err := plan.ParseNames("blob", c.prefix, c.cursor)
		require.ErrorIs(t, err, backends.ErrInvalid, "%+q", c)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "blob")
	}
}

// TestPagesHoldEachNameOnce reads drawn names in pages and looks for those that
// begin with the prefix.
func TestPagesHoldEachNameOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab/\x00\x7féé🎈\U0010ffff")), 1, 4, -1)
		names := slices.Sorted(slices.Values(rapid.SliceOfDistinct(name, rapid.ID[string]).Draw(t, "names")))
		prefix := rapid.OneOf(rapid.Just(""), name).Draw(t, "prefix")
		want := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, prefix) })
		got := []string{}
		for cursor := ""; ; cursor = plan.NamesCursor(got[len(got)-1]) {
			r, err := plan.ParseNames("blob", prefix, cursor)
			require.NoError(t, err)
			page := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !r.Holds(n) })
			if len(page) == 0 {
				break
			}
			got = append(got, page[:min(2, len(page))]...)
		}
		require.Equal(t, append([]string{}, want...), got)
	})
}

func FuzzParseNames(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"a", plan.NamesCursor("ab")}, {"b", plan.NamesCursor("a")}, {"\xff", "?"}, {"é", plan.NamesCursor("é🎈")}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, prefix, cursor string) {
		r, err := plan.ParseNames("blob", prefix, cursor)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		require.Less(t, r.Low, r.High)
		require.GreaterOrEqual(t, r.Low, prefix)
		require.Equal(t, cursor == "", r.Holds(prefix), "the prefix itself is the first name there can be")
	})
}
