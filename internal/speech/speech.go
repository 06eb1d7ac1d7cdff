// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package speech classifies what somebody said: a statement that may be worth showing
// again, a question or request, or filler. Filler is greetings, thanks, acknowledgements
// and the JSON of planners. The rules are words of English and Chinese. An unknown text
// is a statement, so a doubt loses nothing.
package speech

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/internal/text"
)

// simple returns a text in simplified characters, in which the rules and the weights are written.
var simple = text.Simplified

// Class is the sort of a text.
type Class int

// The classes. A text of several sentences has the highest class of them.
const (
	Filler Class = iota
	Question
	Statement
)

// maxQuestion is the length in bytes from which a text counts as a statement: a text pasted
// beside a question says something.
const maxQuestion = 600

// sentence divides a text after marks and at the end of lines. A mark belongs to its
// sentence; a full stop inside a word or number is part of it.
var sentence = regexp.MustCompile(`(?s)[^.!?。！？；;\n]*(?:[.](?:[^\s.!?"')][^.!?。！？；;\n]*)|[?？!！。.；;]+["'”’)]*\s*|\n|$)+?`)

// Classify returns the class of a user's text. A correction, and an order for later, are
// statements in any form.
func Classify(text string) Class {
	class := classOf(text, true)
	if class != Statement && len(text) <= maxQuestion && (Corrects(text) || Standing(text)) {
		return Statement
	}
	return class
}

// ClassifyAnswer returns the class of an assistant's text: "Try the soup" is a statement
// there, instead of a request.
func ClassifyAnswer(text string) Class { return classOf(text, false) }

// EndsAsking reports whether the last sentence of an assistant's text is a question.
func EndsAsking(text string) bool {
	said := sentence.FindAllString(strings.TrimSpace(text), -1)
	return len(said) > 0 && classify(said[len(said)-1], false) == Question
}

func classOf(text string, requests bool) Class {
	text = strings.TrimSpace(text)
	switch {
	case (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)):
		return Filler
	case len(text) > maxQuestion:
		return Statement
	}
	best := Filler
	for _, s := range sentence.FindAllString(text, -1) {
		if best = max(best, classify(s, requests)); best == Statement {
			break
		}
	}
	return best
}

// Asked returns the sentences of a text that ask or request something, if others state
// something; else "".
func Asked(text string) string {
	var asked []string
	states := false
	for _, s := range sentence.FindAllString(strings.TrimSpace(text), -1) {
		switch classify(s, true) {
		case Question:
			asked = append(asked, strings.TrimSpace(s))
		case Statement:
			states = true
		}
	}
	if !states {
		return ""
	}
	return strings.Join(asked, " ")
}

// Stated returns the sentences of a text that state something, and apart from them the standing
// ones: see [Standing].
func Stated(text string) (stated, standing []string) {
	for _, s := range sentence.FindAllString(text, -1) {
		switch s = strings.TrimSpace(s); {
		case Standing(s):
			standing = append(standing, s)
		case Classify(s) == Statement:
			stated = append(stated, s)
		}
	}
	return stated, standing
}

// StatesOnce reports whether a text states one thing: one of its clauses, whatever else it asks.
func StatesOnce(text string) bool {
	n := 0
	for _, s := range sentence.FindAllString(strings.TrimSpace(text), -1) {
		for _, clause := range several.Split(s, -1) {
			if Classify(clause) == Statement {
				n++
			}
		}
	}
	return n == 1
}

// TellsSeveral reports whether a sentence tells several things of its author, each in the first
// person: "I live in Rome, and I am allergic to nuts."
func TellsSeveral(s string) bool {
	n := 0
	for _, clause := range several.Split(s, -1) {
		if clause = strings.ToLower(strings.Trim(clause, " .!。！")); clause == "" {
			continue
		}
		if n++; !ofSelf.MatchString(clause) {
			return false
		}
	}
	return n > 1
}

// ofSelf is a clause in the first person.
var ofSelf = regexp.MustCompile(`^(?:i|i['’](?:m|ve|d)|my)\b|^我`)

// several divides a sentence into clauses, and a list into its things.
var several = regexp.MustCompile(`[,，;；:：、()（）—–…&+]|\b(?:and|but|so|because|or|who|which|that|while|also|with)\b|和|跟|与|而|但|还|也|并|又|所以|因为`)

