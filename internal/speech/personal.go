// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"strings"
	"unicode"
)

// Personal reports whether a request is about its author, about people whom they know, or about what
// was said before, so that memory may have the answer. Help for everybody is different, also in
// words such as "How do I …?" and 帮我…, and so is a text to work on. A request without a Chinese
// character and a common English word is personal: it is in a language that the rules lack, or is a
// few keywords.
func Personal(request string) bool {
	words := strings.ToLower(strings.ReplaceAll(request, "’", "'"))
	if !known.MatchString(words) {
		return true
	}
	if task.MatchString(words) {
		words, _, _ = strings.Cut(strings.ReplaceAll(words, "：", ":"), ":")
	}
	return personal.MatchString(asIs.ReplaceAllString(quotation.ReplaceAllString(words, " "), " "))
}

var (
	known = regexp.MustCompile(`\p{Han}|\b(?:the|of|is|are|does|did|what|what's|how|who|which|when|where|why|this|that|and|with|you|for|has|have|can|from|write|translate|explain|give|tell)\b`)
	// task opens a request that has a text behind a colon.
	task = regexp.MustCompile(`^(?:please |can you |could you |请|帮我|麻烦)*(?:translate|fix|correct|proofread|rewrite|rephrase|paraphrase|summari[sz]e|shorten|explain|improve|convert|format|turn|sort|edit|check|把|将|翻译|改|修改|校对|润色|总结|概括|缩写|解释|整理|检查|纠正)`)
	// asIs matches the words in which people ask for help of any kind.
	asIs = regexp.MustCompile(`(?:^|\s)'[^']{8,}'|` + begins + `(?:help|tell|show|give|teach|send|write|make|find|get|let|bring|sing|draw|read|recommend|suggest|explain(?: to)?|walk) (?:me|us)\b|` +
		begins + `i(?:'m| am|'d| would)? ?(?:just |really |also )?(?:want|like|need|wonder\w*|curious|trying)(?: to)?(?: know| learn| understand| find out)?\b|\bhow (?:can|should|could) (?:i|we)\b` +
		`|\bhow do (?:i|we) (?:do|use|make|get|say|write|set|fix|undo|remove|convert|install|build|create|cook|clean|learn|improve|reverse|delete|add|find|calculate|change)\b|\bif i\b|\blike i'm\b|\b(?:let's|thank you|excuse me)\b` +
		`|(?:帮|给|替|教|告诉)(?:一下)?我们?|(?:^|[，。！？；])我们?(?:想|要|需要|想要)(?:知道|问|了解|学|查|请教|写)|我(?:们)?(?:该|应该|可以|能)(?:怎么|如何|怎样)|自我|我国`)
	personal = regexp.MustCompile(`\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|us|our|ours|he|she|him|her|hers|his)\b|\bremind\b|\b(?:do|did) you (?:know|remember|recall|recommend|suggest|mention|say|tell)|\b(?:you|we) (?:recommended|suggested|mentioned|said|told|discussed|agreed|talked)\b|\b(?:last time|earlier|again|so far|the user)\b` +
		`|\b(?:mum|mom|dad|mother|father|grandma|grandpa|grandmother|grandfather)\b|我|咱|俺|本人|自己|[他她]|用户|记得|记住|提醒|了(?:什么|几|多少|谁|哪|没)|提过|提到过|说过|说的|聊过|上次|上回|之前|刚才|最近|以前` +
		`|(?:妈|爸|哥|弟|姐|妹|爷|奶)\p{Han}?|外公|外婆|公公|婆婆|岳父|岳母|老公|老婆|女儿|儿子|宝宝|同事|老板|邻居|房东|室友|闺蜜|小[\p{Han}](?:的|是|在|什么|不|喜|爱|叫|住|几|有)|[老阿](?:吴|王|李|张|刘|陈|杨|赵|周|徐|孙|马|朱|胡|林|郭|何|高|罗|凯|强|明|芳|华|伟|杰)`)
)

// begins matches the start of a sentence, with words of politeness.
const begins = `(?:^|[.!?,;] )(?:please |can you |could you |would you |hi |hey |ok )*`

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
