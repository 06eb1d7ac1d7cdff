// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/speech"
)

func TestFillersSayNothing(t *testing.T) {
	for _, text := range []string{
		"", "Hi", "hello there", "Hi there!", "OK", "ok.", "thanks!", "Thank you so much!", "Thanks, that's great.", "Noted.", "Got it!", "Got it, I'll remember that.",
		"I've noted that.", "Good morning! How are you?", "You're welcome! Let me know if you need anything else.", "Bye, see you tomorrow!", "Great, thanks for letting me know!",
		"I'll keep that in mind.", "I have updated your profile.", `{"steps":["search","answer"]}`, "haha", "Sure thing!", "Yes", "No problem!", "Perfect, thank you!", "You haven't told me yet.", "Sorry, I don't know.", "I'm fine, thanks!", "Thanks, that's all for now.", "Let me think.",
		"Ok thanks, that was really helpful, I have to run now!", "That's been so kind, I've got to go.",
		"Good evening! Lovely to talk to you again.",
		"你好", "您好！", "好的，太谢谢你了，我先去忙了！", "太好了，多谢帮忙！", "谢谢", "谢谢你！", "好的，谢谢", "好的，我记住了。", "嗯嗯", "明白了", "已记录。", "没问题！", "再见，晚安", "好的，已为您记录。", "收到", "我不知道，你还没有告诉过我。", "在吗",
	} {
		require.Equal(t, speech.Filler, speech.Classify(text), text)
	}
}

func TestQuestionsAndRequestsStateNothing(t *testing.T) {
	for _, text := range []string{
		"Where do I live?", "where do i live", "What is my name?", "Hi! What's my dog's name?", "Do you remember where I work?", "Can you remind me what I'm allergic to?", "Remind me what my job is.",
		"Tell me a joke", "Translate this into French.", "Ok, and who is my boss?", "How old am I", "Thanks! And what about my sister's birthday?", "Anything you would recommend?", "If I go to Oslo, what should I see?", "In the morning, what should I eat?",
		"I wonder how tall the Eiffel Tower is.", "I need to know what 17 times 23 is", "I'd like to know whether it rains in Rome.", "I've always wanted to ask why cats purr.",
		"我想知道珠穆朗玛峰有多高。", "我需要算一下 128 乘以 36 等于多少。",
		"我住在哪里？", "我叫什么名字", "你还记得我的生日吗？", "你好，请问我对什么过敏？", "帮我翻译这句话", "谢谢！那我的工作是什么呢？", "我明天几点开会？", "如果下雨，我该穿什么？",
	} {
		require.Equal(t, speech.Question, speech.Classify(text), text)
	}
}

func TestStatementsAreRecognised(t *testing.T) {
	for _, text := range []string{
		"I live in Beijing.", "Actually, I moved to Shanghai.", "My name is Ann", "Hi! I'm Ann. Where should I eat?", "Thanks, but I no longer work at Acme.", "No, I meant Tuesday.",
		"Remind me to call mum on Friday.", "Did you know that I moved to Oslo?", "I don't eat meat.", "It costs 3.50 euros.", "Write an email to my boss saying I quit my job at Acme.",
		"The meeting was cancelled.", "Yes, I am allergic to nuts.", "Not any more", "Call me Bob",
		"I wonder if my wife would like Rome.", "I need to know what I may eat as a diabetic.", "I have to run a marathon.", "I have to go to Oslo.", "我想知道我儿子喜不喜欢这里。", "我要走路去上班。",
		"You should try the blue cheese.", "Sure, the train leaves at 9:40.",
		"Visit example.com for it", "Bergen", "How about a vegetable risotto?", "Why not take the train?", "I have two kids, what should I buy them?",
		"我住在北京。", "其实我搬到上海了", "不，我是说星期二", "谢谢，我已经不在那家公司了", "好的，我喜欢喝茶", "你知道吗？我搬家了", "我对花生过敏", "叫我小王", "建议您每天喝八杯水。",
	} {
		require.Equal(t, speech.Statement, speech.Classify(text), text)
	}
}

func TestAnAnswerThatSuggestsIsAStatement(t *testing.T) {
	for _, text := range []string{"推荐松鹤楼。", "Compare the two offers first.", "Suggest the blue one to her."} {
		require.Equal(t, speech.Question, speech.Classify(text), text)
		require.Equal(t, speech.Statement, speech.ClassifyAnswer(text), text)
	}
	require.Equal(t, speech.Question, speech.ClassifyAnswer("What would you like?"))
	require.Equal(t, speech.Filler, speech.ClassifyAnswer("Noted."))
}