// classify returns the class of one sentence. Without requests, a request is a statement.
func classify(s string, requests bool) Class {
	words := strings.Trim(strings.ToLower(strings.Map(plain, simple(s))), " ")
	if isFiller(words) {
		return Filler
	}
	if fact.MatchString(words) {
		return Statement
	}
	asked := strings.ContainsAny(s, "?？")
	for opener.MatchString(words) { // "hi, ", "好的，" and the like
		words = strings.TrimLeft(opener.ReplaceAllString(words, ""), " ,，")
	}
	if asked || question.MatchString(words) || wonders(words) || ending.MatchString(words) || requests && request.MatchString(words) && !self.MatchString(words) {
		if clauses := strings.FieldsFunc(words, func(r rune) bool { return r == ',' || r == '，' }); len(clauses) > 1 && slices.ContainsFunc(clauses, states) {
			return Statement // "I have two kids, what should I buy them?"
		}
		return Question
	}
	return Statement
}

// wonders reports whether a clause tells a question of its author, and only that.
func wonders(words string) bool {
	opening := indirect.FindString(words)
	return opening != "" && !self.MatchString(words[len(opening):]) && !strings.Contains(words[len(opening):], "我")
}

var indirect = regexp.MustCompile(`^(?:(?:i|we)(?:'m|'d|'ve| am| was| would| have)?(?: been)? (?:just |really |also |always |only )?(?:wonder(?:ed|ing)?|curious|(?:want(?:ed)?|need|like|love|have) to (?:know|ask|find out)) (?:about |to know )?(?:what|how|why|when|where|who|which|if|whether)\b|我(?:很|就|只|也|一直)?(?:想(?:知道|问问?一?下?|了解一?下?|查一?下?|算一?下?)|好奇|(?:需?要|得)(?:知道|查一?下?|算一?下?)))`)

// states reports whether a clause of a question says something about its author.
func states(clause string) bool {
	clause = strings.TrimSpace(clause)
	return self.MatchString(clause) && !question.MatchString(clause) && !ending.MatchString(clause) && !request.MatchString(clause) && !condition.MatchString(clause)
}

// plain drops marks and keeps what separates clauses.
func plain(r rune) rune {
	switch {
	case r == '’':
		return '\''
	case r == '\'', r == ',', r == '，', unicode.IsLetter(r), unicode.IsDigit(r):
		return r
	}
	return ' '
}

// longestFiller is the most bytes of a sentence that only keeps a conversation going.
const longestFiller = 120

// isFiller reports whether a sentence has only words that keep a conversation going.
func isFiller(s string) bool {
	if len(s) > longestFiller {
		return false
	}
	for range 20 {
		t := strings.TrimLeft(fillers.ReplaceAllString(s, ""), " ,，")
		if t == s {
			break
		}
		s = t
	}
	return strings.Trim(s, " ,，") == ""
}

