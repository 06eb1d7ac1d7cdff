// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"slices"
	"strings"

	"github.com/einomem/einomem/internal/text"
)

// Wish is a user's order to memory.
type Wish int

// The wishes.
const (
	NoWish     Wish = iota
	ForgetThis      // forget the message itself: "Don't remember this: my PIN is 9911"
	ForgetThat      // and the messages before it: "Please don't remember that."
)

// WishOf returns a user's order to memory. It knows orders, in English and Chinese, not to
// remember, note or save a message. An order that stands alone is about the messages before.
// "I can't remember" is a remark, and an order to forget known things is another one. In a long
// text, which may be pasted, the first and the last sentence count.
func WishOf(text string) Wish {
	wish, alone := NoWish, true
	for _, clause := range ordered(text) {
		switch {
		case !withholds(clause):
			alone = alone && (isFiller(clause) || earlier.MatchString(clause))
		case earlier.MatchString(clause):
			wish = ForgetThat
		default:
			wish = max(wish, ForgetThis)
			alone = alone && !content.MatchString(clause)
		}
	}
	if wish != NoWish && alone {
		wish = ForgetThat
	}
	return wish
}

// maxOrder is how many bytes are read at each end of a text. A longer sentence holds no order.
const maxOrder = 4 << 10

// addressed returns the sentences of a text that may hold an order.
func addressed(said string) []string {
	sentences := sentence.FindAllString(strings.TrimSpace(simple(text.Ends(said, 2*maxOrder))), -1)
	if len(said) > maxQuestion && len(sentences) > 2 {
		sentences = []string{sentences[0], sentences[len(sentences)-1]}
	}
	return sentences
}

// ordered returns the clauses of a text that may hold an order, in lower case and bare of marks.
func ordered(said string) (out []string) {
	for _, s := range addressed(said) {
		s = quotation.ReplaceAllString(strings.ReplaceAll(strings.ToLower(s), "’", "'"), "…")
		for _, clause := range clauses.Split(s, -1) {
			out = append(out, strings.Join(strings.Fields(strings.Map(plain, clause)), " "))
		}
	}
	return out
}

// withholds reports whether a clause is an order not to remember something.
func withholds(clause string) bool {
	if chineseOrder.MatchString(clause) {
		return !chineseOther.MatchString(clause)
	}
	for rest := ""; rest != clause; clause = strings.TrimSpace(politeness.ReplaceAllString(clause, "")) {
		if rest = clause; order.MatchString(clause) {
			return true
		}
	}
	at := joint.FindStringIndex(clause)
	return at != nil && !subject.MatchString(clause) && withholds(strings.TrimPrefix(clause[at[0]:], " and "))
}

