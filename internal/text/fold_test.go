// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/text"
)

func TestFoldIsEqualForTheSameWords(t *testing.T) {
	for _, tc := range [][]string{
		{"The user likes tea.", "the user likes tea", " The  user\tlikes\ntea. ", "THE USER LIKES TEA!", "The user likes tea...", "The user likes tea…"},
		{"Ｔｈｅ　ｕｓｅｒ　ｌｉｋｅｓ　ｔｅａ．", "the user likes tea"},
		{"用户喜欢茶。", "用户喜欢茶", "用户喜欢茶！", "用户喜欢茶．", "用户喜欢茶……", "用户喜欢茶｡"},
		{"预算是１２００元，", "预算是1200元"},
		{"ｶﾞﾗｽ", "ガラス"},
		{"cafe\u0301", "Café", "CAFÉ"},
		{"Straße", "STRAẞE"},
		{"ΣΊΣΥΦΟΣ", "Σίσυφος"}, {"ΐ", "Ϊ\u0301"}, {"5 µm", "5 ΜM"}, {"각", "\u1100\u1161\u11a8"},
		{"Ⅳ. Akt", "iv. akt"},
		{"1 \u212a", "1 k"},
		{"...", "…"},
	} {
		for _, s := range tc[1:] {
			require.Equal(t, text.Fold(tc[0]), text.Fold(s), "%q and %q", tc[0], s)
		}
	}
}

func TestFoldDiffersForDifferentWords(t *testing.T) {
	for _, tc := range [][2]string{
		{"My budget is $1200", "My budget is $12000"},
		{"It costs 3.5", "It costs 35"}, {"v1.2", "v12"}, {"-5 degrees", "5 degrees"}, {"50%", "50"},
		{"10² pages", "102 pages"}, {"H₂O", "H2O at 2"}, {"½ cup", "12 cup"}, {"№ ① ②", "№ 12"},
		{"我住在12楼", "我住在21楼"}, {"用户喜欢茶", "用户不喜欢茶"}, {"他在北京", "她在北京"}, {"十二", "十三"},
		{"用户喜欢茶？", "用户喜欢茶。"}, {"Does it work?", "Does it work"},
		{"written in C#", "written in C"}, {"written in C++", "written in C"}, {"run git add .", "run git add"}, {"cd .", "cd .."}, {"cd ..", "cd"}, {"ls /", "ls"},
		{"Maße", "Masse"}, {"tea", "teas"}, {"now here", "nowhere"}, {"resume", "résumé"}, {"αί", "άι"}, {"αι", "ᾳ"}, {".", "!"}, {"", "."},
	} {
		require.NotEqual(t, text.Fold(tc[0]), text.Fold(tc[1]), "%q and %q", tc[0], tc[1])
	}
}

// vocabulary is words no two of which are the same in any spelling.
var vocabulary = []string{
	"tea", "teas", "the", "user", "likes", "not", "3", "12", "21", "2026", "1.5", "15", "-5", "5", "50%", "c#", "c++", "v1.2", "10²", "102",
	"maße", "masse", "茶", "咖啡", "北京", "东京", "不", "喜欢", "十二", "é", "e", "σ", "ж", "ガ", "カ",
}

// spelled writes words down in one of the ways that leave them the same.
func spelled(t *rapid.T, words []string) string {
	var b strings.Builder
	space := rapid.SampledFrom([]string{" ", "  ", "\t", "\n", "\u3000", " \u00a0"})
	for i, word := range words {
		if i > 0 || rapid.Bool().Draw(t, "led") {
			b.WriteString(space.Draw(t, "space"))
		}
		for _, r := range word {
			if upper := unicode.ToUpper(r); rapid.Bool().Draw(t, "upper") {
				r = upper
			}
			if r > ' ' && r < 0x7f && rapid.Bool().Draw(t, "wide") {
				r += 0xfee0
			}
			b.WriteRune(r)
		}
	}
	if len(words) > 0 {
		b.WriteString(rapid.SampledFrom([]string{"", ".", "。", "!", "！", "...", "…", ";", "；", "，", "、", "：", ".!"}).Draw(t, "mark"))
	}
	b.WriteString(rapid.SampledFrom([]string{"", " ", "\n", "\u3000"}).Draw(t, "end"))
	return b.String()
}

// Two texts have one key if and only if they are the same words in the same order.
func TestFoldIsEqualOnlyForTheSameWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6)
		a := some.Draw(t, "a")
		b := some.Draw(t, "b")
		require.Equal(t, text.Fold(spelled(t, a)), text.Fold(spelled(t, a)), "%q", a)
		same := strings.Join(a, " ") == strings.Join(b, " ")
		require.Equal(t, same, text.Fold(spelled(t, a)) == text.Fold(spelled(t, b)), "%q and %q", a, b)
		if len(a) > 0 {
			i := rapid.IntRange(0, len(a)-1).Draw(t, "at")
			other := append([]string(nil), a...)
			other[i] = rapid.SampledFrom(vocabulary).Filter(func(s string) bool { return s != a[i] }).Draw(t, "other")
			require.NotEqual(t, text.Fold(spelled(t, a)), text.Fold(spelled(t, other)), "%q and %q", a, other)
		}
	})
}

// Whatever the text, its key is that of the text in capitals wherever the capitals
// are those letters again, and a text never loses its digits.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"", ".", "The user likes tea.", "用户喜欢茶。", "10²", "½", "①", "ǅ", "ß", "a\u0301\u0345", "１２", "㍘", "ﬁne"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return // no store keeps it
		}
		if upper := strings.ToUpper(s); !strings.ContainsRune(s, '\u0345') && strings.EqualFold(upper, s) && text.Fold(s) != text.Fold(upper) {
			t.Errorf("%q and %q", s, upper)
		}
		if text.Fold(s) != text.Fold("  "+s+"\n") {
			t.Errorf("%q: spaces count", s)
		}
		if text.Fold(s) == text.Fold(s+" 7") || text.Fold("7"+s) == text.Fold("8"+s) {
			t.Errorf("%q: numbers do not count", s)
		}
	})
}
