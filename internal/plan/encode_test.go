// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

func TestEncode(t *testing.T) {
	text, err := plan.Encode("record a", map[string]string{"text": "<b> & 茶\n"})
	require.NoError(t, err)
	require.Equal(t, `{"text":"<b> & 茶\n"}`, text)
	for _, v := range []any{func() {}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := plan.Encode("record a", v)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "record a")
	}
}

func TestParseNames(t *testing.T) {
	for _, c := range []struct{ prefix, after, low, high string }{
		{"", "", "", "\xff"}, {"a/", "", "a/", "a/\xff"}, {"é", "", "é", "é\xff"}, {"", "a", "a\x00", "\xff"}, {"a", "a\x00", "a\x00\x00", "a\xff"},
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

func TestNumbersSurviveText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := plan.Numbers(rapid.SliceOf(rapid.Int64()).Draw(t, "numbers"))
		got, err := plan.ParseNumbers(want.String())
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
	})
}

func TestParseNumbersRefusesBadText(t *testing.T) {
	for _, text := range []string{"!", "gA", "____________________", "bnVtYmVycw"} {
		_, err := plan.ParseNumbers(text)
		require.Error(t, err, text)
	}
}

func FuzzParseNumbers(f *testing.F) {
	f.Add("")
	f.Add(plan.Numbers{1, -2}.String())
	f.Fuzz(func(t *testing.T, text string) {
		n, err := plan.ParseNumbers(text)
		if err == nil {
			again, err := plan.ParseNumbers(n.String())
			require.NoError(t, err)
			require.ElementsMatch(t, n, again)
		}
	})
}
