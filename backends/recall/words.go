// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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

// A word may have several forms: with and without accents, whole and in parts, in traditional and
// in simplified characters. One of them is the term by which texts meet. The others stand beside
// it: they count half, and a query attains its best score without them.

// hasHan reports whether a text has Chinese characters.
func hasHan(text string) bool {
	return !isASCII(text) && strings.ContainsFunc(text, func(c rune) bool { return unicode.Is(unicode.Han, c) })
}

// letters are Latin and Cyrillic letters that do not decompose into a letter and an accent.
var letters = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ı", "i", "æ", "ae", "œ", "oe", "ð", "d", "þ", "th", "ё", "е")

// plain returns a folded word without its accents. Only Latin and Greek letters lose theirs: in
// other scripts a mark makes another letter.
func plain(word string) string {
	var out strings.Builder
	accented := false // the letter before
	for _, c := range norm.NFD.String(word) {
		if !unicode.Is(unicode.Mn, c) {
			accented = unicode.In(c, unicode.Latin, unicode.Greek)
		} else if accented {
			continue
		}
		out.WriteRune(c)
	}
	return letters.Replace(norm.NFC.String(out.String()))
}

// word adds the word at text[from:to] and what stands beside it. A number of several groups, such
// as 138-0013-8000, is one term with its groups beside it: run is the end of the number under way.
func (r *reader) word(text string, from, to, run int) int {
	word := text[from:to]
	switch first, last := isDigit(word[0]), isDigit(word[len(word)-1]); {
	case from < run:
		r.part(word)
	case !isASCII(word):
		r.add(word, true)
		r.accented(word)
	case !first && !last:
		if sign := sign(text, from, to); sign == "" {
			r.add(word, true)
		} else {
			r.add(sign, true)
			r.part(word)
		}
	case first && last:
		if number, end := grouped(text, from); number != "" {
			r.add(number, true)
			r.part(word)
			return end
		}
		r.add(word, true)
	default: // BA249, iPhone15, 10km
		r.add(word, true)
		if at := strings.IndexFunc(word, func(c rune) bool { return isDigit(byte(c)) != first }); oneSort(word[at:]) {
			r.part(word[:at])
			r.part(word[at:])
		}
	}
	return run
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// oneSort reports whether a word has digits alone, or letters alone.
func oneSort(word string) bool {
	return !strings.ContainsFunc(word, func(c rune) bool { return classOf(c) != classOf(rune(word[0])) })
}

// part adds a part of a word beside it. A single character says too little.
func (r *reader) part(word string) {
	if len(word) == 1 {
		return
	}
	if n := r.find(word, true); n != noTerm {
		r.beside = append(r.beside, n)
	}
}

// accented adds the term of a word with its accents, if it has any.
func (r *reader) accented(word string) {
	folded := r.fold.String(word)
	if len(folded) <= maxTerm && plain(folded) != folded {
		r.beside = append(r.beside, r.vocabulary.number(folded))
	}
}

// sign returns a short name with its sign, as in C#, C++ and .NET, or "".
func sign(text string, from, to int) string {
	word, after := text[from:to], text[to:]
	switch {
	case len(word) == 1 && strings.HasPrefix(after, "++"):
		return word + "++"
	case len(word) == 1 && strings.HasPrefix(after, "#"):
		return word + "#"
	case strings.EqualFold(word, "net") && from > 0 && text[from-1] == '.' && (from == 1 || text[from-2] >= utf8.RuneSelf || classOf(rune(text[from-2])) == separator):
		return "." + word
	}
	return ""
}

// fewestDigits is how many digits make one number of several groups: fewer are a score or a date.
const fewestDigits = 7

// grouped returns the digits of the number that begins in a text, without the hyphens between its
// groups, and its end. Dates and spans of years stay apart.
func grouped(text string, from int) (number string, end int) {
	end = from
	for end < len(text) && (isDigit(text[end]) || text[end] == '-' && isDigit(text[end-1]) && end+1 < len(text) && isDigit(text[end+1])) {
		end++
	}
	groups := strings.Split(text[from:end], "-")
	number = strings.Join(groups, "")
	isDate := slices.ContainsFunc(groups, func(g string) bool { return len(g) == 4 && (g[:2] == "19" || g[:2] == "20") })
	if len(groups) == 1 || len(number) < fewestDigits || isDate && len(number) <= fewestDigits+1 {
		return "", 0
	}
	return number, end
}

// minVariant is the shortest term, in characters, that has variants, and minTypo the shortest one
// that may be another word with a typing error.
const (
	minVariant = 5
	minTypo    = 6
)

// rareShare bounds the words that an unknown word may be with a typing error: one in so many
// memories holds them, at most.
const rareShare = 50

// opening is the first two bytes of a term.
type opening [2]byte

func openingOf(term string) (s opening) {
	copy(s[:], term)
	return s
}

// variants returns the numbers of the terms that are likely other forms of a word, for
// each of the given terms that has any: "allergi" and "allerg", which the stemmer makes
// of "allergies" and "allergic". Without any it returns the rare words that differ by one typing
// error: "necklase" finds "necklace".
func (v *vocabulary) variants(of []string, isRare func(n int32) bool) map[string][]int32 {
	found := map[string][]int32{}
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, term := range of {
		length := utf8.RuneCountInString(term)
		if length < minVariant || strings.ContainsAny(term, "0123456789") { // one digit makes another thing
			continue
		}
		for _, n := range v.byOpening[openingOf(term)] {
			if isVariant(term, v.terms[n]) {
				found[term] = append(found[term], n)
			}
		}
		if len(found[term]) > 0 || length < minTypo || strings.ContainsFunc(term, func(c rune) bool { return !unicode.IsLetter(c) || isUnspaced(c) }) {
			continue
		}
		for second := range 256 {
			for _, n := range v.byOpening[opening{term[0], byte(second)}] {
				if other := v.terms[n]; isTypo(term, other) && isRare(n) {
					found[term] = append(found[term], n)
				}
			}
		}
	}
	return found
}

// isVariant reports whether two terms with the same first minVariant characters are
// likely forms of one word: the longer one is the shorter with up to three characters
// more, or they differ in their last two and agree in three quarters.
func isVariant(a, b string) bool {
	shared, prefix := 0, 0 // characters and bytes
	for prefix < min(len(a), len(b)) {
		x, size := utf8.DecodeRuneInString(a[prefix:])
		if y, _ := utf8.DecodeRuneInString(b[prefix:]); x != y {
			break
		}
		shared, prefix = shared+1, prefix+size
	}
	if shared < minVariant {
		return false
	}
	x, y := utf8.RuneCountInString(a[prefix:]), utf8.RuneCountInString(b[prefix:])
	if min(x, y) == 0 {
		return max(x, y) <= 3
	}
	return max(x, y) <= 2 && 4*shared >= 3*(shared+max(x, y))
}

// isTypo reports whether two words of at least minTypo letters differ by one typing error behind
// the first letter: a letter too many or too few, another letter, or two that changed places
// (Damerau, A technique for computer detection and correction of spelling errors, 1964).
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > utf8.UTFMax || len(a) < minTypo {
		return false
	}
	x, y := []rune(a), []rune(b)
	if len(x) < minTypo || len(y)-len(x) > 1 || len(x) > len(y) || x[0] != y[0] {
		return false
	}
	from := 0
	for from < len(x) && x[from] == y[from] {
		from++
	}
	x, y = x[from:], y[from:]
	same := func(x, y []rune) bool { return string(x) == string(y) }
	switch {
	case len(x) < len(y):
		return same(x, y[1:])
	case len(x) > 1 && x[0] == y[1] && x[1] == y[0]:
		return same(x[2:], y[2:])
	}
	return len(x) > 0 && same(x[1:], y[1:])
}
