// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
)

// pairs are two statements that share most of their words, both true, and a question that
// both answer.
var pairs = [][3]string{
	{"I live in Paris.", "I used to live in Paris until 2019.", "Do I live in Paris?"},
	{"I take vitamin D in winter.", "I take vitamin A in winter.", "Which vitamin do I take in winter?"},
	{"My brother works in IT.", "My brother works in sales since May, no longer in IT.", "Where does my brother work?"},
	{"The budget is 500 euros.", "Last year the budget was 500 euros.", "What is the budget, 500 euros?"},
	{"Anna has a dog.", "Anna has a dog and a cat.", "Does Anna have a dog?"},
	{"I don't like olives.", "I like olives on pizza.", "Do I like olives?"},
	{"The train leaves at 8:15.", "The train leaves at 8:15 on Sundays, too.", "When does the train leave?"},
	{"Tom is allergic to nuts.", "Tom's son is allergic to nuts.", "Who is allergic to nuts?"},
	{"We meet in room 4.", "We meet in room 4 or 5.", "In which room do we meet?"},
	{"My flight is on Monday.", "My flight back is on Monday, a week later.", "When is my flight?"},
	{"The rent is 900.", "The rent is 900 without heating.", "How much is the rent?"},
	{"我住在巴黎。", "我2019年以前住在巴黎。", "我住在巴黎吗？"},
	{"我冬天吃维生素D。", "我冬天吃维生素A。", "我冬天吃什么维生素？"},
	{"我弟弟做销售。", "我弟弟五月以前做销售。", "我弟弟做什么？"},
	{"预算是五百元。", "去年预算是五百元。", "预算是五百元吗？"},
	{"小美养了一只狗。", "小美养了一只狗和一只猫。", "小美养了狗吗？"},
	{"我不喜欢香菜。", "我喜欢香菜饺子。", "我喜欢香菜吗？"},
	{"火车八点一刻开。", "周日火车八点一刻开。", "火车几点开？"},
	{"老张对坚果过敏。", "老张的儿子对坚果过敏。", "谁对坚果过敏？"},
	{"我们在四号会议室开会。", "我们有时在四号会议室开会。", "我们在哪个会议室开会？"},
	{"我的航班是周一。", "我的返程航班也是周一。", "我的航班是周几？"},
	{"房租九百。", "房租九百，不含暖气。", "房租多少？"},
}

// What resembles is two memories: both are found, as facts and as what was said, whichever
// was said first.
func TestLookalikesAreBothFound(t *testing.T) {
	testkit.SlowUnderRace(t)
	for _, p := range pairs {
		for _, kind := range []backends.Kind{backends.KindFact, backends.KindEpisode} {
			for _, order := range [][2]string{{p[0], p[1]}, {p[1], p[0]}} {
				b := open(t)
				for i, text := range order {
					said := backends.Message{ID: text, Turn: text, Time: start.AddDate(0, 0, i-9), Message: schema.UserMessage(text)}
					_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: []backends.Message{said}, Verbatim: true, Kind: kind})
					require.NoError(t, err)
				}
				require.ElementsMatch(t, order[:], found(t, b, p[2]), "%s: %s", kind, p[2])
			}
		}
	}
}

// Of memories that resemble each other a search under a filter finds those that List has.
func TestFiltersOfSearchAndListAgree(t *testing.T) {
	b := open(t)
	texts := []string{
		"The budget is 500 euros.", "Last year the budget was 500 euros.", "The budget is 500 euros a month.", "The budget of the team is 500 euros.",
		"The budget was never 500 euros.", "The budget is 500 euros, as I said.", "Is the budget 500 euros?", "The budget is not 500 euros.", "budget: 500 euros",
	}
	for i, text := range texts {
		said := backends.Message{ID: fmt.Sprint("m", i), Turn: fmt.Sprint("t", i), Time: start.AddDate(0, 0, i-20), Message: schema.UserMessage(text)}
		kind := []backends.Kind{backends.KindFact, backends.KindEpisode}[i%2]
		_, err := b.Add(ctx, &backends.AddRequest{
			Scope: backends.Scope{UserID: ann.UserID, SessionID: fmt.Sprint("s", i%4)}, Messages: []backends.Message{said}, Verbatim: true, Kind: kind,
			Metadata: map[string]any{"year": 2020 + i%3, "team": []string{"red", "blue"}[i/5], "tags": []any{"a", fmt.Sprint("t", i%2)}, "open": i%2 == 0},
		})
		require.NoError(t, err)
	}
	one := func(op, field string, value any) backends.Filter {
		return backends.Filter{Op: op, Field: field, Value: value}
	}
	red, early := backends.Eq("team", "red"), one("lt", "year", 2021)
	for _, f := range []backends.Filter{
		red, backends.Eq("team", "blue"), backends.Ne("team", "red"), backends.Not(red), one("in", "team", []string{"red", "blue"}), one("nin", "team", []string{"red"}),
		early, one("lte", "year", 2021), one("gt", "year", 2020), one("gte", "year", 2022), backends.Eq("year", 2021), backends.Ne("year", 2021),
		backends.Eq("open", true), backends.Ne("open", true), one("exists", "open", true), one("exists", "closed", false),
		one("contains", "tags", "a"), backends.Eq("tags", "t1"), one("icontains", "team", "RE"),
		backends.Eq("session_id", "s1"), backends.Ne("session_id", "s1"), backends.Eq("kind", "fact"), backends.Eq("kind", "episode"),
		one("gte", "observed", start.AddDate(0, 0, -16)), one("lt", "observed", start.AddDate(0, 0, -16).Format(time.RFC3339)),
		backends.And(red, early), backends.Or(early, backends.Eq("session_id", "s3")),
	} {
		listed, err := b.List(ctx, &backends.ListRequest{Scope: backends.Scope{UserID: ann.UserID}, Filter: &f})
		require.NoError(t, err)
		var want []string
		for _, m := range listed.Memories {
			want = append(want, m.Text)
		}
		require.NotEmpty(t, want, "%+v", f)
		require.ElementsMatch(t, want, search(t, b, backends.SearchRequest{
			Scope: backends.Scope{UserID: ann.UserID}, Query: "What is the budget in euros?", Filter: &f, TopK: 100,
		}), "%+v", f)
	}
}
