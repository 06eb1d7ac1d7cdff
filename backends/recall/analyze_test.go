// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

func testReader(t require.TestingT) *reader {
	a, err := newAnalyzer()
	require.NoError(t, err)
	return newReader(a, newVocabulary())
}

// terms returns the terms of texts, in order.
func (r *reader) terms(texts ...string) []string {
	out := []string{}
	r.scan(texts...)
	for _, n := range r.sequence {
		out = append(out, r.vocabulary.terms[n])
	}
	return out
}

func TestTerms(t *testing.T) {
	r := testReader(t)
	for _, c := range []struct{ name, text, terms string }{
		{"porter", "Running relational ponies", "run relat poni"},
		{"stop words and contractions", "I'm not what you're; it's the cat", "cat"},
		{"possessive, either apostrophe", "Ann's cat, Bob’s dog", "ann cat bob dog"},
		{"accents stay", "Café NAÏVE", "café naïv"},
		{"decomposed accents", "Cafe\u0301 'e\u0301te\u0301'", "café été"},
		{"width and ligatures", "ＡＢＣ１２３ ﬁne", "abc123 fine"},
		{"case folding beyond lower case", "STRASSE Straße", "strass strass"},
		{"parts of names", "user_id config.yaml hello.World a:b", "user id config yaml hello world b"},
		{"numbers stay whole", "v1.2.3 10,000 3.14 2023-05-08 1'2", "v1.2.3 10,000 3.14 2023 05 08 1'2"},
		{"marks join only what they join", "1.a a.1 a,b 1;2 'x' -y-", "1 1 b 1;2 x y"},
		{"Catalan", "col·lecció · x", "col·lecció x"},
		{"Hebrew acronyms", "צה\"ל \"שלום\"", "צה\"ל שלום"},
		{"joiners inside of words", "می\u200cخواهم co\u00adop", "می\u200cخو co\u00adop"},
		{"digits of other scripts", "٣.٤ ३.४", "3.4 ३.४"},
		{"fractions are two numbers", "½", "1 2"},
		{"Han", "绿茶好", "绿 茶 绿茶 好 茶好"},
		{"Han beside Latin", "我在Google工作", "我 在 我在 googl 工 作 工作"},
		{"Han beside numbers", "3月5日，2026", "3 月 5 日 2026"},
		{"rare Han", "𠀀㐀", "𠀀 㐀 𠀀㐀"},
		{"white space and marks part neighbours", "绿 茶，茶\u3000好", "绿 茶 茶 好"},
		{"kana, half width", "ｱｲｽー", "ア イ アイ ス イス ー スー"},
		{"Han and kana", "東京タワー", "東 京 東京 タ 京タ ワ タワ ー ワー"},
		{"Hangul attached to Latin", "iPhone은 좋다", "iphon 은 좋 다 좋다"},
		{"Thai", "ไป", "ไ ป ไป"},
		{"Russian", "Книги и друзья", "книг друз"},
		{"Arabic", "الكتب", "كتب"},
		{"Devanagari as it is", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"nothing to index", " … 😀 -- ! ' \u0301", ""},
		{"overlong", strings.Repeat("1", 300), strings.Repeat("1", 256)},
		{"broken UTF-8", "caf\xff tea\xe4\xb8", "caf tea"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.terms, strings.Join(r.terms(c.text), " "))
			require.Equal(t, c.terms, strings.Join(r.terms(c.text), " "), "remembered")
		})
	}
}

// What the reader finds in one pass are the words of UAX #29, as a segmenter finds them in
// the folded text, cut at the marks that join names there.
func TestTermsAreThoseOfUAX29(t *testing.T) {
	r := testReader(t)
	segmented := func(text string) []string {
		out := []string{}
		var before string // the Han character before
		words := segment.NewWordSegmenterDirect([]byte(cases.Fold().String(norm.NFKC.String(text))))
		for words.Segment() {
			word := words.Text()
			if words.Type() == segment.Ideo {
				out = append(out, word)
				if before != "" {
					out = append(out, before+word)
				}
				before = word
				continue
			}
			before = ""
			if words.Type() == segment.None {
				continue
			}
			parts := strings.FieldsFunc(word, func(c rune) bool { return c == '_' || c == ':' })
			for _, part := range parts {
				if !strings.ContainsAny(part[:1], "0123456789") && strings.Trim(part, "0123456789.") != "" {
					parts = strings.Split(part, ".")
				} else {
					parts = []string{part}
				}
				for _, p := range parts {
					if term := r.analyzer.term(p); term != "" {
						out = append(out, term)
					}
				}
			}
		}
		return out
	}
	check := func(t require.TestingT, text string) {
		require.Equal(t, segmented(text), r.terms(text), "%q", text)
	}
	const sorts = "aS0',;_\"- \n\r@\x00茶"
	for _, x := range sorts { // every text of up to three characters of each sort
		for _, y := range sorts {
			for _, z := range sorts {
				for _, ends := range []string{"", "b", "1"} {
					check(t, ends+string(x)+string(y)+string(z)+ends)
				}
			}
		}
	}
	forms := []string{"cats", "Running", "42", "'s", "don't", "it'S", "1.2", "3,4;5", "x_1", "http://a/c?d=e", "user@example", "SEVENTEENCHARACTER",
		"é", "e\u0301", "’s", "—", "“", "ﬁ", "Ａ", "１", "ß", "Σ", "绿茶", "三", "，", "。", "《", "книги", "كتب", "नमस्ते", "😀", "\u3000", " ", "\n"}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(forms), 0, 24).Draw(t, "text"), " "))
	})
}

