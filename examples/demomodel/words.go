// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// synonyms are words that answer for each other, a row a meaning.
var synonyms = [][]string{
	strings.Fields("live lives lived move moves moved reside 住 搬"),
	strings.Fields("work works worked job 工 职"),
	strings.Fields("name called named 叫 名"),
	strings.Fields("old age 岁 龄"),
	strings.Fields("like likes love loves enjoy enjoys favorite prefer prefers 喜 爱"),
	strings.Fields("buy bought"), strings.Fields("eat eats ate"), strings.Fields("go goes went"), strings.Fields("drive drives drove"),
	strings.Fields("mom mother 妈 母"), strings.Fields("dad father 爸 父"),
}

// asking are the words of a question that its answer may lack.
var asking = strings.Fields(`a an the this that these those there i me my mine we us our you your he him his she her it its they them their
	am is are was were be been do does did have has had can could will would should may of in on at for from to with by about and or but
	if so not no any some all still also too again now currently today who what which when where why how much many user thing anything
	tell told say said remind remember know please get hello hi thanks thank ok okay bye 我 你 他 她 它 的 了 吗 呢 是 在 有 对 和 也 还 就 最 很 会 要 去 着 到 谁 哪 几 这 那 个`)

// plain takes out Chinese words that ask, and simplifies others.
var plain = strings.NewReplacer("’", "'", "i'm", "i am", "'s ", " is ", "who am i", "what is my name", "for a living", "for work", "do for work", "work",
	"favourite", "favorite", "colour", "color", "你好", " ", "谢谢", " ", "再见", " ", "我是谁", "我叫", "什么时候", " ", "什么", " ", "东西", " ", "哪里", " ", "哪儿", " ", "城市", " ", "多少", " ", "号码", " ",
	"今年", " ", "现在", " ", "记得", " ", "知道", " ", "告诉", " ", "请问", " ", "多大", "岁", "我们", "我", "名字", "名", "上班", "工作", "喜欢", "喜")

var (
	// kind is what sort of thing a question asks for: its answer seldom has the word.
	kind = regexp.MustCompile(`\b(?:what|which)\s+\pL+\s+(am|is|are|was|were|do|does|did)\b`)
	han  = regexp.MustCompile(`\p{Han}`)
	end  = regexp.MustCompile(`(?:ies|ied|ing|ed|es|s|ic|e|y)$`)
)

// words returns the content words of a text: stems, or the first of their synonyms, and Chinese
// characters one by one.
func words(text string) []string {
	text = plain.Replace(strings.ToLower(text))
	if out := content(kind.ReplaceAllString(text, " $1")); len(out) > 0 {
		return out
	}
	return content(text)
}

func content(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(han.ReplaceAllString(text, " $0 "), isMark) {
		if !slices.Contains(asking, w) && !slices.Contains(out, canonical(w)) {
			out = append(out, canonical(w))
		}
	}
	return out
}

func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

func canonical(word string) string {
	if row := rowOf(word); row >= 0 {
		return synonyms[row][0]
	}
	return stem(word)
}

func rowOf(word string) int {
	return slices.IndexFunc(synonyms, func(row []string) bool { return slices.Contains(row, word) })
}

// stem cuts the ending off a word: lives, lived and living are one.
func stem(word string) string {
	if len(word) < 4 || han.MatchString(word) {
		return word
	}
	return end.ReplaceAllString(word, "")
}

// related returns the synonyms of a question's words, in its script.
func related(question string) []string {
	var out []string
	for _, w := range words(question) {
		if row := rowOf(w); row >= 0 {
			out = append(out, synonyms[row]...)
		}
	}
	return slices.DeleteFunc(out, func(w string) bool { return han.MatchString(w) != han.MatchString(question) })
}
