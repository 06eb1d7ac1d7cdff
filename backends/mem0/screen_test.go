// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// conversation returns messages of users and assistants by turns, a day apart.
func conversation(texts ...string) []backends.Message {
	var out []backends.Message
	for i, text := range texts {
		m := backends.Message{ID: fmt.Sprint("m", i), Turn: fmt.Sprint("t", i/2), Time: start.AddDate(0, 0, i/2-30), Message: schema.UserMessage(text)}
		if i%2 == 1 {
			m.Message = schema.AssistantMessage(text, nil)
		}
		out = append(out, m)
	}
	return out
}

func found(t *testing.T, b *mem0.Backend, query string) []string {
	return search(t, b, backends.SearchRequest{Scope: ann, Query: query, TopK: 10})
}

func TestWhatAFactReplacedGivesWayToIt(t *testing.T) {
	b := open(t, with(resident(t)))
	add(t, b, ann, conversation("I live in Beijing and I have a canary", "As you live in Beijing, see the Great Wall")...)
	add(t, b, ann, backends.Message{ID: "x", Time: start, Message: schema.UserMessage("I moved to Shanghai")})
	for _, query := range []string{"Where do I live?", "Beijing", "the Great Wall near Beijing"} {
		require.Equal(t, []string{"The user lives in Shanghai."}, found(t, b, query), query)
	}
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "live"})
	require.NoError(t, err)
	require.Equal(t, "The user lives in Beijing.", resp.Hits[0].Before.Text)
	require.True(t, resp.Hits[0].Ended.IsZero())

	past, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Beijing", IncludeSuperseded: true, TopK: 10})
	require.NoError(t, err)
	require.Equal(t, "The user lives in Beijing.", past.Hits[0].Text)
	require.Equal(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), past.Hits[0].Ended)
	require.Contains(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "lives", AsOf: start.AddDate(0, 0, -10)}), "The user lives in Beijing.")
}

func TestTheTurnThatTaughtWhatWasRetractedIsNotShown(t *testing.T) {
	b := open(t, with(thinking(t, func(s shown) string {
		if at := s.indexOf("The user has a canary."); at >= 0 {
			return operations(fmt.Sprintf(`{"op":"retract","index":%d,"messages":[0]}`, at))
		}
		return operations(`{"op":"add","text":"The user has a canary.","messages":[0]}`)
	})))
	add(t, b, ann, conversation("I have a canary", "Your canary needs millet")...)
	add(t, b, ann, backends.Message{ID: "x", Time: start, Message: schema.UserMessage("The bird died")})
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "canary"})
	require.NoError(t, err)
	require.Len(t, resp.Hits, 1)
	require.Equal(t, "Your canary needs millet", resp.Hits[0].Text)
	require.True(t, resp.Hits[0].Ended.IsZero())
	require.Contains(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "canary", IncludeSuperseded: true}), "The user has a canary.")
}

func TestWhatStatesNothingIsNotShown(t *testing.T) {
	b := open(t)
	add(t, b, ann, conversation(
		"I live in Oslo", "Noted, you live in Oslo.",
		"Where do I live?", "You live in Oslo.",
		"What should I cook in Oslo?", "Try the salmon soup of the harbour.",
		"Thanks a lot!", `{"steps":["find Oslo","answer"]}`,
	)...)
	require.Equal(t, []string{"I live in Oslo"}, found(t, b, "Where do I live?"))
	require.Equal(t, []string{"Try the salmon soup of the harbour."}, found(t, b, "What did you tell me to cook?"), "an answer is found by its question")
	require.Empty(t, found(t, b, "Thanks a lot!"))
	require.Contains(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "Oslo", Kinds: []backends.Kind{backends.KindEpisode}, TopK: 10}), "Where do I live?")
}

func TestWhatSaysTheSameIsShownOnce(t *testing.T) {
	b := open(t)
	said := conversation("I like green tea", "", "Tea: I like green tea.", "", "I don't like green tea", "", "My sister likes green tea", "")
	bob := backends.Message{ID: "bob", Time: start, Message: &schema.Message{Role: schema.User, Name: "Bob", Content: "I like green tea a lot"}}
	ann2 := bob
	ann2.ID, ann2.Message = "ann", &schema.Message{Role: schema.User, Name: "Ann", Content: "I like green tea a lot, too"}
	add(t, b, ann, append(said, bob, ann2)...)
	require.ElementsMatch(t, []string{"I don't like green tea", "My sister likes green tea", "I like green tea a lot", "I like green tea a lot, too"}, found(t, b, "green tea"))
}

func TestTheCurrentStatementComesFirst(t *testing.T) {
	b := open(t)
	add(t, b, ann, conversation(
		"I live in Beijing", "Beijing is a fine place to live in, with 22 million people",
		"My sister lives in Oslo", "",
		"Actually, I moved to Shanghai", "",
	)...)
	require.Equal(t, []string{"Actually, I moved to Shanghai", "I live in Beijing"}, found(t, b, "Where do I live?")[:2])
	require.Equal(t, "My sister lives in Oslo", found(t, b, "Where does my sister live?")[0])
	b = open(t)
	add(t, b, ann, conversation("我住在北京", "", "我姐姐住在广州", "", "我搬到上海了", "")...)
	require.Equal(t, []string{"我搬到上海了", "我住在北京"}, found(t, b, "我住在哪里？")[:2])
	require.Equal(t, "我姐姐住在广州", found(t, b, "我姐姐住在哪里？")[0])
}

func TestWhatIsNotLearntYetIsFoundBeside(t *testing.T) {
	b := open(t, with(resident(t)))
	add(t, b, ann, conversation("I live in Beijing", "Nice")...)
	said := backends.Memory{Kind: backends.KindEpisode, Text: "Actually, I moved to Shanghai", Observed: start, Origin: backends.Origin{Role: "user", Turn: "t9"}}
	r := backends.SearchRequest{Scope: ann, Query: "Where do I live?", Beside: []backends.Memory{said}}
	require.ElementsMatch(t, []string{"The user lives in Beijing.", said.Text}, search(t, b, r))
	r.Scope = backends.Scope{UserID: "bob"}
	require.Equal(t, []string{said.Text}, search(t, b, r), "also where nothing is held")
	other := backends.Eq("agent_id", "other")
	r.Filter = &other
	require.Empty(t, search(t, b, r))
}

func TestWhatIsNotLearntYetIsRedacted(t *testing.T) {
	b := open(t, func(c *mem0.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "4242", "****") }
	})
	said := []backends.Memory{{Kind: backends.KindEpisode, Text: "My PIN is 4242", Observed: start, Origin: backends.Origin{Role: "user"}}}
	require.Equal(t, []string{"My PIN is ****"}, search(t, b, backends.SearchRequest{Scope: ann, Query: "my PIN", Beside: said}))
	require.Equal(t, "My PIN is 4242", said[0].Text)
}

func TestAShortAnswerIsFoundByItsQuestion(t *testing.T) {
	b := open(t)
	add(t, b, ann, conversation("What goes into the soup?", "Use garlic.", "哪家餐厅好？", "推荐松鹤楼。", "I got a cat", "Cute name!")...)
	require.Equal(t, []string{"Use garlic."}, found(t, b, "What goes into the soup?"))
	require.Equal(t, []string{"推荐松鹤楼。"}, found(t, b, "哪家餐厅好？"))
	require.Equal(t, []string{"I got a cat"}, found(t, b, "a cute name"), "what a remark is about")
}