// Documents and queries meet by their terms, whatever the form of a text and whatever was
// read before it.
func TestTermsDoNotDependOnForm(t *testing.T) {
	a := testReader(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zé]{1,8}|[绿茶东京]{1,4}|[0-9]{1,3}|user_id|Ann's| ){0,12}`).Draw(t, "text")
		want := testReader(t)
		require.Equal(t, want.terms(text), a.terms(text))
		require.Equal(t, a.terms(text), a.terms("  "+strings.ToUpper(text)+" !"))
		counts := map[string]int32{}
		for _, term := range a.terms(text) {
			counts[term]++
		}
		b := a.read(text)
		require.Len(t, b.terms, len(counts))
		for _, c := range b.terms {
			require.Equal(t, counts[a.vocabulary.terms[c.term]], c.count)
		}
		require.Len(t, a.sequence, int(b.length))
	})
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "Ann's cats", "绿茶 green茶", "ｱｲｽ", "\xff\xfe", "a.b_c", "ๆ", "한국어 русский", "''s", "1.,2", "א\"א", "a\u200d"} {
		f.Add(s, "tea")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		r := testReader(t)
		one, two := r.terms(first), r.terms(second)
		for _, term := range one {
			if term == "" || !utf8.ValidString(term) || strings.ContainsAny(term, " \t\n") || len(term) > maxTerm {
				t.Fatalf("term %q of %q", term, first)
			}
		}
		for _, both := range [][]string{r.terms(first + " " + second), r.terms(first, second)} {
			if !slices.Equal(both, slices.Concat(one, two)) {
				t.Fatalf("terms %q of %q and %q", both, first, second)
			}
		}
	})
}

func TestIndexedText(t *testing.T) {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.FixedZone("", 0))
	r := testReader(t)
	for _, c := range []struct {
		name string
		m    backends.Memory
		want string
	}{
		{"text alone", backends.Memory{Text: "tea"}, "tea"},
		{"all parts", backends.Memory{Text: "tea", WhenToUse: "thirsty", Observed: at, Origin: backends.Origin{Speaker: "Ann"}},
			"Ann 1:56 pm on 8 May, 2023 thirsty thirsty tea"},
		{"in UTC", backends.Memory{Text: "tea", Observed: at.In(time.FixedZone("", 14*3600))}, "1:56 pm on 8 May, 2023 tea"},
		{"experience has no date", backends.Memory{Kind: backends.KindTask, Text: "tea", Observed: at}, "tea"},
		{"nor have tools", backends.Memory{Kind: backends.KindTool, Text: "tea", Observed: at}, "tea"},
		{"nor have procedures", backends.Memory{Kind: backends.KindProcedure, Text: "tea", Observed: at}, "tea"},
		{"facts have", backends.Memory{Kind: backends.KindFact, Text: "tea", Observed: at}, "1:56 pm on 8 May, 2023 tea"},
		{"Chinese", backends.Memory{Text: "绿茶", Observed: at}, "1:56 pm on 8 May, 2023 2023年5月8日 绿茶"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, r.terms(c.want), r.terms(indexed(&c.m)...))
		})
	}
}

// The numbers of terms that no memory holds any more are used for others.
func TestVocabularyReusesNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, model := newVocabulary(), map[string]int32{}
		word := rapid.SampledFrom([]string{"tea", "cats", "dog", "茶", "绿茶", "x1"})
		for range 40 {
			w := word.Draw(t, "word")
			if n, ok := model[w]; ok && rapid.Bool().Draw(t, "release") {
				v.release(n)
				v.release(n) // a second time does nothing
				delete(model, w)
				continue
			}
			model[w] = v.number(w)
			seen := map[int32]bool{}
			for w, n := range model {
				require.Equal(t, n, v.find(w))
				require.False(t, seen[n], "two terms with one number")
				seen[n] = true
			}
			require.LessOrEqual(t, v.size(), 6)
		}
	})
}
