// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"slices"
	"strings"
)

// Standing reports whether a user says something that always applies: an order how to answer
// ("Always answer in bullet points", "叫我小王"), or a hard limit of their own ("I'm allergic to
// peanuts", "我不吃辣"). A statement about "the user" counts as theirs. Questions, orders for once,
// reports of others, quotations and texts of more than 600 bytes are exempt. The rules miss 3 of 44
// sentences outside the ones that they were fitted to, and judge the rest right. They take one of
// 2,760 turns of LoCoMo for standing.
func Standing(text string) bool {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "```")
	if len(text) > maxQuestion || AsksToForget(text) {
		return false
	}
	said, order := sentence.FindAllString(quotation.ReplaceAllString(text, "…"), -1), false
	for _, s := range said {
		always, weak := applies(s)
		if always {
			return true
		}
		order = order || weak
	}
	return order && !slices.ContainsFunc(said, func(s string) bool { // else it may be for this question alone
		_, weak := applies(s)
		return !weak && classify(s, true) == Question
	})
}

// applies reports whether a sentence always applies, and whether it does so if the text asks
// nothing beside it.
func applies(s string) (always, alone bool) {
	s = strings.ReplaceAll(strings.TrimSpace(s), "’", "'")
	lower := asUser.Replace(" " + strings.ToLower(s))
	asked := strings.ContainsAny(s, "?？")
	if once.MatchString(lower) || retold.MatchString(lower) || strings.HasPrefix(s, ">") {
		return false, false
	}
	lasts := lasting.MatchString(lower)
	mine := false // the clause before is about the user
	parts := splitOrders.Split(lower, -1)
	for _, clause := range parts {
		clause = strings.Join(strings.Fields(strings.Map(plain, clause)), " ")
		for rest := ""; rest != clause; clause = strings.TrimSpace(opens.ReplaceAllString(rathers.ReplaceAllString(clause, "don't "), "")) {
			rest = clause
		}
		clause = strings.TrimSuffix(clause, " please")
		switch {
		case strings.HasPrefix(clause, "我"):
			mine = true
		case mine && chineseLimit.MatchString("我"+clause):
			return !asked, false
		}
		switch {
		case alwaysOrder.MatchString(clause), lasts && plainOrder.MatchString(clause):
			return true, false
		case asked:
		case limit.MatchString(clause) && !noLimit.MatchString(clause), chineseLimit.MatchString(clause) && !noChineseLimit.MatchString(clause), manner.MatchString(clause):
			return true, false
		case weakOrder.MatchString(clause) && !strings.ContainsAny(s, ":："):
			alone = true
		}
	}
	return !asked && callMe.MatchString(s), alone
}

