// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/recall"
)

func newAnalyzer(t testing.TB) recall.Analyzer {
	t.Helper()
	a, err := recall.NewAnalyzer()
	require.NoError(t, err)
	return a
}

func TestTerms(t *testing.T) {
	a := newAnalyzer(t)
	for _, c := range []struct{ name, text, terms string }{
		{"porter", "Running relational ponies", "run relat poni"},
		{"stop words and contractions", "I'm not what you're; it's the cat", "cat"},
		{"possessive, either apostrophe", "Ann's cat, Bob’s dog", "ann cat bob dog"},
		{"accents stay", "Café NAÏVE", "café naïv"},
		{"width and ligatures", "ＡＢＣ１２３ ﬁne", "abc123 fine"},
		{"case folding beyond lower case", "STRASSE Straße", "strass strass"},
		{"parts of names", "user_id config.yaml hello.World", "user id config yaml hello world"},
		{"numbers stay whole", "v1.2.3 10,000 3.14 2023-05-08", "v1.2.3 10,000 3.14 2023 05 08"},
		{"Han", "绿茶好", "绿 茶 绿茶 好 茶好"},
		{"Han beside Latin", "我在Google工作", "我 在 我在 googl 工 作 工作"},
		{"a space parts neighbours", "绿 茶", "绿 茶"},
		{"kana, half width", "ｱｲｽー", "ア イ アイ ス イス ー スー"},
		{"Hangul glued to Latin", "iPhone은 좋다", "iphon 은 좋 다 좋다"},
		{"Thai", "ไป", "ไ ป ไป"},
		{"Russian", "Книги и друзья", "книг друз"},
		{"Arabic", "الكتب", "كتب"},
		{"Devanagari as it is", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"a mark without a letter", "tea \u102b \u0301\u102b", "tea \u102b \u0301 \u102b"},
		{"nothing to index", " … 😀 -- !", ""},
		{"overlong", strings.Repeat("1", 300), strings.Repeat("1", 256)},
		{"broken UTF-8", "caf\xff tea", "caf tea"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.terms, strings.Join(a.Terms(c.text), " "))
		})
	}
}

// Terms are what documents and queries meet by, whatever the form of a text.
func TestTermsDoNotDependOnForm(t *testing.T) {
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zé]{1,8}|[绿茶东京]{1,4}|[0-9]{1,3}| ){0,12}`).Draw(t, "text")
		require.Equal(t, a.Terms(text), a.Terms(strings.ToUpper(text)))
		require.Equal(t, a.Terms(text), a.Terms("  "+text+" !"))
	})
}

// What was met before is given the same terms again.
func TestMemoChangesNothing(t *testing.T) {
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.StringMatching(`(cats |Running|the |user_id |绿茶|iPhone은 | '|ｱ|Ann's |, ){0,8}`)).Draw(t, "texts")
		require.Equal(t, a.TermsOfEach(texts, false), a.TermsOfEach(texts, true))
	})
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "Ann's cats", "绿茶 green茶", "ｱｲｽ", "\xff\xfe", "a.b_c", "ๆ", "한국어 русский", "''s", "1.,2"} {
		f.Add(s)
	}
	a, err := recall.NewAnalyzer()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, s string) {
		for _, term := range a.Terms(s) {
			if term == "" || !utf8.ValidString(term) || strings.ContainsAny(term, " \t\n") {
				t.Fatalf("term %q of %q", term, s)
			}
		}
	})
}
