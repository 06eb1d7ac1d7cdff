// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// token is a stemmed word of a script with spaces, or one Chinese character.
type token struct {
	stem  string // what is compared
	raw   string // as written
	han   bool
	owner bool // had 's: "my sister's"
}

// tokenize cuts a text into tokens. Contractions of to be and to have come apart.
func tokenize(text string) []token {
	var out []token
	text = strings.ReplaceAll(text, "’", "'")
	for _, field := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '\''
	}) {
		start := 0
		runes := []rune(field)
		for i, r := range runes {
			if unicode.Is(unicode.Han, r) {
				out = appendWord(out, string(runes[start:i]))
				out = append(out, token{stem: string(r), raw: string(r), han: true})
				start = i + 1
			}
		}
		out = appendWord(out, string(runes[start:]))
	}
	return out
}

func appendWord(out []token, word string) []token {
	word = strings.Trim(word, "'")
	base, suffix, cut := strings.Cut(word, "'")
	if base == "" {
		return out
	}
	t := token{stem: stem(base), raw: base}
	if cut && strings.EqualFold(suffix, "s") && !slices.Contains(stopWords, strings.ToLower(base)) {
		t.owner = true
	}
	return append(out, t)
}

// stem is Snowball's English stem with the vowel off that keeps allergies and
// allergic, move and moved apart; irregular forms are looked up first.
func stem(word string) string {
	word = strings.ToLower(word)
	if base, ok := irregular[word]; ok {
		word = base
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	s := env.Current()
	if len(s) > 3 {
		s = strings.TrimRight(s, "iey")
	}
	return s
}

var irregular = map[string]string{
	"bought": "buy", "went": "go", "gone": "go", "ate": "eat", "eaten": "eat", "drove": "drive", "met": "meet", "saw": "see", "seen": "see",
	"got": "get", "taught": "teach", "wrote": "write", "spoke": "speak", "born": "birthday", "grew": "grow", "studied": "study", "children": "child",
	"married": "wed", "lost": "lose", "found": "find", "kept": "keep", "left": "leave", "sold": "sell", "broke": "break", "began": "begin",
	"favourite": "favorite", "colour": "color", "drank": "drink", "swam": "swim", "ran": "run", "flew": "fly", "fed": "feed", "won": "win", "sister-in-law": "sister",
}

// synonyms lists, for the stem of a word in a question, other words that may
// answer it; related has their stems. What is more general names what is less so,
// never the other way round.
var synonyms = split(map[string]string{
	"live": "move reside home address", "reside": "live move home", "home": "live", "address": "live",
	"work": "job employ company profession", "job": "work profession employ", "profession": "work job", "company": "work employ",
	"name": "call", "call": "name",
	"like": "love enjoy favorite prefer", "love": "like enjoy favorite", "enjoy": "like love favorite", "favorite": "like love enjoy prefer", "prefer": "like love favorite",
	"allergic": "allergy", "allergy": "allergic", "married": "wife husband", "sick": "ill disease", "ill": "sick",
	"pet": "dog cat bird fish rabbit hamster", "child": "son daughter kid", "kid": "son daughter child", "sibling": "sister brother", "parent": "mother father mom dad",
	"wife": "wed", "husband": "wed", "spouse": "wed wife husband", "partner": "wife husband girlfriend boyfriend",
	"car": "drive", "phone": "number", "old": "age", "age": "old year", "trip": "travel visit", "travel": "trip visit", "fly": "flight", "flight": "fly", "mom": "mother", "mother": "mom", "dad": "father", "father": "dad",
	"住": "搬 居住 定居", "居住": "住 搬", "搬家": "搬", "工作": "上班 任职 就职 职业", "上班": "工作", "职业": "工作", "名字": "叫", "叫": "名字 名叫",
	"喜欢": "爱 喜爱 最爱 偏好", "爱": "喜欢", "宠物": "狗 猫 鸟 鱼 兔", "孩子": "儿子 女儿", "父母": "妈妈 爸爸 母亲 父亲", "妈妈": "母亲", "爸爸": "父亲",
	"老婆": "妻子 太太", "妻子": "老婆 太太", "老公": "丈夫", "丈夫": "老公", "生日": "出生", "岁": "年龄", "年龄": "岁",
	"电话号码": "电话 手机号", "电话": "电话号码 手机号",
})

var related = stemmed(synonyms)

func split(in map[string]string) map[string][]string {
	out := make(map[string][]string, len(in))
	for word, others := range in {
		out[stem(word)] = append(out[stem(word)], strings.Fields(others)...)
	}
	return out
}

func stemmed(in map[string][]string) map[string][]string {
	out := make(map[string][]string, len(in))
	for word, others := range in {
		for _, o := range others {
			out[word] = append(out[word], stem(o))
		}
	}
	return out
}

// stopWords tell how a thing is asked for, not what: pronouns, auxiliaries,
// prepositions, words for asking, telling and remembering.
var stopWords = strings.Fields(`a an the this that these those there here i me my mine myself we us our you your yours he him his she her it its they them their
	am is are was were be been being do does did doing done have has had having can could will would shall should may might must
	to of in on at for from by with about into over as than then and or but if so not no yes any some all ever still also too just again now currently today lately
	who whom whose what which when where why how much many long often
	tell told say said mention remember recall know please remind get got go let ask hello hi hey thing something anything everything user`)

// lightWords are matched, but two of them do not make an answer.
var lightWords = stems(`name call like love enjoy favorite prefer want need make take use good best new old main current eat live-in`)

// changeWords tell that something is no longer as it was.
var changeWords = stems(`move change switch become now anymore instead`)

var (
	// hanStop are cut out of a Chinese question, the longest first.
	hanStop = strings.Fields(`什么时候 哪一个 为什么 怎么样 告诉过 记不记得 知不知道 有没有 是不是 请问 去过 来过 多大 什么 哪里 哪儿 哪个 哪些 哪家 哪位 哪年 哪天 多少 怎么 怎样 时候 几个 几只 几月 几号
		告诉 知道 记得 记住 说过 提过 现在 目前 如今 今年 最近 以前 之前 平时 平常 我们 你们 他们 自己 一下 东西 事情 这个 那个 还有 这里
		我 你 您 他 她 它 的 了 吗 呢 吧 啊 是 在 有 对 和 跟 与 也 都 还 就 被 把 给 于 最 很 会 能 要 想 去 着 到 从 谁 哪 几 多 请 问 那 这 咱 里 个`)
	hanLight   = strings.Fields(`名字 喜欢 喜爱 叫 爱 吃 喝 做 用 养 买`)
	hanPersons = strings.Fields(`男朋友 女朋友 妹妹 姐姐 哥哥 弟弟 妈妈 爸爸 母亲 父亲 父母 老婆 妻子 太太 老公 丈夫 儿子 女儿 孩子 朋友 同事 老板 老师 同学 邻居 奶奶 爷爷 外婆 外公 家人 宠物 狗 猫`)
	hanTopics  = strings.Fields(`过敏`)
	hanKnown   = hanWords()
	hanAsks    = strings.Fields(`什么 哪 谁 怎么 怎样 多少 几个 几只 几岁 几月 几号 几点 几年 几次 几口 为何 是否 有没有 是不是`)
)

// idioms mean something else than their words.
var idioms = strings.NewReplacer("for a living", "for work", "do for work", "work", "look like", "appear", "我多大", "我几岁", "多大了", "几岁了")

func stems(words string) []string {
	var out []string
	for _, w := range strings.Fields(words) {
		out = append(out, stem(w))
	}
	return out
}

// hanWords are all Chinese words that the tables know, the longest first.
func hanWords() []string {
	words := slices.Concat(hanLight, hanPersons, hanTopics)
	for w, others := range related {
		for _, s := range append(others, w) {
			if isHan(s) {
				words = append(words, s)
			}
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	return words
}

func isHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// What tells a time, and numbers in words.
var (
	times = stems(`january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday
	year month week day yesterday tomorrow spring summer autumn winter morning evening night`)
	numbers = strings.Fields(`one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
	twenty thirty forty fifty sixty seventy eighty ninety hundred thousand`)
)
