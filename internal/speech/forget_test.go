// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/internal/speech"
)

// The first three parts of each list were read while the rules were written. The last one was written
// afterwards, and is the measure.
var (
	wishes = [4][]string{{
		"Please forget what I said about my job.", "Forget my address.", "Delete everything about my ex.", "Can you forget that I told you about my divorce?", "I want you to forget my phone number.",
		"Erase what you know about my health.", "Please remove my birthday from your memory.", "Don't mention my job again.", "Forget about the surgery, please.", "Wipe everything I told you about Carla.",
		"忘掉我说的关于工作的事。", "别再提我的工作。", "把我的地址删掉。", "请忘记我的电话号码。", "删除关于我前任的所有内容。",
		"请你忘了我刚才说的离婚的事。", "不要再提起我妈妈的病了。", "把我的生日从记忆里删除。", "我希望你忘掉我的病史。", "清除你记得的关于小李的一切。",
	}, {
		"Could you please delete my old email from memory?", "I'd like you to forget everything about my medical history.", "Please forget I ever mentioned the lawsuit.", "Never bring up my brother again.", "Stop remembering where I live.",
		"Drop what you have on file about my salary.", "You can forget what I said about moving to Canada.", "Remove all notes about my therapy sessions.", "Actually, forget my previous address, will you?", "Let's forget that I said I'm pregnant.",
		"麻烦把我之前说的住址忘了吧。", "帮我删掉有关我工资的记忆。", "以后别再提我哥哥了。", "能不能忘记我说过要辞职的事？", "关于那场官司，请全部忘掉。",
		"我不想让你再记得我的体重。", "抹去我和小王的所有记录。", "你可以忘掉我怀孕的事了。", "请把我的邮箱从你的记忆中移除。", "别再跟我说减肥的事了。",
	}, {
		"Please forget my last trip to Berlin.", "I'd prefer that you forget what I told you about my boss.", "Scrap everything I've told you about my finances.", "Get rid of anything you remember about my dad.", "Don't bring my weight up ever again.",
		"What I said about Tom, please forget it.", "Can you erase that whole thing about my exam?", "Pretend I never told you about the affair.", "I no longer want you to know where I work.", "Please purge my credit card details from your notes.",
		"我之前讲的那段感情，你就当没听过吧。", "请不要再记着我的旧号码了。", "请删除我的个人信息。", "忘记我住哪儿。", "有关我考试失败的内容请抹掉。",
		"别再提起我的前妻。", "你能忘掉我说的那件糗事吗？", "把跟我减肥有关的都忘了。", "别记得我的生日了。", "请把我提过的所有病都清除。",
	}, {
		"Forget that I have a cat.", "Please delete the stuff about my landlord from memory.", "Would you mind forgetting my middle name?", "Erase my home address from your records.", "Never mention Lisa to me again, please.",
		"Everything I told you about the merger has to be forgotten.", "Please wipe what I said last week about the loan.", "You should forget all about my old job.", "I don't want you to remember my age anymore.", "Forget my ex, Tom.",
		"请忘掉关于我孩子的信息。", "我刚才说的都忘了吧。", "别再提起那次车祸了。", "把你记住的我的身份证号删除。", "请清空你对我的记忆。",
		"不要再提我的体重了好吗。", "我想让你忘记我的真名。", "你就当我没提过这件事。", "麻烦删除之前关于我收入的记录。", "能把我跟她分手的事忘掉吗？",
	}}
	noWishes = [4][]string{{
		"I always forget my keys.", "Don't forget to buy milk.", "I forgot my password.", "Never forget where you came from.", "Forget it, I'll do it myself.",
		"How do I delete my Instagram account?", "Please delete the third paragraph of the letter.", "Remind me so I don't forget the meeting.", "Let me not forget to call mum.", "I can't forget what she said about my job.",
		"Delete all files in the temp folder.", "Remove my name from the mailing list draft.", "My grandma forgets things lately.", "Forget about pizza, let's have sushi.", "She told me to forget my ex.",
		"忘了带钥匙。", "别忘了买牛奶。", "我忘记密码了怎么办？", "我永远不会忘记那次旅行。", "我想忘掉前任。",
		"不要忘记我的生日哦。", "帮我删掉这段话的最后一句。", "怎么删除微信聊天记录？", "我奶奶最近老是忘事。", "差点忘了告诉你，我搬家了。",
		"他让我忘掉那件事。", "你是不是忘了我的名字？", "请把这个文件里的空行删除。", "提醒我别忘了开会。", "别提了，今天累死了。",
	}, {
		"Did you forget my name?", "I want to forget my ex.", "Can you write a poem about forgetting?", "I will never forget our trip to Rome.", "Don't let me forget the passport.",
		"Erase the whiteboard before the class.", "How can I remove a wine stain from my shirt?", "What does it mean to forgive and forget?", "I deleted my ex's number yesterday.", "Drop me a line about the job.",
		"Delete the last line of the poem, please.", "He asked me to forget everything about the deal.", "Forget what the weather report says, it's sunny.", "Please don't forget my allergy.", "Remove the duplicates from this list: a, b, a.",
		"难忘的一天。", "老板让我删掉那份报告。", "记得提醒我，我怕忘了。", "忘不了她做的菜。", "把表格里的重复行删掉。",
		"你还记得我的工作吗？别忘了。", "如何从照片里移除背景？", "我已经把他的电话删了。", "千万别忘记带护照。", "我总是忘记吃药。",
		"别再提醒我喝水了。", "忘年交是什么意思？", "清除浏览器缓存的步骤是什么？", "我把他忘了。", "删除数据库里关于用户的表怎么写？",
	}, {
		"I forgot to tell you that I moved.", "Forget my manners, but who are you?", "Don't let anyone forget my birthday!", "Can you remove my typo in this sentence?", "Remove the lid and stir.",
		"We should delete the old branch.", "Please clear my calendar for Monday.", "What did I forget?", "Delete my account.", "My dad has Alzheimer's and forgets my name.",
		"Never mind my question.", "Drop everything and call me.", "I'd like to forget my troubles for a day.", "Wipe my tears, sing me a song.", "Remember when I forgot my lines?",
		"我忘了我的护照放哪儿了。", "删除我的购物车里的商品怎么操作？", "这首歌让我忘记了我的烦恼。", "千万不要忘了我的生日。", "别再说谎了。",
		"不要再提交代码了。", "把我的作文里的错字删掉。", "忘了我是谁的歌词是什么？", "我想删掉我的照片。", "他忘了我的名字。",
		"请清除我的疑惑。", "别再聊天了，快写作业。", "妈妈忘记关火了。", "忘了关于昨天会议的通知要发给谁。", "不要再谈价格了，直接下单。",
	}, {
		"I keep forgetting my passwords.", "Oh, I forgot about the meeting!", "Please remove the background from this picture.", "Can you delete this event from my calendar?", "Don't you ever forget that I love you.",
		"My sister never forgets a birthday.", "Let's forget the past and start over.", "Write a letter asking my landlord to delete my data.", "Clear the table, please.", "Forget coffee, I need sleep.",
		"I will not forget what you said.", "Stop talking about politics.", "Why do people forget dreams?", "Remove everything but the title.", "Tell him to forget about the money.",
		"我忘了昨天说到哪儿了。", "你别忘了我们的约定。", "帮我把这张图里的人去掉。", "怎样才能忘掉一个人？", "请删除第二段。",
		"我把钥匙忘在家里了。", "他总把我的名字忘了。", "清空购物车。", "别说了，我知道了。", "请把音量调低，别再吵我。",
		"忘记密码的话点这里。", "这部电影让我难以忘记。", "不要删除我的备份。", "请记得别忘带伞。", "删了那个应用吧，太占内存。",
	}}
)

func TestWhoAsksToForgetIsUnderstood(t *testing.T) {
	for part, name := range []string{"known", "known, too", "known by now", "unseen"} {
		missed, taken := 0, 0
		for _, text := range wishes[part] {
			if !speech.AsksToForget(text) {
				t.Logf("%s: missed: %s", name, text)
				missed++
			}
		}
		for _, text := range noWishes[part] {
			if speech.AsksToForget(text) {
				t.Logf("%s: no wish: %s", name, text)
				taken++
			}
		}
		t.Logf("%s: %d of %d wishes missed, %d of %d others taken for one", name, missed, len(wishes[part]), taken, len(noWishes[part]))
		assert.LessOrEqual(t, missed, []int{0, 0, 6, 6}[part], name)
		assert.LessOrEqual(t, taken, []int{0, 0, 6, 6}[part], name)
	}
}

func FuzzAsksToForget(f *testing.F) {
	for _, text := range wishes[0] {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) { speech.AsksToForget(text) })
}