var (
	asUser      = strings.NewReplacer(" the user is ", " i'm ", " the user has ", " i have ", " the user does not ", " i don't ", " the user doesn't ", " i don't ", " the user prefers ", " i prefer ", " the user can't ", " i can't ", " the user cannot ", " i can't ", " the user ", " i ", "用户", "我", " i am ", " i'm ")
	splitOrders = regexp.MustCompile(`[,，;；:：、()（）—–…]|\s-+\s|[.!?。！？]+(?:\s|$)|\b(?:because|but|and|so|since|even when)\b|所以|因为|但是?`)
	opens       = regexp.MustCompile(`^(?:(?:please|pls|kindly|ok|okay|also|just|hey|hi|hello|now|well|oh|btw|fyi|by the way|for the record|just so you know|i (?:want|need|'d like|would like|ask|expect) you to|i'd (?:like|prefer|love)(?: it if)?(?: you)?(?: to)?|(?:can|could|would|will) you|you (?:can|may|should|must|have to)|(?:please )?(?:remember|note|keep in mind|know)(?: that)?|make sure (?:to|you)|(?:from (?:now|here)|going) (?:on|forward|forwards)|in (?:the )?future|for (?:all )?future answers)(?: |$)|(?:请|麻烦|拜托|记住|你|您|那|就|好的|对了|另外)+)`)
	rathers     = regexp.MustCompile(`^(?:i(?:'d| would) (?:rather|prefer)(?: it)?(?: if| that)? you (?:didn't|did not|not|don't)|i (?:don't|do not) want you to) `)
	// once are words for the present, for one text, or for a supposition.
	once   = regexp.MustCompile(`\b(?:this time|this once|just once|here|today|tonight|tomorrow|yesterday|right now|for now|haha|lol|until|drink and drive|if i|if you|suppose|used to|no longer|maybe|perhaps|might|don't know|not sure|i think|(?:in|for|of|to) (?:this|that|the) (?:\w+ )?(?:letter|e?mail|file|function|table|text|essay|report|article|paragraph|summary|code|poem|post|title|paper|draft|document|message|slides?|answer|question|one|next hour))\b|这次|这一?[段封篇份个张句]|下面|以下|今天|今晚|明天|昨天|现在(?:不|就|别)|可能|好像|也许|如果|要是|假如|以前|曾经|原来|哈哈|先别|[到至](?:周|月|明|后天|下).{0,3}为?止?`)
	retold = regexp.MustCompile(`\b(?:says?|tells?|wrote|writes|asks|asked)\b|\b(?:he|she|they|who|[a-z]+) (?:said|told (?:me|us|him|her|them))\b|\bi (?:said to|told (?:him|her|them))\b|(?:他|她|们|老师|老板|医生|公司|领导|朋友|妈|爸|书|小说|里).{0,6}(?:说|规定|要求|告诉)|听说|据说`)
	// lasting matches an order for later, too.
	lasting     = regexp.MustCompile(`\b(?:always|never|ever|from (?:now|here) on|going forward|in (?:the )?future|every time|each time|(?:in|for) all (?:of )?(?:your|future)|at all times|permanently|when(?:ever)? (?:i (?:ask|want|say|write|send|paste|talk)|you (?:give|answer|write|reply|show|talk|suggest|recommend|explain|quote|mention|code|translate)))\b|以后|今后|往后|从今|从现在(?:起|开始)|一直|始终|永远|总是|每次|每回|一律|的时候都`)
	alwaysOrder = regexp.MustCompile(`^(?:(?:don't|do not) (?:end|start|begin) your (?:answers|replies)\b|(?:always|never|(?:don't|do not) ever|only ever) (?:` + answers + `)\b|your (?:answers|replies|responses|explanations) (?:should|must|need to|have to) |(?:keep|make|write) (?:your|all|all your) (?:answers|replies|responses|explanations) |(?:address|refer to) me (?:as|by) )`)
	plainOrder  = regexp.MustCompile(`^(?:(?:(?:don't|do not|stop|avoid) )?(?:always |only |never )?(?:` + answers + `)\b|no (?:more )?(?:` + style + `)|` +
		`(?:从现在(?:起|开始)|从今(?:以后|往后|起)|以后|今后|往后|永远|一直|始终|总是|每次|每回|所有|一律|都|请|你|您|就|也|回答|回复|写代码|代码注释|注释|变量名|的时候|时|给我[^的]{1,6}的时候)*(?:用|(?:叫|称呼|喊)我|回答|回复|简短|简洁|附|按|以.{1,6}形式|(?:跟|和|对|给)我(?:说|讲|推荐|发|用|写)|(?:别|不要|不许|不用|不)再?(?:用|加|发|说|问|提|叫我|(?:给|向|跟)?我?推荐)))`)
	weakOrder = regexp.MustCompile(`^(?:(?:answer|reply|respond|write|talk|speak)(?: to me| me)?(?: only| just)? in (?:` + languages + `|bullet points|full sentences|lower ?case)(?: only)?|(?:don't|do not|stop|never) (?:call|calling) me (?:\w+ ?){1,2}|(?:don't|do not|stop|avoid|never|no|no more|without)(?: ever)?(?: (?:use|using|add|adding|include|including|send|sending|write|writing))?(?: me)?(?: any| so many)? (?:` + style + `)(?: (?:with me|in (?:your |the )?(?:answers|replies|responses)))?|use (?:metric|imperial|celsius|fahrenheit|british|american)\b.*|` +
		`(?:(?:和|跟|对)我(?:说话|聊天|交流)|回答|回复)?(?:都|只|请|要)*用(?:` + chineseLanguages + `)(?:来)?(?:回答|回复|(?:跟|和)我(?:说|说话|聊|交流))?我?(?:就行|吧)?|(?:回答|回复)(?:我)?(?:的时候|时)?(?:都|请|要|尽量)*(?:不要|别|简短|简洁|短|详细|用).*|(?:不要|别|请勿|禁止)再?(?:用|使用|加|发)?(?:任何)?(?:` + chineseStyle + `)了?|` +
		`(?:别|不要)再?(?:(?:给|向)我推荐.+|叫我.{1,4})|(?:可以|都|以后)*(?:叫|称呼|喊)我[^来去接起吃醒帮做等到出给回一明后早晚干]{1,5}?(?:吧|就行|就好|就可以了?|即可|好了)?)$`)
	manner = regexp.MustCompile(`^i (?:prefer|like|want|love) (?:\w+ ){1,3}(?:answers|replies|responses|explanations)$`)
	callMe = regexp.MustCompile(`^(?:.*[,.;]\s*|.*\b(?:but|and|so|please|just) )?(?:[Pp]lease |[Yy]ou (?:can|may|should) |[Jj]ust |[Ff]rom now on,? |[Ii]n future,? )*[Cc]all me (?:by my |\p{Lu})`)
	limit  = regexp.MustCompile(`^(?:(?:i'm|i've been) (?:\w+ly |very |quite |also |a |an |strict |on )*(?:allergic (?:to )?|vegan|vegetarian|pescatarian|c(?:o?e)liac|diabetic|teetotal|\w+ intolerant|(?:\w+ ){0,2}diet\b)` +
		`|i(?:'ve got| have| got) (?:an? )?(?:\w+ ){0,3}(?:allergy|allergies|intolerance|c(?:o?e)liac disease)` +
		`|(?:i|we) (?:really |also |just |strictly |absolutely )?(?:don't|do not|never|can't|cannot|mustn't|must not|'m not allowed to) (?:ever )?(?:(?:eat|drink|touch|consume|tolerate|digest) (?:any )?[a-z]+|drink$|have (?:any )?(?:` + foods + `))` +
		`|i(?:'m not allowed to|'m not supposed to) (?:eat|drink|have) [a-z]+|i (?:only eat|eat only|eat|keep|follow) (?:strictly |only )?(?:halal|kosher|vegan|vegetarian)|no (?:[a-z]+ ){1,3}for me$)`)
	noLimit        = regexp.MustCompile(`(?:have|got) no\b|allergic to (?:bad |mondays?|mornings?|work|people|meetings?|drama|nonsense|this|that)\b|\b(?:eat|drink|touch) (?:any )?(?:out|there|here|much|more|anything|enough|at|in|with|before|after|until|breakfast|lunch|dinner|that|this|it|well|on|alone|late|when|while|so|as|to|too|like|my|your|the|often|because)\b|no (?:thanks|problem|dessert|more|need|way|worries)\b`)
	chineseLimit   = regexp.MustCompile(`^我(?:(?:严重|从小|真的|也|天生|是)*(?:对.{1,10}|[^对是不没们妈爸哥弟姐妹友]{1,5})过敏(?:体质)?|(?:从来|从|一向|一直|向来|基本|平时|小|绝对|完全|就|都)*(?:不|不能|不可以|不敢|没法|忌)(?:吃|喝|碰|沾).{1,8}|(?:是|只|一直|常年)*(?:个|一个)?(?:纯|严格的?)?(?:素食.*|吃素的?|吃全素|吃斋|吃清真.*)|(?:有|是)?(?:乳糖|麸质|酒精)不耐受?.*)$`)
	noChineseLimit = regexp.MustCompile(`[吃喝碰沾](?:了|亏|饭|早饭|午饭|晚饭|完|下|饱|惯|醋|苦|这|那)|价格|周一|上班|们|不过敏|想|试`)
)