func TestAnAnswerThatRepeatsIsRecognised(t *testing.T) {
	for _, text := range []string{
		"Noted, you live in Oslo.", "You live in Oslo.", "Got it! Your dog is called Rex.", "I've noted that you are vegetarian.", "You told me that you work at Acme.", "Your sister lives in Bergen. Anything else?",
		"您住在北京。", "好的，我记住了：您对花生过敏。", "已记录，你喜欢喝茶。", "你说过你的狗叫旺财。",
	} {
		require.True(t, speech.Repeats(text), text)
	}
	for _, text := range []string{
		"You should see the Great Wall.", "Your flight BA249 leaves from gate 12.", "The soup needs garlic.", "As you live in Beijing, see the Great Wall", "Noted. The museum is closed on Mondays.", "You can take the train.", "Noted!", "Hello",
		"推荐松鹤楼。", "您可以坐地铁。", "好的，推荐松鹤楼。", "你应该带伞。",
	} {
		require.False(t, speech.Repeats(text), text)
	}
}

func FuzzClassify(f *testing.F) {
	for _, text := range []string{"", "a.b", "?", "。", "\xff", "{", "好的", "no no no no no no no"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		speech.WishOf(text)
		speech.Repeats(text)
		c := speech.Classify(text)
		require.True(t, c >= speech.Filler && c <= speech.Statement)
	})
}

func TestWhoAsksNotToBeRememberedIsUnderstood(t *testing.T) {
	for _, text := range []string{
		"Do NOT remember: PIN 9911", "Don't remember this: my PIN is 9911.", "Do not remember this. My card ends in 4242.", "Please don't remember this, but I'm looking for a new job.", "Dont save this: my password is hunter2",
		"My PIN is 9911. Please do not remember it, thanks. And what is 2+2?", "My PIN is 9911 and don't remember it, what is a good PIN?", "I was diagnosed with diabetes. Don't store that.", "Off the record, I hate my boss.", "Off the record: we are selling the company.",
		"This is off the record: I'm pregnant.", "Keep this off the record, I applied elsewhere.", "Strictly off the record my salary is 5000", "I don't want you to remember this: I smoke.", "I do not want you to keep a record of this, my ex lives in Oslo.",
		"I'd rather you didn't remember this: I failed the exam.", "I'd prefer if you don't save that I am ill.", "Could you please not remember this? My brother is in prison.", "Can you not store this: 1234-5678", "Would you mind not remembering this? I'm broke.",
		"Never record this, my real name is Bob.", "Don't ever save this: key abc", "Please do not log this message: token 99", "No need to remember this, but it rained today.", "You don't have to remember this, I had eggs today.",
		"You needn't remember that my cat was sick today.", "You should not remember this: code 77", "Don't write this down: the safe is behind the painting.", "Don't make a note of this, I lied to her.", "Don't keep a record of what I say now: I owe him money.",
		"Don't memorize this number: 555-0100", "Please don't memorise any of this. My therapist is Dr Lee.", "Don't add this to your memory: I am gay.", "Don't put this in my profile, I'm divorced.", "Leave this out of your notes: the deal failed.",
		"Keep this out of your memory, ok? I am moving out.", "Do not remember my PIN 9911", "Please don't remember my address, it is Main St 5.", "Don't store my card number 4111", "Please don't save my email x@y.z",
		"This must not be stored: secret 5", "This should not be remembered: I hid the gift in the attic.", "It isn't to be recorded: the vote was 5 to 4", "Make sure you don't remember this: the gift is a watch", "Be sure not to save this: 12 34 56",
		"Hey, don't remember this ok? I'm wearing a wig", "ok but don't remember this, I skipped work", "Don't learn from this: I like spam", "Do not remember anything I say about my ex: he is a fool.", "Answer without saving this: is 9911 a good PIN?",
		"Stop remembering what I say about Tom, he is ill.", "I told you not to remember this: 42", "DON'T REMEMBER THIS!!! my code is 1", "Just between us, don't remember this, I'm quitting.", "Don’t remember this: curly 9911",
		"Don't remember the following: alpha 7", "(don't remember this) my locker is 12", "Don't store any of this in your memory, my weight is 90", "Please do not remember this secret: the password is swordfish", "Don't note this down: room 5",
		"pls dont remember this my ssn is 123", "I'm telling you this off the record: I quit.", "I do not want this remembered: I'm ill.", "Do not record what follows: I'm ill.", "My password is abc - don't remember it!", "This stays off the record. I quit.",
		"私密：别记 9911", "别留底：9911", "勿记：9911", "不要把我的密码9911记住", "我说的这些都别记，我离职了",
		"不要记住：我的密码是9911", "别记：PIN 9911", "这个别记，我要离职了。", "别记住这个，我的卡号是4242。", "请不要记住这件事，我怀孕了。", "我的密码是9911，别记下来。", "不用记，今天下雨了。", "这条不用记住，我早上吃了鸡蛋。", "请勿记录以下内容：项目代号蓝鲸", "不要把这个记下来，我很讨厌老板。",
		"别把我刚说的存下来，我在吃药。", "这些话不要保存，我离婚了。", "以下内容不要记录：合同金额五百万", "我不想让你记住这个：我抽烟。", "我不希望你记住我的病。", "你不用记住，我今天穿了红衣服。", "不必记住，明天我请假。", "别记录这个，我欠他钱。", "不要保存到记忆里：我的真名是王五", "不要写进记忆，我很穷。",
		"这事别记，我和他分手了。", "別記住：我的密碼是9911", "請不要記錄這條訊息，我要離職了", "请不要记我的地址，长安街5号。", "别存这个，验证码是1234。", "千万别记住这个密码：abc", "麻烦你不要记住这个，我生病了", "可不可以不要记住这个？我失业了。", "这部分不作记录：董事会否决了", "先别记，我可能要搬家。", "我希望你不要记住这件事，我哭了。", "无需记住：会议室是302",
		"不要再记我的体重了，90公斤", "这个秘密不要记下：礼物是手表", "帮我翻译：你好。这个不用记。", "别记住我说的任何话，我喝醉了", "不需要记住这个，我今天迟到了", "接下来的话别记录，我讨厌他", "请别保存我的电话，13800000000", "不要留记录，我给了他钱", "甭记这个，我瞎说的", "勿记可以，但请勿记住我的名字李四",
	} {
		require.Equal(t, speech.ForgetThis, speech.WishOf(text), text)
	}
	for _, text := range []string{
		"Don't remember that.", "Please don't remember that", "don't remember this", "Thanks, but please do not remember that, ok?", "Do not save that.", "Off the record!", "Don't remember what I just said.", "Please don't store what I told you about Tom. How are you?", "What I just said, don't remember it.", "I don't want you to remember that.", "I'd rather you didn't save this, thanks!", "我不想让你记住这个。", "Don't keep a record of my last message.",
		"别记", "别记这个。", "請不要記住剛才說的話。", "不要记住", "不用记了，谢谢。", "这个别记", "请不要记住刚才说的话。", "刚才那句别记，明天几点开会？", "别把这个记下来。", "好的，不用记住。",
	} {
		require.Equal(t, speech.ForgetThat, speech.WishOf(text), text)
	}
}