// Each begins with its ^: a regular expression with one in every alternative is tried at every
// place.
var (
	fillers = regexp.MustCompile(`^(?:(?:` + fillerWords + `)(?:$|[ ,，]|\b)|` + chineseFillers + `)`)
	opener  = regexp.MustCompile(`^(?:hi|hey|hello|ok|okay|so|and|but|well|thanks|please|now|actually|oh|by the way|你好|您好|好的|请问|请|那么?|对了|谢谢)(?:[ ,，]|\b|$)`)
	// fact matches questions that state or suggest something: "did you know that I moved?"
	fact     = regexp.MustCompile(`^(?:(?:how|what) about (?:an?|some|trying|making|having|[a-z]+ing)\b|why (?:not|don't (?:you|we))\b|have you (?:tried|considered)\b|(?:did you know|did i (?:tell|mention)|do you know what|guess what|you know what)\b.*\b(?:i|my|we|our)\b|你知道吗.+我)`)
	question = regexp.MustCompile(`^(?:(?:in |at |on |to |for |from |with |about |by )?(?:what|where|when|which|who|whom|whose|how|why)\b|what's|where's|who's|how's|(?:do|does|did|is|are|am|was|were|can|could|would|will|shall|should|may|might|have|has|had) (?:i|you|we|they|he|she|it|there|my|your|our|this|that|the|any|anyone|anybody)\b|remind me (?:again )?(?:what|where|when|who|which|how|of|about)\b|any (?:idea|suggestion|recommendation)s?\b|(?:哪|谁|什么|怎么|怎样|为什么|几点|多少|是不是|有没有|能不能|可不可以|你(?:还)?(?:记得|知道)))`)
	ending   = regexp.MustCompile(`(?:吗|呢|么|什么|哪里|哪儿|几点|多少|谁|怎么办|怎么样)[ 啊呀]*$|^.{0,8}(?:什么|哪[里儿个家天位年些]|几[点号岁个]|多少|多大|谁|怎么).{0,6}$`)
	// condition opens a clause that belongs to the question behind it.
	condition = regexp.MustCompile(`^(?:if|when|while|since|because|as|given|suppose|如果|要是|当|因为)`)
	request   = regexp.MustCompile(`^(?:can you |could you |would you |will you )?(?:tell|show|give|explain|describe|translate|write|rewrite|summari[sz]e|list|find|search|look up|calculate|compute|convert|fix|help|suggest|recommend|compare|draft|continue|go on|告诉|解释|翻译|写|总结|列出|帮|查|推荐|介绍|计算|继续)`)
	// self matches requests that say more about their author than that they want something.
	self = regexp.MustCompile(`\b(?:i|i'm|i've|i'll|i'd|we|we're|my|our)\b|我(?:是|有|在|的|要|会|想|喜欢|不)`)
)

const fillerWords = `(?:lovely|nice|good|great) to (?:see|meet|hear from|talk to) you(?: again)?|(?:sorry,? |i'm sorry,? |i'm afraid )?(?:but )?(?:i (?:don't|do not) know(?: that| yet| your \w+)?|i'm not sure|i have no (?:idea|information|memory|record)[a-z ]*|you (?:haven't|have not|didn't|never) (?:told|mentioned|said|shared)[a-z ]*)|i'm (?:fine|good|ok|okay|well|great)|that(?:'s| is) all(?: for now)?|not (?:bad|yet|really|sure)|(?:let me|i'll) (?:think|check|see|look)(?: it up)?|hi|hello|hey|hiya|howdy|greetings|there|good (?:morning|afternoon|evening|night|day)|how are (?:you|things)(?: doing)?(?: today)?|how's it going|what's up|nice to (?:meet|see|hear from) you|welcome(?: back)?|` +
	`bye|goodbye|see (?:you|ya)(?: later| soon| tomorrow)?|take care|have a (?:nice|good|great|lovely) (?:day|evening|weekend|night|one|time)|` +
	`thanks|thank you|thx|ty|cheers|so much|very much|a lot|again|you're (?:very |most )?welcome|you are welcome|no (?:problem|worries|thanks|thank you)|my pleasure|anytime|happy to help|glad (?:to (?:help|hear (?:it|that))|i could help)|` +
	`ok|okay|k|sure(?: thing)?|yes|yeah|yep|yup|no|nope|right|exactly|indeed|correct|of course|certainly|absolutely|alright|all right|fine|great|good|cool|nice|perfect|awesome|wonderful|excellent|super|lovely|wow|oh|ah|hm+|haha+|lol|please|well|so|then|` +
	`(?:that|this|it)(?: was|'s been)(?: really| very| so| super| most)? (?:helpful|useful|kind|nice|great)|i(?: have| need|'ve got| really have) to (?:run|go|leave)(?: now)?|` +
	`got it|noted|understood|i (?:see|understand|got it|get it)|makes sense|sounds (?:good|great|fine)|that's (?:good|great|nice|fine|all|right|ok|okay|cool|wonderful)|will do|done|go (?:on|ahead)|continue|never ?mind|` +
	`(?:i'll|i will|i've|i have|i) (?:just |now )?(?:remember(?:ed)?|note(?:d)?|keep|kept|save(?:d)?|record(?:ed)?|update(?:d)?|made a note|make a note|bear)(?: of)?(?: that| this| it| your memory| your profile| your preferences?| my notes?)?(?: in mind| down| for you| for next time| for later| accordingly)*|` +
	`let me know(?: if (?:you need anything(?: else)?|there's anything else|i can help(?: with anything(?: else)?)?))?|(?:is there )?anything else|how (?:can|may) i help(?: you)?(?: today)?|what can i do for you(?: today)?|(?:and )?(?:you|you too)|for (?:that|you|your help|the (?:help|info|information|update)|letting me know|sharing|telling me)|friend|everyone|all|that|it|this`

