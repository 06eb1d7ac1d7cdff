// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

// Package period finds words by their offsets in the simplified text.
func TestSimplifiedTextHasAsManyBytes(t *testing.T) {
	for _, s := range []string{strings.ReplaceAll(characters, "\n", ""), "\xff 後天\xe5去", "", "tomorrow"} {
		require.Len(t, Simplified(s), len(s))
	}
	require.Equal(t, "别记住这条讯息", Simplified("別記住這條訊息"))
}

// What the shortcuts of the text key rest on, for every character of the planes that
// have cases and numbers.
func TestShortcutsHold(t *testing.T) {
	for r := rune(0); r <= 0x1ffff; r++ {
		digits := !unicode.IsDigit(r) && strings.ContainsFunc(norm.NFKD.String(string(r)), unicode.IsDigit)
		if holdsNumber(r) != digits {
			t.Errorf("%U holds a number: %v", r, digits)
		}
		if f := unicode.SimpleFold(r); f != iotaBelow && r != iotaBelow && foldCase(f) != foldCase(r) {
			t.Errorf("%U and %U are folded apart", r, f)
		}
	}
	require.Equal(t, 'Ι', foldCase('ι'))
	require.Equal(t, iotaBelow, foldCase(iotaBelow))
}
