// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

// asciiForms are pieces of ASCII text that the rules of UAX #29 treat in ways of
// their own.
var asciiForms = []string{"a", "Z", "cats", "Running", "0", "42", "'", "'s", "\"", ".", ",", ";", ":", "_", "-", "@", "/",
	" ", "\n", "\t", "\r", "\x00", "\x0b", "\x7f", "the", "don't", "it'S", "1'2", "a.b", "1.2", "3,4;5", "a:b", "x_1", "_", "user@example.com",
	"http://a.b/c?d=e", "sixteencharacter", "seventeencharacte", "SIXTEENCHARACTER"}

// wideForms are pieces of other text, each with something that reaches beyond its
// characters: combining marks, joiners, widths, digits of other scripts, scripts
// without spaces.
var wideForms = []string{"é", "e\u0301", "\u0301", "=\u0338", "\u200d", "\u00ad", "\u00a0", "’", "’s", "—", "“", "ﬁ", "Ａ", "１", "½", "²",
	"ß", "İ", "Σ", "茶", "绿茶", "ア", "ｱ", "ー", "ｰ", "한국", "은", "ไ", "ๆ", "книги", "كتب", "א\"א", "א'", "नमस्ते", "٣", "٣.٤",
	"😀", "🇩🇪", "👩‍👩‍👧", "\xff", "\xe4\xb8", "\u2028", "\u3000", "：", "。", "·", "´", "ª"}

// hanForms are pieces of Chinese text.
var hanForms = []string{"茶", "绿茶", "三", "一", "龥", "鿿", "𠀀", "㐀", "，", "；", "。", "、", "：", "！", "（", "》", "“", "—", "…", "\u3000",
	"1", "2", "a", "B", "_", "'", ".", ",", ":", " ", "\u0301", "\ufe00", "々", "〇", "ア", "．", "·"}

func drawForms(t *rapid.T, forms ...[]string) string {
	var all []string
	for _, f := range forms {
		all = append(all, f...)
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(all), 0, 24).Draw(t, "text"), "")
}

var asciiTable = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0, Hi: unicode.MaxASCII, Stride: 1}}}

// The fast way finds the same terms as the slow one in every ASCII text.
func TestASCIITermsAreThoseOfUAX29(t *testing.T) {
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := drawForms(t, asciiForms) + rapid.StringOf(rapid.RuneFrom(nil, asciiTable)).Draw(t, "any")
		require.Equal(t, a.NaiveTerms(text), a.Terms(text), "%q", text)
	})
}

// Every text of up to three characters of each sort gives the same terms.
func TestShortASCIITexts(t *testing.T) {
	a := newAnalyzer(t)
	const sorts = "aS0'.,;:_\"- \n\r@"
	for _, x := range sorts {
		for _, y := range sorts {
			for _, z := range sorts {
				for _, ends := range []string{"", "b", "1"} {
					text := ends + string(x) + string(y) + string(z) + ends
					require.Equal(t, a.NaiveTerms(text), a.Terms(text), "%q", text)
				}
			}
		}
	}
}

func TestHanTermsAreThoseOfUAX29(t *testing.T) {
	a := newAnalyzer(t)
	rapid.Check(t, func(t *rapid.T) {
		text := drawForms(t, hanForms)
		require.Equal(t, a.NaiveTerms(text), a.Terms(text), "%q", text)
	})
	for _, x := range hanForms { // and all of up to three pieces
		for _, y := range hanForms {
			for _, z := range hanForms {
				require.Equal(t, a.NaiveTerms(x+y+z), a.Terms(x+y+z), "%q", x+y+z)
			}
		}
	}
}

// Parting a text at white space, and remembering what was met, change nothing.
func TestTermsOfAnyText(t *testing.T) {
	a := newAnalyzer(t)
	reader := recall.NewReader(a)
	rapid.Check(t, func(t *rapid.T) {
		text := drawForms(t, asciiForms, wideForms, hanForms) + rapid.String().Draw(t, "any")
		want := a.NaiveTerms(text)
		require.Equal(t, want, a.Terms(text), "%q", text)
		for range 2 { // the second time it is remembered
			require.Equal(t, want, reader.Terms(text), "%q", text)
		}
	})
}

// A memory is read in parts as its IndexText is as a whole.
func TestMemoryIsReadAsItsIndexText(t *testing.T) {
	a := newAnalyzer(t)
	reader := recall.NewReader(a)
	rapid.Check(t, func(t *rapid.T) {
		m := backends.Memory{Text: drawForms(t, asciiForms, wideForms), WhenToUse: drawForms(t, asciiForms, wideForms)}
		m.Origin.Speaker = rapid.SampledFrom([]string{"", "Ann", "小明", "\u0301"}).Draw(t, "speaker")
		if rapid.Bool().Draw(t, "dated") {
			m.Observed = time.Unix(rapid.Int64Range(-1e11, 1e11).Draw(t, "observed"), 0)
		}
		require.Equal(t, a.NaiveTerms(recall.IndexText(&m)), reader.MemoryTerms(&m))
	})
}

// A tally counts each term of its own text, whatever was tallied before.
func TestTallyCountsTheTerms(t *testing.T) {
	a := newAnalyzer(t)
	reader := recall.NewReader(a)
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.StringMatching(`(tea |cats |cat |the |绿茶|x1 ){0,8}`)).Draw(t, "texts")
		for i, counts := range reader.Tallies(texts) {
			want := map[string]int{}
			for _, term := range a.NaiveTerms(texts[i]) {
				want[term]++
			}
			require.Equal(t, want, counts)
		}
	})
}

func FuzzTermsEqualTheNaive(f *testing.F) {
	for _, s := range slices.Concat(asciiForms, wideForms, hanForms) {
		f.Add(s, "tea "+s+" 绿")
	}
	a, err := recall.NewAnalyzer()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, first, second string) {
		reader := recall.NewReader(a)
		for _, text := range []string{first, second, first + second, first} {
			require.Equal(t, a.NaiveTerms(text), reader.Terms(text), "%q", text)
		}
	})
}