func TestWhoGivesNoSuchOrderIsRemembered(t *testing.T) {
	for _, text := range []string{
		"", "Remember this: my PIN is 9911", "Please remember that I like tea.", "Don't forget to remember my birthday.", "Don't forget this: I'm allergic to nuts.", "Never forget that I hate olives.", "I don't remember his name.", "I do not remember this at all.", "I don't remember that.", "I can't remember where I put it.",
		"I never remember my keys.", "Don't you remember that I moved?", "Do you not remember this?", "Why don't you remember that?", "You don't remember this, do you?", "You never remember what I say.", "He doesn't remember it.", "They do not remember this.", "We don't remember that day.", "Don't remember his name, sorry.",
		"Don't remember where I parked.", "Don't remember if I told you.", "Don't remember that movie, was it good?", "I read it once and don't remember it.", "I tried, but I don't remember this.", "Forget what I just said.", "Forget it.", "Forget that I live in Oslo.", "Please forget my old address.", "Never mind.",
		"Don't save the file yet.", "We should not log this request body in production", "My mother doesn't remember this anymore.", "Keep this between us.", "Do not store the milk in the fridge.", "Don't save this file to disk.", "Please don't record the meeting at five.", "Don't log in as root.", "Don't write this function in Java.", "Don't keep the receipt.", "Don't note every detail in the report.", "This should not be stored in the fridge.", "It can't be saved to the database.",
		"He said that off the record yesterday.", "The minister spoke off the record.", "What does \"off the record\" mean?", "What does \"don't remember this\" do?", "My phone is off the hook.", "The record player is off.", "Remember not to call before noon.", "Remind me not to save money in cash.", "I want you to remember this.", "Do you remember this?",
		"It's hard to remember this.", "I will always remember that.", "She asked me not to record this.", "The sign says no recording.", "I stopped recording videos.", "Without remembering the code I could not enter.", "I'd like you to remember my address.", "Can you remember this? I like jazz.", "Save this for later.", "Store that in your memory.",
		"Make sure you remember this.", "You should remember that I'm vegan.", "Don't worry, I remember it.", "Don't tell me that I don't remember it.", "I couldn't remember it if I tried.", "Do not disturb me after nine.", "Don't stop.", "My memory is bad, I don't write things down.", "I forgot that.", "If you don't remember this, ask Tom.",
		"记住这个：我的密码是9911", "请记住我喜欢喝茶。", "别忘了", "别忘了我的生日。", "不要忘记我对花生过敏。", "我不记得了", "我不记得他的名字。", "我记不住这个。", "我没记住。", "你不记得了吗？", "他不记得这件事。", "要不要记住这个？", "用不用记下来？", "不要记错了，我叫李四。", "别记恨他。", "我不用记也知道。", "我们不用记录日志。", "忘了我刚才说的话。", "忘掉这个吧。", "当我没说。",
		"别保存这个文件。", "不要保存文件", "不要存钱在家里。", "别担心，我记住了。", "如果我说不要记住，你会怎么做？", "为什么不要记住这个？", "他让我不要记住这个", "帮我记一下，明天开会。", "记得提醒我别迟到。", "我的记忆力不好。", "这个很难记。", "你记住了吗？", "别把手机放在桌上。", "不要记仇。", "我不要糖。", "别记混了，是周二不是周三。", "我要记录体重。", "我不想记住那些事", "他说不用记", "日志里不要记录密码这个字段", "这个函数不要保存状态", "保存一下这个地址。", "你别忘记把这个记下来。", "不要再忘了，我住在北京。",
	} {
		require.Equal(t, speech.NoWish, speech.WishOf(text), text)
	}
}

