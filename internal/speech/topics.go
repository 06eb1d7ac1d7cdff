// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech

import (
	"regexp"
	"slices"
)

// topics are the areas in which people's lives change, by the beginnings of their words: "We
// got divorced" meets "The user's wife is a lawyer".
var topics = []*regexp.Regexp{
	topic(`divorc|wife|husband|spouse|partner|marri|married|marry|wedding|girlfriend|boyfriend|fianc|engaged|engagement|dating|single|split up|br(?:ea|o)k\w* up|separated|widow`, `离婚|结婚|复婚|订婚|婚|妻子|老婆|太太|爱人|丈夫|老公|女朋友|男朋友|女友|男友|对象|分手|单身|恋爱`),
	topic(`mov(?:e|ed|ing)|relocat|settle|liv(?:e|es|ed|ing)|flat|apartment|house|home|rent|lease|landlord|address|neighbou?r|city|town|based in|resid`, `搬|迁|住|公寓|房|租|地址|家在|小区|老家|定居|新家`),
	topic(`job|work|employ|hir(?:ed|ing)|fired|quit|resign|laid off|let me go|sacked|boss|manager|compan|career|promot|retire|freelanc|colleague|office|startup|profession|joined|engineer|teacher|nurse|lawyer|accountant|programmer|developer|designer|doctor|chef|driver|journalist|waiter|analyst|consultant|position|shift`, `工作|上班|公司|入职|离职|辞职|辞|跳槽|裁|失业|退休|升职|老板|同事|职业|任职|岗位|创业|实习|转行|换了|工程师|医生|护士|律师|会计|老师|程序员|经理|设计师|司机|销售|厨师|记者`),
	topic(`stud(?:y|ies|ied|ying|ent)|universit|uni|college|school|degree|major|graduat|thesis|phd|master's|course|exam|class`, `大学|学校|毕业|专业|读研|读博|考研|学习|上学|学生|课程|论文|考试`),
	topic(`smok|cigar|vap(?:e|ing)|nicotine|tobacco|quit|gave up|given up|stopped`, `烟|戒|抽`),
	topic(`drink|alcohol|beer|wine|booze|whisky|sober|coffee|tea|caffeine|bar|pub`, `酒|喝|咖啡|茶|戒`),
	topic(`eat|diet|vegan|vegetarian|meat|fish|sushi|pork|food|cook|allerg|gluten|lactose|dairy|sugar|intoleran|pregnan|expecting|breakfast|meal`, `吃|素|肉|鱼|海鲜|辣|甜|过敏|忌口|饮食|减肥|做饭|怀孕`),
	topic(`gym|run|runs|running|jog|swim|yoga|train(?:s|ing)?|sport|football|tennis|marathon|climb|hik|cycl|workout|exercis|knee|injur`, `健身|跑步|运动|游泳|瑜伽|锻炼|球|马拉松|登山|爬山|骑行|受伤|膝`),
	topic(`car|cars|driv|bike|bicycle|motorbike|tram|bus|subway|metro|commut|licen[cs]e|golf|tesla`, `车|开车|骑|地铁|公交|通勤|驾照|高铁`),
	topic(`dog|cat|pet|pets|puppy|kitten|vet|parrot|rabbit|gave .{1,20} away|passed away|put down`, `狗|猫|宠物|兔|鹦鹉|送人|走丢`),
	topic(`child|kid|kids|son|daughter|baby|born|birth|pregnan|expecting|twins|school|kindergarten`, `孩子|儿子|女儿|宝宝|出生|怀孕|生了|双胞胎|幼儿园`),
	topic(`mother|mom|mum|father|dad|parents|brother|sister|grand(?:ma|pa|mother|father)|uncle|aunt|cousin|died|passed away|funeral`, `妈|爸|母亲|父亲|父母|哥|弟|姐|妹|爷爷|奶奶|外公|外婆|去世|走了`),
	topic(`phone|number|e?mail|handle|account|wechat|whatsapp`, `电话|手机|号码|邮箱|微信|账号`),
	topic(`name|named|called|call me|nickname|go by`, `名字|叫|姓|称呼|昵称|改名`),
	topic(`ill|sick|disease|diagnos|doctor|hospital|surgery|operation|medic|pill|therap|recover|cured|blood|weight|pain`, `病|医|药|手术|诊断|治疗|康复|痊愈|血压|血糖|体重`),
	topic(`trip|travel|flight|fly|flies|holiday|vacation|visit|hotel|book(?:ed|ing)|cancel|postpone|appointment|meeting|reservation`, `旅行|旅游|机票|飞|出差|度假|酒店|预订|取消|推迟|改期|约|会议`),
	topic(`loan|mortgage|debt|saving|budget|salary|bank|invest|insur`, `贷款|工资|预算|房贷|存款|债|投资|保险|理财`),
	topic(`laptop|computer|phone|mac|windows|linux|android|iphone|tablet|camera`, `电脑|笔记本|手机|苹果|安卓|相机|平板`),
	topic(`answer|repl(?:y|ies)|respon[ds]|language|english|german|french|spanish|chinese|bullet|emoji|tone|short|detail`, `回答|回复|语言|中文|英文|英语|表情|简短|详细|语气`),
	topic(`favou?rite|like|likes|love|prefer|enjoy|hate|hobb|fan of|into`, `喜欢|最爱|偏好|讨厌|爱好|迷上|不爱`),
	topic(`guitar|piano|band|music|paint|draw|read|book|novel|game|gaming|photo|garden|knit|movie|film|series`, `吉他|钢琴|乐队|音乐|画|读|书|小说|游戏|摄影|园艺|电影|剧`),
}

// topic compiles a topic from beginnings of English words and from Chinese words.
func topic(english, chinese string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + english + `)|` + chinese)
}

// Meets returns a function that counts the topics that another text shares with said. It only helps
// to choose the material of a model.
func Meets(said string) func(text string) int {
	about := slices.DeleteFunc(slices.Clone(topics), func(t *regexp.Regexp) bool { return !t.MatchString(simple(said)) })
	return func(text string) (n int) {
		for _, t := range about {
			if t.MatchString(simple(text)) {
				n++
			}
		}
		return n
	}
}
