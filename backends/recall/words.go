// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"regexp"
	"slices"
	"strings"
)

// Words finds the content words of texts, which two texts have in common if they say the same. It
// is safe for concurrent use.
type Words struct{ analyzer *analyzer }

// NewWords returns a Words. Damaged lists of stop words are an error.
func NewWords() (*Words, error) {
	a, err := newAnalyzer()
	return &Words{analyzer: a}, err
}

// Words returns the content words as the Ranker analyses them.
func (r *Ranker) Words() *Words { return &Words{analyzer: r.analyzer} }

// Of returns the distinct content words of a text: stems of all but the stop words. Scripts without
// spaces give characters and pairs, except for function characters.
func (w *Words) Of(text string) map[string]bool {
	out := map[string]bool{}
	for _, t := range w.count(text) {
		if !isFunction(t.text) && !t.beside {
			out[t.text] = true
		}
	}
	return out
}

// hinted reports whether a text has one of the hints, which are in lower case: a regular expression
// for it takes ten times as long. It also does for the letter ſ, which expressions take for an s.
func hinted(text string, hints ...string) bool {
	text = strings.ToLower(text)
	return strings.ContainsRune(text, 'ſ') || slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(text, hint) })
}

// idle are words of a question that are beside its subject.
var idle = regexp.MustCompile(`(?i)\b(?:at the moment|right now|currently|nowadays|these days|at present|(?:can|could|would) you|do you (?:still )?(?:know|remember)|(?:please )?(?:tell|remind) me(?: again)?|please|again)\b|现在|目前|请问|请|告诉我|(?:你|您)?(?:还)?记得|哪里|哪儿|什么|怎么样?|多少`)

// count returns the terms of a text without the subject of statements: most are about the user.
func (w *Words) count(text string) []queryTerm {
	if strings.Contains(text, "he user") || strings.Contains(text, "用户") {
		text = person.Replace(text)
	}
	terms, _ := w.analyzer.count(text)
	return terms
}

// person takes out the subject.
var person = strings.NewReplacer("用户", " ", "The user's", "", "The user", "", "the user's", "", "the user", "")

// Related returns words together with words that people use for the same things: "lives" brings
// "moved".
func (w *Words) Related(words map[string]bool) map[string]bool {
	out := map[string]bool{}
	for word := range words {
		out[word] = true
		for _, other := range w.analyzer.groups[word] {
			out[other] = true
		}
	}
	return out
}

// Asked returns the words of a query that a text has, itself or by a related word, in order.
func (w *Words) Asked(query map[string]bool, text string) (out []string) {
	terms := w.count(text)
	for q := range query {
		if group := w.analyzer.groups[q]; slices.ContainsFunc(terms, func(t queryTerm) bool { return t.text == q || slices.Contains(group, t.text) }) {
			out = append(out, q)
		}
	}
	slices.Sort(out)
	return out
}

// functionChars only hold Chinese sentences together.
const functionChars = "我你您他她它们的了吗呢吧啊呀么是在有和与也都就还很这那哪什怎谁几个一"

// isFunction reports whether a term only holds a sentence together, beyond the stop words.
func isFunction(term string) bool { return strings.ContainsAny(term, functionChars) }

// light are words, and characters, of questions that ask for a time alone.
const light = `give show let want happen happened go went gone come came get got do say said tell told talk speak spoke chat discuss mention ask share learn know
	remember recall forget think thought summarise summary recap review list overview look back bring up busy new plan planned schedule agenda
	calendar appointment event activity anything something everything nothing thing stuff anyone us me like life interesting important special
	particular all far much many next day night morning evening week weekend month year time
	发 生 事 情 做 干 忙 说 讲 聊 谈 提 到 告 诉 问 跟 给 对 回 顾 忆 总 结 下 记 得 住 录 值 况 安 排 计 划 日 程 活 动 行 去 来 过 里 上 中 内 份 时 候 期 间
	新 经 历 重 要 意 义 如 何 样 为 止 待 办 打 算 关 于 帮 些 最 近 天 周 末`

const months = "january february march april may june july august september october november december"

// isLight reports whether a term is one of light, or consists of its characters.
func (a *analyzer) isLight(term string) bool {
	return a.light[term] || !strings.ContainsFunc(term, func(c rune) bool { return !a.light[string(c)] })
}

// related are words by which people ask for and state the same things about themselves. A word of a
// query also finds the others of its group, at relatedWeight. Without a model or an embedder,
// "Where do I live?" needs that to find "I moved to Shanghai". In a group with a ">", the words
// before it find the words behind it, but the reverse is not true.
var related = []string{
	"live reside residence address move relocate 住 搬 居住 搬家 地址",
	"work job employer company career profession occupation employed hired quit 工作 上班 公司 职业 入职 跳槽 辞职",
	"name call nickname 名字 姓名 叫",
	"eat food diet meal > vegetarian vegan meat fish 素 素食 肉", "吃 饮食 > 素 素食 肉",
	"drink beverage > tea coffee beer wine 茶 咖啡", "喝 饮料 > 茶 咖啡",
	"birthday born birth 生日 出生", "old age 岁 年龄 多大",
	"wife spouse 妻子 老婆 太太", "husband spouse 丈夫 老公", "married wedding engaged 结婚 婚礼",
	"kid child > son daughter 儿子 女儿", "children kids 孩子 > 儿子 女儿",
	"mother mom mum 妈妈 母亲", "father dad 爸爸 父亲", "pet 宠物 > dog cat puppy kitten 狗 猫",
	"like love enjoy favourite favorite prefer 喜欢 最爱 偏好", "trip travel vacation holiday 旅行 旅游",
	"meeting appointment 会议 开会 预约", "phone mobile 电话 手机 号码", "medicine medication prescription 药",
	"car vehicle drive 车 开车", "study school university college degree major 学校 大学 专业",
}

// relatedWeight is what a related word counts against the word itself.
const relatedWeight = 0.4

// relate returns the words that each word finds, as terms.
func (a *analyzer) relate() map[string][]string {
	groups := map[string][]string{}
	for _, line := range related {
		from, to, _ := strings.Cut(line, ">")
		finders := a.terms(from)
		found := append(slices.Clone(finders), a.terms(to)...)
		for _, t := range finders {
			groups[t] = append(groups[t], found...)
		}
	}
	return groups
}

// terms returns the distinct terms of words.
func (a *analyzer) terms(words string) []string {
	var out []string
	for word := range strings.FieldsSeq(words) {
		if t := a.term(word); t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
