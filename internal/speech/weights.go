// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	_ "embed"
	"hash/fnv"
	"io"
	"math"
	"regexp"
	"strings"
	"unicode"
)

// weights are those of a logistic regression on the cues of sentences, in 25ths of a logit: a byte
// for each cue, at its hash. The first one is the bias. Cues share weights by feature hashing
// (Weinberger et al., ICML 2009). weights_train_test.go fits them to the messages in testdata.
type weights string

//go:embed standing.bin
var standingWeights weights

//go:embed personal.bin
var personalWeights weights

//go:embed forget.bin
var forgetWeights weights

// biased is the cue that all sentences have, hashed is how many others there are.
const biased, hashed = 0, 1 << 17

// most returns the highest sum of weights that a sentence of a text has.
func (w weights) most(text string) int {
	most := math.MinInt
	for _, cues := range cuesOf(simple(text)) {
		sum := 0
		for cue := range cues {
			sum += int(int8(w[cue]))
		}
		most = max(most, sum)
	}
	return most
}

// Standing reports whether a user says something that always applies: an order how to answer
// ("Always answer in bullet points", "叫我小王"), or a hard limit of their own ("I'm allergic to
// peanuts", "我不吃辣"). The best sentence counts. A sentence is judged by the weights of its words and
// of two and three in a row, in Chinese of its characters: see [weights], fitted to 3,800 messages.
// Code, quotations, wishes to forget and texts of more than 600 bytes are exempt. The fit has learnt
// that a diagnosis is nothing to show always.
//
// Of 60 such messages by an author whom the fit has not seen 31 are found, and of 80 others, most of
// them close to one, 2 are taken for one. So are 12 of 2,760 turns of LoCoMo. Of 40 by one more author
// 23 are found, and none of 40 others is taken for one. The first two of these texts chose among some
// thirty settings.
func Standing(text string) bool {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "```")
	if len(text) > maxQuestion || AsksToForget(text) {
		return false
	}
	return standingWeights.most(text) > 0
}

// cuesOf returns the cues of each sentence of a text. A quoted line has none.
func cuesOf(text string) (out []map[uint32]bool) {
	asks := strings.ContainsAny(text, "?？")
	for _, s := range sentence.FindAllString(quotation.ReplaceAllString(text, "…"), -1) {
		if !strings.HasPrefix(strings.TrimSpace(s), ">") {
			out = append(out, cues(s, asks))
		}
	}
	return out
}

// cues returns the hashes of the words of a sentence, or of its Chinese characters, and of two and
// three in a row. "^" is the start of a clause. Marks are cues, too. The first word counts twice in a
// text that asks: its order may be for this question.
func cues(sentence string, asks bool) map[uint32]bool {
	out := map[uint32]bool{biased: true}
	add := func(cue string) {
		h := fnv.New32a()
		_, _ = io.WriteString(h, cue)
		out[1+h.Sum32()%hashed] = true
	}
	before, last := "", "^"
	var word strings.Builder
	end := func() {
		if w := word.String(); w != "" {
			add(w)
			add(last + " " + w)
			if asks {
				add("? " + w)
				asks = false
			}
			if before != "" {
				add(before + " " + last + " " + w)
			}
			before, last = last, w
		}
		word.Reset()
	}
	for _, r := range strings.ToLower(asUser.Replace(" " + strings.ReplaceAll(sentence, "’", "'"))) {
		switch {
		case unicode.Is(unicode.Han, r):
			end()
			word.WriteRune(r)
			end()
		case unicode.IsDigit(r):
			end()
			word.WriteByte('0')
			end()
		case unicode.IsLetter(r), r == '\'':
			word.WriteRune(r)
		case unicode.IsPunct(r):
			end()
			add(string(r))
			before, last = "", "^"
		default:
			end()
		}
	}
	end()
	return out
}

// asUser turns a fact about the user into their own words.
var asUser = strings.NewReplacer("The user is ", "I'm ", "The user has ", "I have ", "The user does not ", "I don't ", "The user doesn't ", "I don't ",
	"The user can't ", "I can't ", "The user cannot ", "I can't ", "The user prefers ", "I prefer ", "The user wants ", "I want ", "The user ", "I ", "用户的", "我", "用户", "我", " I am ", " I'm ")

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
	words := strings.ToLower(simple(strings.ReplaceAll(request, "’", "'")))
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