const chineseFillers = `很?高兴(?:见到|认识)(?:你|您)|(?:我|那|这)?(?:就|也|还|都)*(?:挺|很|蛮|太)?(?:好|不错|棒)(?:的|了)?|(?:我)?(?:也|很)?(?:赞同|同意)|没啥|没了|别担心|(?:你|您)也(?:一样|是)|欢迎(?:回来)?|(?:抱歉|对不起)?(?:我)?(?:还)?不(?:太)?(?:知道|清楚|确定)|(?:但)?(?:您|你)(?:还)?没有?(?:告诉|说|提)过?(?:我)?(?:过)?|在吗|(?:太|真的?)(?:谢谢|感谢)(?:你|您)?了?|我?(?:先|得|要)(?:去)?(?:忙|走|撤|下线|睡)(?:了|啦|吧)|让我(?:想想|查一下)|你好|您好|大家好|嗨|哈喽|早上好|中午好|下午好|晚上好|早安|晚安|早|再见|拜拜|回头见|明天见|谢谢(?:你|您|大家|啦|了)?|多谢(?:你|您)?(?:的?(?:帮忙|帮助))?|感谢(?:你|您)?|非常|不客气|不用谢|没关系|没问题|没事|好的?|行|可以|嗯+|哦+|噢|啊|呀|哈+|对|是的?|没错|当然|知道了|明白(?:了)?|了解(?:了)?|收到|记住了|(?:我|已经?|已为您|已为你|我已|我会|我已经)*(?:记住|记下|记录|保存|更新)(?:下来|了|好)?(?:这(?:个|一)?(?:点|信息)?|您的信息|你的信息)?(?:的)?|不错|太好了|太棒了|真棒|继续|请继续|还有(?:什么|别的)?(?:可以帮(?:您|你)的|问题)?吗|有什么可以帮(?:您|你)(?:的)?吗|最近(?:怎么样|好吗)|你呢|您呢|了|吧|啦|哟|呢|的`

var (
	relative = regexp.MustCompile(`(?i)^(?:\W*(?:(?:and|but|also|oh|well|actually|by the way)\W+)*(?:my|our|the user's|[a-z]+'s)\s+(?:(?:little|older|younger|big|elder|best|late|new|ex)\W)*(mother|mom|mum|father|dad|parents|sister|brother|wife|husband|partner|fianc[ée]e?|girlfriend|boyfriend|son|daughter|kids?|children|uncle|aunt|cousin|niece|nephew|grand(?:mother|father|ma|pa)|friend|boss|manager|colleague|neighbou?r|roommate|teacher|dog|cat)\b` +
		`|(?:我|用户)(?:的|家)*(妈妈|母亲|爸爸|父亲|父母|姐姐|妹妹|哥哥|弟弟|妻子|老婆|太太|丈夫|老公|爱人|女朋友|男朋友|儿子|女儿|孩子|叔叔|阿姨|表哥|表姐|奶奶|爷爷|外婆|外公|朋友|老板|经理|同事|邻居|室友|老师|狗|猫))`)
)

// negations are words that deny, and revisions words by which people say that something is
// different from before. A "-" stands for the space between two.
var (
	negations = wordSet("not no never none nothing neither nor without cannot stopped quit canceled cancelled")
	revisions = wordSet("now today actually instead any-more anymore any-longer gave-up forget change changed new moved since sorry meant correction extension rather")
	hanDenies = regexp.MustCompile(`不|没|别|戒|取消|无法`)
	hanTurns  = regexp.MustCompile(`现在|其实|改|换|搬|了[。！]?$|不再|更正|说错|是说`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// hasWord reports whether a text has one of some words, or matches a form of Chinese. It takes a
// tenth of the time of a regular expression: a search calls it for each hit.
func hasWord(text string, words map[string]bool, han *regexp.Regexp) bool {
	last := ""
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r != '\'' && r != '’' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if words[strings.Trim(word, "'’")] || words[last+"-"+word] {
			return true
		}
		last = word
	}
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) && han.MatchString(simple(text))
}

