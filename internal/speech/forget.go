// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"slices"
	"strings"
)

// AsksToForget reports whether a user asks memory to forget an earlier message, or to stop
// mentioning it. It knows orders, in English and Chinese: "Forget what I said about my job",
// "Delete everything about my ex", "别再提我的工作". It passes over users who forget something, or want a
// text or a file changed. In a long text the first and the last sentence count.
func AsksToForget(text string) bool {
	all := ordered(text)
	return slices.ContainsFunc(all, forgets) || slices.ContainsFunc(all, told.MatchString) && slices.ContainsFunc(all, thatToo.MatchString)
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
func TellsToForget(statement string) bool { return tells.MatchString(statement) }

var tells = regexp.MustCompile(`(?i)\b(?:forget|forgotten|delet(?:e|ed|ion)|eras(?:e|ed)|remov(?:e|ed)|(?:not|never|no longer)\b.{0,20}\bmention(?:ed)?)\b|忘(?:掉|记|了)|删除|清除|抹去|(?:不要|不想|不再|别)再?.{0,4}提`)

// forgets reports whether a clause is an order to forget.
func forgets(clause string) bool {
	for rest := ""; rest != clause; clause = strings.TrimSpace(asking.ReplaceAllString(politeness.ReplaceAllString(clause, ""), "")) {
		if rest = clause; forget.MatchString(clause) || chineseForget.MatchString(clause) && !notMemory.MatchString(clause) {
			return true
		}
	}
	at := joint.FindStringIndex(clause)
	return at != nil && !subject.MatchString(clause[:at[0]]) && forgets(strings.TrimPrefix(clause[at[0]:], " and "))
}

var (
	// asking opens an order, and needs one behind it.
	asking = regexp.MustCompile(`^(?:(?:i|we)(?:'d| would)? (?:(?:want|like|need|ask|beg) you to|(?:prefer|rather)(?: it if| that)? you)|let's|you (?:can|may|should|must)|(?:请|麻烦|拜托)(?:你|您)?|我(?:希望|想让|想要|要|想)(?:你|您)|(?:你|您)?(?:可以|能不能|可不可以|能否|能)|(?:帮我|给我|以后|今后|从现在起|全部|统统|都)+)`)
	forget = regexp.MustCompile(`^(?:forget (?:about )?(?:(?:that |what |anything |everything |whatever |all )*(?:i|i've|we|you know|you have|you remember)\b|(?:all |everything |anything )?(?:about |of )?(?:my|our|me)\b)|forget (?:all |everything |anything )?(?:about|of) the\b` +
		`|` + removes + ` (?:all |everything |anything |whatever |what )+(?:that )?(?:(?:about|of|on) (?:my|our|me|the)\b|(?:i|i've|we|you) (?:ever |have |just )*(?:told|said|mentioned|shared|know|remember|learn))` +
		`|` + removes + ` (?:.*\b(?:from|in|out of) ` + memory + `\b|what you have\b|(?:that|this|the|all|any|your) .*\babout (?:my|me|our)\b)` +
		`|` + removes + ` (?:all |any |the |your )*(?:notes?|memory|memories|records?) (?:about|of|on) ` +
		`|(?:don't|do not|never) (?:ever )?(?:mention|bring|talk about|refer to|remind me of) .*\b(?:again|any ?more)\b` +
		`|stop (?:mentioning|bringing up|talking about|remembering|reminding me of) ` +
		`|pretend (?:that )?i (?:never|didn't|hadn't)\b|i (?:no longer|don't) want you to (?:know|remember|mention|bring up|have) )`)
	chineseForget = regexp.MustCompile(`^(?:忘(?:掉|记|了|却)(?:我|你|关于|有关|所有|一切|刚才|之前|那|这)|忘(?:掉|记)(?:吧|了)?$` +
		`|(?:把|关于|有关).{1,30}忘(?:掉|记|了)|(?:把|关于|有关).{0,10}(?:我|记忆).{0,30}` + chineseRemoves + `|` + chineseRemoves + `.{0,12}(?:(?:关于|有关)我|我(?:的|说|和|跟)|你(?:记得|知道|记住)|记忆)` +
		`|(?:别|不要|不许|甭)再?(?:(?:跟我|和我|对我|向我)(?:提|说|聊|谈)|提(?:起|到|及|我|他|她|那|这|关于)|(?:说|聊|谈)(?:起|到|及)|记(?:着|得))` +
		`|我?(?:不想|不希望|不愿意?)(?:让|要)?(?:你|您)再?(?:记得|提|知道)|(?:你|您)?就?当(?:我|作|做)*没(?:听|说|提))`)
	// notMemory matches a Chinese order about something else than memory.
	notMemory = regexp.MustCompile(`怎么|如何|什么|谁|歌|购物车|代码|文章|作文|文件|表格|数据库|照片|图片|缓存|段落|错字|句话`)
	told      = regexp.MustCompile(`\bi(?:'ve| have| just)* (?:said|told|mentioned|shared)\b|我(?:刚才|之前|刚刚)?(?:说|讲|提|告诉)`)
	thatToo   = regexp.MustCompile(`^(?:please |just )*(?:forget|delete|erase) (?:it|that|this|them)(?: all)?(?: please)?$|^请?(?:忘了|忘掉|删掉|忘记)(?:它|吧)$`)
)

const (
	removes        = `(?:delete|erase|remove|wipe|clear|drop|scrub|scrap|purge|get rid of)(?: out)?`
	chineseRemoves = `(?:删(?:除|掉|了|去)|清(?:除|空|掉)|抹(?:去|掉|除)|移除|去掉)`
)
