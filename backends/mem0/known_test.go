// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

// updates are messages that change a fact in other words.
var updates = []struct{ fact, message string }{
	{"The user's wife Carla is a lawyer.", "We got divorced last month."},
	{"The user smokes a pack a day.", "I finally quit three weeks ago."},
	{"The user has a flat in Graz.", "We relocated to Vienna."},
	{"The user is an accountant at Siemens.", "They let me go on Friday."},
	{"The user drinks a beer every evening.", "I'm off the booze for good."},
	{"The user eats sushi every Friday.", "We're expecting, so no more raw fish for me."},
	{"The user studies biology at Leiden.", "I handed in my thesis and I'm done with uni."},
	{"The user runs ten kilometres every morning.", "My knee is gone, I swim instead now."},
	{"The user drives a VW Golf to work.", "We sold the car and I take the tram."},
	{"The user's dog Bella sleeps on the sofa.", "We had to put down our old girl, she was fifteen. No more pets for us."},
	{"用户的妻子小梅是律师。", "我们上个月离婚了。"},
	{"用户每天抽一包烟。", "我三周前终于戒了。"},
	{"用户在百度做工程师。", "我跳槽去字节了。"},
	{"用户在重庆租了一套公寓。", "我们搬到成都了。"},
	{"用户每晚喝啤酒。", "我现在滴酒不沾了。"},
}

// everyday are facts about other things. Some share words with the updates.
var everyday = []string{
	"The user's sister got a puppy last month.", "The user finally finished the puzzle three weeks ago.", "The user's uncle from Vienna sends postcards.",
	"The user meets friends on Friday.", "The user booked a table for good friends.", "The user's niece likes fish fingers.", "The user handed the keys to Tom.",
	"The user collects old maps.", "The user plays chess with Igor.", "The user's favourite colour is green.", "The user waters the roses on Sundays.",
	"The user owns a red umbrella.", "The user reads crime novels.", "The user's birthday is on 4 May.", "The user has a brother called Nils.",
	"The user's camera is a Fuji.", "The user likes jazz.", "The user hates coriander.", "The user's father builds clocks.", "The user speaks Portuguese.",
	"用户上个月买了新书。", "用户三周前去了杭州。", "用户喜欢下围棋。", "用户的生日是五月四日。", "用户养了一盆兰花。", "用户的妹妹在学钢琴。", "用户最喜欢的颜色是蓝色。", "用户的手机是华为。",
	"用户周末去图书馆。", "用户喜欢科幻电影。",
}

// What a message changes is among the facts that the learner sees, whatever else is known.
func TestTheLearnerSeesWhatAMessageMayChange(t *testing.T) {
	testkit.SlowUnderRace(t)
	for _, others := range []int{14, 60, 240} {
		for _, c := range updates {
			m := answering(operations())
			b := open(t, with(m), factsOnly)
			remember := func(text string) {
				_, err := b.Remember(t.Context(), ann, text)
				require.NoError(t, err)
			}
			remember(c.fact)
			for i := range others {
				s := everyday[i%len(everyday)]
				if n := i / len(everyday); n > 0 {
					s = strings.Replace(strings.Replace(s, "The user", fmt.Sprintf("The user's friend Kim %d", n), 1), "用户", fmt.Sprintf("用户的朋友小于%d", n), 1)
				}
				remember(s)
			}
			add(t, b, ann, user(c.message)...)
			shown := read(t, m.Calls()[0])
			require.GreaterOrEqual(t, shown.indexOf(c.fact), 0, "%d others: %q never meets %q", others, c.message, c.fact)
			if others == 14 {
				require.Len(t, shown.memories, 15, "all is shown where there is little")
			}
			_, rest, _ := strings.Cut(shown.user, "<existing_memories>\n")
			lines, _, _ := strings.Cut(rest, "</existing_memories>")
			require.LessOrEqual(t, text.Tokens(lines), 1_600, "1,500 and what the numbers take")
		}
	}
}