// Revises reports whether a text says that something is different from before.
func Revises(text string) bool { return Negates(text) || hasWord(text, revisions, hanTurns) }

// correction are words by which people take back what they just said: it was never true.
var correction = regexp.MustCompile(`(?i)\bi (?:meant(?: to (?:say|write))?|misspoke|mistyped)\b|\b(?:sorry|no),? (?:it's|it is|that's|that is|that should be)\b|\b(?:correction|typo)\b|\b(?:said|wrote|typed|got) (?:that|it|this) wrong\b|\bsorry\b[^.!?]*, not \w+[.!]?$|(?:抱歉|不好意思|对不起).*[，,]不是[^，,。！？]{1,8}[。！]?$|(?:说|打|写|记|搞|弄|讲)错了|更正|我是说|口误|笔误`)

// Corrects reports whether a text corrects an earlier one, which was never true. A change is
// different: its past was true.
func Corrects(text string) bool { return correction.MatchString(simple(text)) }

// longestRepeat is the most bytes of an answer that only repeats.
const longestRepeat = 240

var (
	// acknowledged opens an answer that repeats what it was told.
	acknowledged = regexp.MustCompile(`^(?:noted|got it|understood|i(?:'ll| will|'ve| have)? ?(?:now |just )?(?:remember|noted?|saved?|recorded?|updated?|keep)|thanks for (?:telling|sharing|letting)|(?:as )?you (?:told|said|mentioned))\b|^(?:好的[，,]?)?(?:我|已|会|为您|为你|都|经)*(?:收到|记住|记下|记录|保存|更新)|^(?:你|您)(?:告诉|说|提到)过`)
	// aboutYou opens a text that tells users about themselves.
	aboutYou = regexp.MustCompile(`^(?:so |and |well,? )?(?:you|your|you're|you've)\b|^(?:你|您)`)
	// advises matches a text that tells users what they may do.
	advises = regexp.MustCompile(`\b(?:should|could|can|might|may|must|need|want|would|will|if|try|have to)\b|you'(?:ll|d)\b|可|应该|需要|要|能|最好|不妨|试|会`)
)

// Repeats reports whether an assistant's text only acknowledges what it was told, or tells
// users about themselves: "Noted, you live in Oslo." A number may come from elsewhere.
func Repeats(text string) bool {
	if len(text) > longestRepeat || strings.ContainsFunc(text, unicode.IsDigit) {
		return false
	}
	repeats := false
	for _, s := range sentence.FindAllString(strings.TrimSpace(simple(text)), -1) {
		words := strings.Trim(strings.ToLower(strings.Map(plain, s)), " ")
		switch {
		case isFiller(words):
		case acknowledged.MatchString(words), aboutYou.MatchString(words) && !advises.MatchString(words):
			repeats = true
		case classify(s, false) == Statement:
			return false
		}
	}
	return repeats
}

// longestRemark is the most bytes of an answer that is a mere remark.
const longestRemark = 24

// IsRemark reports whether an assistant's answer to a statement only comments: a few words, free of
// numbers and names, such as "Cute name!".
func IsRemark(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > longestRemark || strings.ContainsFunc(text, unicode.IsDigit) {
		return false
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) { // as short, it says more
		return strings.HasSuffix(text, "！") || strings.HasSuffix(text, "!")
	}
	words := strings.Fields(text)
	return len(words) <= 3 && !slices.ContainsFunc(words[min(1, len(words)):], func(word string) bool {
		first, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(first)
	})
}

// Negates reports whether a text denies something.
func Negates(text string) bool {
	return hasWord(text, negations, hanDenies) || strings.Contains(strings.ReplaceAll(strings.ToLower(text), "’", "'"), "n't")
}

// Subject returns the relative, friend or pet that a statement is about, "" for another
// subject.
func Subject(text string) string {
	m := relative.FindStringSubmatch(simple(text))
	if m == nil {
		return ""
	}
	return strings.ToLower(m[1] + m[2])
}

// About reports whether a [Subject] is a relative who is missing from a query.
func About(subject, query string) bool {
	return subject != "" && !strings.Contains(strings.ToLower(simple(query)), subject)
}