func TestCorrections(t *testing.T) {
	for text, want := range map[string]bool{
		"I meant Miko, not Mika.": true, "Sorry, it's the 14th.": true, "Typo: my code is 4417.": true, "No, that's my sister's name.": true,
		"Sorry, her name is Miko, not Mika.": true, "抱歉，同事叫小梅，不是小美。": true,
		"Sorry, I'm not coming.": false, "I live in Oslo now, not Bergen.": false, "对不起，我不是这个意思，先走了。": false,
		"我说错了，是周四。": true, "更正一下，我住在海淀。": true, "打错了，是小米": true,
		"I moved to Shanghai.": false, "Actually I live in Oslo now.": false, "What do you mean?": false, "I mean to visit her.": false,
		"我搬到上海了。": false, "现在改喝茶了。": false,
	} {
		if got := speech.Corrects(text); got != want {
			t.Errorf("Corrects(%q) = %v", text, got)
		}
	}
}

func TestWordsThatDenyAndRevise(t *testing.T) {
	for _, text := range []string{"I don’t eat fish", "Isn't it", "'No'", "They CANNOT come", "I quit", "我不吃鱼", "戒烟了", "it is off, or not"} {
		require.True(t, speech.Negates(text), text)
	}
	for _, text := range []string{"I gave up chess", "I live there any longer", "He moved.", "我搬到了上海", "我换了工作", "我有房了。", "rather-than that"} {
		require.True(t, speech.Revises(text), text)
	}
	for _, text := range []string{"A knot", "Many more came", "a longer walk", "I gave it up there", "The news", "我喜欢吃鱼", "the nothingness", "ant and tent"} {
		require.False(t, speech.Revises(text), text)
	}
}

// Small talk that others wrote, and beside it what begins alike and says something.
func TestChineseSmallTalkStatesNothing(t *testing.T) {
	for _, text := range []string{"嗨，很高兴见到你.", "很高兴认识你。", "我也还不错", "挺好的", "很好，谢谢.", "那太好了！", "那很好", "我赞同。", "没啥", "谢谢你。你也一样.", "别担心", "欢迎！", "我很好。"} {
		require.Equal(t, speech.Filler, speech.Classify(text), text)
	}
	for _, text := range []string{"我很好客，常请朋友来", "我很好动", "狗没了", "我同意搬去上海", "我也是护士", "那家店很好", "我太太很好客", "别担心我的腿，已经好了"} {
		require.Equal(t, speech.Statement, speech.Classify(text), text)
	}
}
