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
	"github.com/einomem/einomem/internal/text"
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
	for _, query := range []string{"Where do I live?", "Beijing", "Do I live in Beijing and have a canary?"} {
		require.Equal(t, "The user lives in Shanghai.", found(t, b, query)[0], query)
		require.NotContains(t, found(t, b, query), "I live in Beijing and I have a canary", query)
	}
	require.Equal(t, "As you live in Beijing, see the Great Wall", found(t, b, "the Great Wall")[0], "an answer taught nothing")
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

func TestWhatStatesNothingComesLast(t *testing.T) {
	b := open(t)
	add(t, b, ann, conversation(
		"I live in Oslo", "Noted, you live in Oslo.",
		"Where do I live?", "You live in Oslo.",
		"What should I cook in Oslo?", "Try the salmon soup of the harbour.",
		"Thanks a lot!", `{"steps":["find Oslo","answer"]}`,
	)...)
	require.Equal(t, "I live in Oslo", found(t, b, "Where do I live?")[0])
	require.Contains(t, found(t, b, "Where do I live?"), "Where do I live?", "it is found")
	require.Equal(t, "Try the salmon soup of the harbour.", found(t, b, "What did you tell me to cook?")[0], "an answer is found by its question")
	require.Contains(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "Oslo", Kinds: []backends.Kind{backends.KindEpisode}, TopK: 10}), "Where do I live?")
}

func TestWhatSaysTheSameIsShownOnce(t *testing.T) {
	b := open(t)
	said := conversation("I like green tea", "", "I don't like green tea", "", "My sister likes green tea", "I like green tea")
	bob := backends.Message{ID: "bob", Time: start, Message: &schema.Message{Role: schema.User, Name: "Bob", Content: "I like green tea a lot"}}
	ann2 := bob
	ann2.ID, ann2.Message = "ann", &schema.Message{Role: schema.User, Name: "Ann", Content: "I like green tea a lot, too"}
	add(t, b, ann, append(said, bob, ann2)...)
	require.ElementsMatch(t, []string{
		"I like green tea", "I don't like green tea", "My sister likes green tea", "I like green tea", "I like green tea a lot", "I like green tea a lot, too",
	}, found(t, b, "green tea"), "a user and an assistant are two")
	again := backends.Memory{Kind: backends.KindEpisode, Text: "I  LIKE green tea.", Observed: start, Origin: backends.Origin{Role: "user"}}
	now := search(t, b, backends.SearchRequest{Scope: ann, Query: "I like green tea", TopK: 10, Beside: []backends.Memory{again}})
	require.Len(t, now, 6)
	require.Contains(t, now, again.Text, "the newer of two")
	remember(t, b, ann, "I like green tea")
	require.Equal(t, []backends.Kind{backends.KindFact}, kindsWith(t, b, "I LIKE GREEN TEA"), "and the fact before what was said")
}

// remember adds a fact by hand.
func remember(t *testing.T, b *mem0.Backend, s backends.Scope, text string) *backends.Memory {
	t.Helper()
	item, err := b.Remember(ctx, s, text)
	require.NoError(t, err)
	return &item.Memory
}

// kindsWith returns the kinds of the hits with these words that no assistant said.
func kindsWith(t *testing.T, b *mem0.Backend, words string) (out []backends.Kind) {
	t.Helper()
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: words, TopK: 10})
	require.NoError(t, err)
	for _, h := range resp.Hits {
		if h.Origin.Role != "assistant" && text.Fold(h.Text) == text.Fold(words) {
			out = append(out, h.Kind)
		}
	}
	return out
}

// Of statements that share their words both are true, and both are found, under any filter.
func TestWhatSharesItsWordsIsFound(t *testing.T) {
	for _, pair := range [][2]string{
		{"I live in Paris.", "I used to live in Paris until 2019."}, {"I take vitamin D.", "I take vitamin A and vitamin D in winter."}, {"Tom works in IT.", "Tom worked in IT, and works in sales since May."},
		{"The budget is 500 euros.", "Last year the budget was 500 euros."}, {"I am allergic to peanuts.", "My friend is allergic to peanuts."}, {"Anna likes jazz.", "Anna likes jazz but not live jazz."},
		{"The code is 4711.", "The code of the garage is 4711."}, {"I have a dog.", "I have a dog and a cat."}, {"I drink coffee.", "I drink coffee at work."}, {"My son plays chess.", "My son plays chess on Fridays."},
		{"我住在巴黎。", "我2019年以前住在巴黎。"}, {"我冬天吃维生素D。", "我冬天吃维生素A和维生素D。"}, {"预算是五百元。", "去年的预算是五百元。"}, {"我对花生过敏。", "我朋友对花生过敏。"}, {"小王喜欢爵士乐。", "小王喜欢爵士乐，但不喜欢现场。"},
		{"房号是4711。", "车库的房号是4711。"}, {"我养狗。", "我养狗，也养猫。"}, {"我喝咖啡。", "我上班时喝咖啡。"}, {"我儿子下象棋。", "我儿子星期五下象棋。"}, {"我在北京上班。", "我在北京上班，在天津住。"},
	} {
		b := open(t)
		add(t, b, ann, user(pair[0], pair[1])...)
		remember(t, b, ann, pair[1]+" ("+pair[0]+")")
		require.Subset(t, found(t, b, pair[0]), pair[:], "what was said")
		b = open(t, factsOnly)
		for i, text := range pair {
			item, err := b.Remember(ctx, ann, text, func(r *backends.AddRequest) { r.Metadata = map[string]any{"n": float64(i)} })
			require.NoError(t, err)
			require.Equal(t, backends.OutcomeAdded, item.Outcome)
		}
		for _, f := range []*backends.Filter{nil, {Op: "gte", Field: "n", Value: 0}, {Op: "lte", Field: "n", Value: 0}, {Op: "gt", Field: "n", Value: 0}} {
			held, err := b.List(ctx, &backends.ListRequest{Scope: ann, Filter: f})
			require.NoError(t, err)
			var texts []string
			for _, m := range held.Memories {
				texts = append(texts, m.Text)
			}
			require.ElementsMatch(t, texts, search(t, b, backends.SearchRequest{Scope: ann, Query: pair[1], Filter: f}), "List and Search agree")
		}
	}
}

// The successor has the words of the question no more, and what it replaced had them.
func TestTheSuccessorTakesTheScore(t *testing.T) {
	b := open(t, with(resident(t)))
	add(t, b, ann, conversation("I live in Beijing", "")...)
	q := backends.SearchRequest{Scope: ann, Query: "Where do I live, and for how long?"}
	before, err := b.Search(ctx, &q)
	require.NoError(t, err)
	add(t, b, ann, backends.Message{ID: "x", Time: start, Message: schema.UserMessage("I moved to Shanghai")})
	after, err := b.Search(ctx, &q)
	require.NoError(t, err)
	require.Equal(t, "The user lives in Shanghai.", after.Hits[0].Text)
	require.GreaterOrEqual(t, after.Hits[0].Score, 0.9*before.Hits[0].Score)
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
	require.Equal(t, "Use garlic.", found(t, b, "What goes into the soup?")[0])
	require.Equal(t, "推荐松鹤楼。", found(t, b, "哪家餐厅好？")[0])
}