var (
	quotation  = regexp.MustCompile(`"[^"]*"|“[^”]*”|「[^」]*」|『[^』]*』`)
	clauses    = regexp.MustCompile(`[,，:：;；()（）—–…、]|\s-+\s|\.{2,}|[.!?。！？]+(?:\s|$)`)
	politeness = regexp.MustCompile(`^(?:please|pls|kindly|ok|okay|and|but|so|then|just|hey|also|now|well|oh|btw|by the way|actually|fyi|thanks|sorry|(?:can|could|would|will) you|you can|(?:make sure|be sure|be careful|try)(?: that)?(?: you)?)(?: |$)`)
	joint      = regexp.MustCompile(` (?:and|without) `)
	subject    = regexp.MustCompile(`\b(?:i|we|you|he|she|they|people)\b`)
	order      = regexp.MustCompile(`^(?:` + refuse + ` (?:(?:ever|please|actually|really|even|you dare(?: to)?) )*(?:` + keep + `) (?:` + said + `)(?: down)?` + wherever + `$` +
		`|(?:please (?:don't|dont|do not)|do not) remember(?:$| (?:my|our|anything)\b)` +
		`|` + refuse + ` (?:` + keep + `) my (?:[a-z]+ ){0,2}(?:address|number|card|pin|password|passcode|name|birthday|details|data|info|information|messages?|conversations?|email|id|location|diagnosis|health|salary)\b` +
		`|` + refuse + ` (?:put|add|commit|keep|write|leave|include)(?:ting|ding|ing)? (?:` + said + `) (?:in|into|to|on|down in) ` + memory + `\b` +
		`|(?:keep|leave) (?:` + said + `) (?:out of ` + memory + `|off the record|unrecorded)\b` +
		`|(?:` + said + `)(?:'s| is| stays?| was)? (?:strictly |just |totally |completely )?off the record\b` +
		`|i(?:'m| am)? tell(?:ing)? you .*off the record$` +
		`|(?:i|we) (?:don't|do not) want (?:` + said + `)(?: to be)? (?:remembered|memori[sz]ed|stored|saved|recorded|logged|kept)` + wherever + `$` +
		`|(?:strictly |completely )?off the record(?: please| though| ok)?(?:$| (?:but|and|i|we|my|our|what|do|is|are|can|should)\b)` +
		`|(?:` + said + `) (?:is not|isn't|are not|should not|shouldn't|must not|mustn't|may not|need not|needn't|cannot|can't)(?: to)? be (?:remembered|memori[sz]ed|stored|saved|recorded|logged|retained|kept|noted|written down)` + wherever + `$)`)

	chineseOrder = regexp.MustCompile(`(?:别|不要|不用|不必|不需要|不许|不准|无需|毋需|请勿|切勿|甭|勿|(?:不想|不希望|不愿意?)(?:让|要|叫|你|您))(?:你|您|再|去|给我|帮我|替我)*(?:把.{1,12}?)?(?:记(?:住|下|着|录|忆|进|到|入|在|$|了|这|那|它|我|任何|[ a-z0-9])|留底|(?:保存|储存|存储|存下|存进|存到|存|保留|收录|写进|写入|写到|留存)(?:$|下来|起来|这|那|它|我|任何|.{0,4}记忆))` +
		`|(?:不作|不做|不留|别留|别做|不要留|不要做)(?:任何)?(?:记录|笔记|记忆)|(?:这|那|以下|以上|下面|接下来).{0,10}(?:别|不要|不用|不必|无需|请勿)(?:再|被)?(?:记|存|保存|记录|保留)`)
	chineseOther = regexp.MustCompile(`要不要|用不用|是不是|如果|要是|假如|为什么|为何|(?:我们?|他们?|她们?|大家)(?:也|就|都|可|自己|现在)*(?:别|不要|不用|不必|不需要|无需|没)(?:记|存|保存|把)|(?:记|存|保存|记录)(?:错|恨|仇|挂|账|混|反)|忘|[他她]们?说|(?:这|那|这些|那些)[个张份段]?(?:文件|文档|图片|照片|视频|表格|草稿|单词|公式)|代码|函数|字段|日志|数据库|接口|程序|缓存`)

	// content matches an order that says something more.
	content = regexp.MustCompile(`(?:` + keep + `)\b.* (?:my|our|i|i'm)\b|off the record [a-z]|我的`)
	// earlier matches the words for earlier messages.
	earlier = regexp.MustCompile(`\b(?:what|everything|anything|all|things|that) (?:i|i've|we) (?:just |have just )?(?:said|told you|wrote|mentioned|shared|sent)\b|\bmy (?:last|previous) (?:message|sentence|question)s?\b|\bthe last (?:thing|message|part)\b|刚才|刚刚|上一[条句个]|前面|之前说`)
)

