// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/internal/speech"
)

// Requests in plain words, which the weights have not learnt from.
var (
	aboutPeople = []string{
		"What did I pay for the bike?", "What's my new colleague's name?", "Remind me: what is the deadline?", "What do you know about the party?", "Where does she live?",
		"What did Henrietta give me?", "What do I do for work?", "Write a toast for our family dinner.", "Help me write a letter to my landlord.", "Does Grandma like tea?",
		"我的自行车花了多少钱？", "今年我想游到多少米？", "我要给什么浇水？", "外公的身体怎么样了？", "小蕾不吃什么肉？",
		"她住在哪儿？", "新的租约签了几年？", "上次说的那家店叫什么？", "帮我给我老板写封邮件。", "你还记得那家餐厅吗？",
		"When is our anniversary?", "Which train did we take to Prague?", "Am I supposed to avoid gluten?", "What was the name of his dentist?", "Did you recommend a laptop last time?",
		"How many people did I invite?", "What have we decided about the garden?", "Can you tell me what my flight number is?", "Is mum still in hospital?", "What did they say about us?",
		"How long have I been learning Spanish?", "Please draft a reply to my tutor.", "Where are my spare keys?", "What is the dog called?", "Do I prefer window seats?",
		"Which of my friends plays the cello?", "What time does her shift start?", "Tell me about my last blood test.", "How do I take my coffee?", "Who came to my graduation?",
		"我妹妹的婚礼是哪天？", "我对什么药过敏？", "他现在在哪里上班？", "我们上次去的餐厅叫什么？", "妈妈的手术什么时候做？",
		"我家的无线网密码是什么？", "之前你推荐的那本书叫什么？", "我儿子几年级了？", "我一般几点起床？", "帮我想想送她什么礼物。",
		"咱们家的狗几岁了？", "我的车牌号是多少？", "同事小陈喜欢喝什么？", "我跟谁约了周五吃饭？", "奶奶的生日是农历几月？",
		"我换了哪家健身房？", "房东的电话是多少？", "我上个月跑了多少公里？", "我老公爱吃什么菜？", "阿强的新店开在哪里？",
	}
	forEverybody = []string{
		"Translate 'my dog is ill' into French.", "How do I undo the last commit in git?", "Give me a synonym for quick.", "Help me write a cover letter for a marketing job.", "Explain inflation like I'm five.",
		"Why is the sky blue?", "Fix the grammar of this sentence: he go to my school yesterday.", "How can I sleep better at night?", "I want to know how vaccines work.", "What is 17 times 23?",
		"帮我写一封婉拒会议的邮件。", "把“我爱我家”翻译成英文。", "给我一个“美丽”的近义词。", "我想知道疫苗是怎么起作用的。", "天空为什么是蓝色的？",
		"请校对下面这段文字：我昨天去了他家。", "用小孩能懂的话解释通货膨胀。", "教我怎么煮鸡蛋。", "讲个笑话。", "狗能吃巧克力吗？",
		"Who painted the Mona Lisa?", "Show me how to tie a bow tie.", "Could you explain recursion?", "What's the fastest land animal?", "How do we calculate compound interest?",
		"Write a limerick about a cat.", "Please give me three facts about Iceland.", "Summarise this article in two sentences: I was born in Leeds.", "Is the number 91 prime?", "What does HTTP 404 mean?",
		"How many calories are in a banana?", "Can you list the planets?", "When was the printing press invented?", "Suggest a title for a blog post about hiking.", "How should I store fresh basil?",
		"What is the plural of octopus?", "Convert 40 degrees Celsius to Fahrenheit.", "Why do cats purr?", "Recommend me a good science fiction novel.", "What are the ingredients of pesto?",
		"蒙娜丽莎是谁画的？", "教我打领带。", "解释一下递归。", "跑得最快的陆地动物是什么？", "复利怎么算？",
		"写一首关于猫的打油诗。", "告诉我冰岛的三个冷知识。", "91是质数吗？", "404是什么意思？", "一根香蕉有多少卡路里？",
		"列出太阳系的行星。", "印刷术是什么时候发明的？", "给一篇爬山的博客起个标题。", "新鲜罗勒怎么保存？", "摄氏40度是多少华氏度？",
		"猫为什么会打呼噜？", "推荐一本好看的科幻小说。", "把下面的话改得正式一点：我明天不来了。", "青酱要放什么？", "三角函数的公式有哪些？",
	}
)

func TestWhoAsksAboutPeopleIsUnderstood(t *testing.T) {
	missed, taken := 0, 0
	for _, text := range aboutPeople {
		if !speech.Personal(text) {
			t.Logf("missed: %s", text)
			missed++
		}
	}
	for _, text := range forEverybody {
		if speech.Personal(text) {
			t.Logf("about nobody: %s", text)
			taken++
		}
	}
	assert.LessOrEqual(t, missed, 1, "of 60")
	assert.LessOrEqual(t, taken, 8, "of 60")
}

// The file is by an author of its own. About half of its messages are close to one of the other sort.
func TestWhatDependsOnWhoAsksIsUnderstood(t *testing.T) {
	missed, taken := judged(t, "personal_others.txt", speech.Personal)
	assert.LessOrEqual(t, len(missed), 3, "of 120: %s", missed)
	assert.LessOrEqual(t, len(taken), 20, "of 120: %s", taken)
}

func TestNamesAreCapitals(t *testing.T) {
	for request, want := range map[string][]string{
		"What did Anna's brother buy in São Paulo? Maybe Tea?": {"Anna", "São", "Paulo", "Tea"},
		"When am I free on Friday in May, and where's Bob?":    {"Bob"},
		"what does anna like": nil, "WHERE DOES ANNA LIVE?": nil, "Wie heißt mein Hund?": nil, "": nil,
		"我的 MacBook 是什么时候买的？": {"MacBook"},
	} {
		assert.Equal(t, want, speech.Names(request), request)
	}
}

func FuzzPersonal(f *testing.F) {
	f.Add("What did Anna buy?")
	f.Fuzz(func(_ *testing.T, text string) { speech.Personal(text); speech.Names(text) })
}