const (
	answers          = `answer|code in|repeat|call me|calling me|end your|skip|say|saying|reply|respond|write|speak|talk|use|using|address me|give (?:me|prices?|measurements?|temperatures?|dates?|numbers|examples)|show|explain|cite|include|add|start|begin|end|keep (?:it|your|the|all|answers|replies)|be|tell me|ask me|suggest|recommend|mention|format|translate|summari[sz]e|quote|list|assume|avoid|send me|round|apologi[sz]e`
	style            = `emojis?|emoticons?|bullet ?points?|bullets|lists?|tables?|markdown|headings?|headers?|exclamation (?:marks?|points?)|bold|jargon|abbreviations|slang|sarcasm|em ?dash(?:es)?|swear words|latex|disclaimers?|small ?talk|filler|preambles?`
	languages        = `(?:simple |plain |british |american )?(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|turkish|arabic|hindi|chinese|mandarin|cantonese|japanese|korean|swedish|danish|norwegian|finnish|greek|czech|ukrainian|vietnamese|thai)`
	chineseLanguages = `中文|英文|英语|汉语|普通话|粤语|广东话|法语|德语|日语|韩语|俄语|西班牙语|意大利语|葡萄牙语|阿拉伯语|简体(?:中文)?|繁体(?:中文)?|文言文|要点(?:的?形式)?`
	chineseStyle     = `表情(?:符号|包)?|emoji|感叹号|表格|列表|markdown|加粗|敬语|缩写|术语`
	foods            = `gluten|dairy|lactose|nuts?|peanuts?|milk|cheese|sugar|alcohol|caffeine|coffee|pork|beef|meat|fish|seafood|shellfish|eggs?|soy|wheat|spicy|salt|honey`
)
