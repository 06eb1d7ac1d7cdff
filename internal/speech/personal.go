// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"strings"
	"unicode"
)

// Personal reports whether a good answer to a request may depend on who asks: on their life, the
// people whom they know, or what was said before. A request for a fact, a sum, code, or work on a
// given text is the same for everybody. The best sentence counts, by weights as in [Standing]; of an
// order to work on a text only what is before a colon. A request without a Chinese character and a
// common English word is personal: it is in a language that the weights lack, or is a few keywords.
//
// Of 120 personal messages by an author whom the fit has not seen 117 are found, and of 120 others, half
// of them close to one, 20 are taken for one. The patterns before it found 58, and took 57. These
// messages were counted for some twenty settings.
func Personal(request string) bool {
	words := strings.ToLower(strings.ReplaceAll(request, "’", "'"))
	if !known.MatchString(words) {
		return true
	}
	if task.MatchString(words) {
		words, _, _ = strings.Cut(strings.ReplaceAll(words, "：", ":"), ":")
	}
	return personalWeights.most(words) > 0
}

var (
	known = regexp.MustCompile(`\p{Han}|\b(?:the|of|is|are|does|did|what|what's|how|who|which|when|where|why|this|that|and|with|you|for|has|have|can|from|write|translate|explain|give|tell)\b`)
	// task opens a request that has a text behind a colon.
	task = regexp.MustCompile(`^(?:please |can you |could you |请|帮我|麻烦)*(?:translate|fix|correct|proofread|rewrite|rephrase|paraphrase|summari[sz]e|shorten|explain|improve|convert|format|turn|sort|edit|check|把|将|翻译|改|修改|校对|润色|总结|概括|缩写|解释|整理|检查|纠正)`)
)

// Names returns the words of an English request that name somebody or something: capitals show
// them. A word that opens a sentence does not count.
func Names(request string) (names []string) {
	if lower := strings.ToLower(request); !known.MatchString(lower) || strings.ToUpper(request) == request {
		return nil
	}
	opens := true
	for _, w := range strings.Fields(request) {
		name := strings.TrimFunc(strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s"), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if name != "" && unicode.IsUpper([]rune(name)[0]) && !opens && !unnamed.MatchString(name) {
			names = append(names, name)
		}
		opens = strings.ContainsAny(w[len(w)-1:], ".?!:")
	}
	return names
}

// unnamed matches capitals that name nobody.
var unnamed = regexp.MustCompile(`^(?:I|I['’]\w+|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September|October|November|December|English|Chinese|French|German|Spanish|Japanese)$`)