const (
	refuse = `(?:(?:i|we)(?:'d)? (?:(?:don't|do not|would not|wouldn't) (?:want|like|need) you to|(?:would )?(?:rather|prefer)(?: that| if)? you (?:not|didn't|did not|don't|do not))|i(?:'d| would)? (?:ask|asked|told|tell|want|like|beg|need) you not to|do not|don't|dont|never|not to|not|stop|without|avoid|(?:there's |there is )?no need to|(?:you )?(?:needn't|don't need to|don't have to|do not need to|do not have to|shouldn't|should not|must not|mustn't)|don't bother(?: to)?|(?:do you|would you)? ?mind not)`
	keep   = `remember(?:ing)?|memori[sz](?:e|ing)|stor(?:e|ing)|sav(?:e|ing)|record(?:ing)?|logg?(?:ing)?|retain(?:ing)?|not(?:e|ing)(?: down)?|writ(?:e|ing)(?: down)?|learn(?:ing)?(?: anything)?(?: from)?|archiv(?:e|ing)|(?:keep|keeping|make|making|take|taking) (?:a |any )?(?:record|note|memory)s?(?: of| on| about)?|keep(?:ing)? track of`
	said   = `(?:any of |anything (?:of |in |from |about )|everything (?:in |about )|all of |all )?(?:this|that|it|these|those|the following|the above|(?:this|these|the following) (?:one|part|bit|conversation|chat|message|session|secret|details?|number|password|passcode|pin|code|address|info|information|data|facts?|thing|stuff|turn|request|question|text|sentence)s?)|that (?:i|i'm|my|we|our) .*|what (?:follows|comes next)|(?:what|anything|everything|whatever|things|a word|something) (?:that )?(?:i|i'm|i've|we)\b.*?|my (?:last|next|previous) (?:message|sentence|question)s?`
	memory = `(?:the |your |my |our |long[- ]term |any )*(?:memory|memories|notes?|profile|history|file|records?|logs?)`
	// wherever matches the words that may follow such an order.
	wherever = `(?: (?:please|at all|ok|okay|either|though|anywhere|again|thanks|now|ever|for (?:me|later|now|next time|the future|future .*)|about me|(?:in|to|into|on|for|from) ` + memory + `|when .*|after .*|once .*|and .*|but .*|because .*|as .*|since .*|it's .*|it is .*|(?:my|i|i'm|i've|we) .*))*`
)

// AsksToForget reports whether a user asks memory to forget an earlier message, or to stop mentioning
// it: "Forget what I said about my job", "that was the wine talking, wipe it", "别再提我的工作". It passes over
// users who forget something, or want a text or a file changed. The best sentence counts, by weights as
// in [Standing]; in a long text the first and the last one.
//
// Of 120 wishes by an author whom the fit has not seen 78 are found; the patterns before it found 12.
// Of 120 other messages, most of them close to one, 2 are taken for one, and so are 2 of 2,760 turns of
// LoCoMo; the patterns took none. Of 20 wishes and 30 others from before 19 are found and 4 are taken.
// These texts were counted for some thirty settings. In the stories of others, which were not, all 20
// wishes of 492 messages are found, and nothing else.
func AsksToForget(text string) bool {
	return slices.ContainsFunc(addressed(text), func(s string) bool { return forgetWeights.most(s) > 0 })
}

// Beside returns the other sentences of a text that asks to forget, if they state something, else
// "". It returns any other text as it is.
func Beside(text string) string {
	if !AsksToForget(text) {
		return text
	}
	said := sentence.FindAllString(strings.TrimSpace(text), -1)
	rest := slices.DeleteFunc(slices.Clone(said), AsksToForget)
	if out := strings.TrimSpace(strings.Join(rest, "")); len(rest) < len(said) && Classify(out) == Statement {
		return out
	}
	return ""
}

// TellsToForget reports whether a statement reports a wish to forget, such as "The user wants their
// address forgotten".
func TellsToForget(statement string) bool { return tells.MatchString(simple(statement)) }

var tells = regexp.MustCompile(`(?i)\b(?:forget|forgotten|delet(?:e|ed|ion)|eras(?:e|ed)|remov(?:e|ed)|(?:not|never|no longer)\b.{0,20}\bmention(?:ed)?)\b|忘(?:掉|记|了)|删除|清除|抹去|(?:不要|不想|不再|别)再?.{0,4}提`)
