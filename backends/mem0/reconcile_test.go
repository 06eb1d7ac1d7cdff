// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/internal/testkit"
)

func TestD2_SupersedeChain(t *testing.T) {
	for _, tc := range []struct{ name, first, second, was, is, query string }{
		{"english", "I live in Beijing", "I moved to Shanghai", "The user lives in Beijing.", "The user lives in Shanghai.", "Where does the user live?"},
		{"chinese", "我住在北京", "我搬到上海了", "用户住在北京。", "用户住在上海。", "用户住在哪里？"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := open(t, with(resident(t)))
			first := add(t, b, ann, user(tc.first)...)
			require.Equal(t, backends.OutcomeAdded, first.Items[0].Outcome)

			later := backends.Scope{UserID: "ann", SessionID: "s2"}
			second := add(t, b, later, user(tc.second)...)
			item := second.Items[0]
			require.Equal(t, backends.OutcomeSuperseded, item.Outcome)
			require.Equal(t, tc.is, item.Memory.Text)
			require.Equal(t, tc.was, item.Previous.Text)
			require.Equal(t, item.Memory.ID, item.Previous.SupersededBy)

			require.Equal(t, []string{tc.is}, facts(t, b, ann))
			require.Equal(t, tc.is, search(t, b, backends.SearchRequest{Scope: ann, Query: tc.query})[0])

			for _, id := range []string{first.Items[0].Memory.ID, item.Memory.ID} {
				events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
				require.NoError(t, err)
				require.Equal(t, tc.was, events[0].New)
				require.Equal(t, backends.EventAdded, events[0].Type)
				require.Contains(t, []backends.EventType{events[1].Type, events[2].Type}, backends.EventSuperseded)
			}
			stored, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: item.Previous.ID})
			require.NoError(t, err)
			require.Equal(t, *item.Previous, *stored, "what the response says of the old memory is what is stored")
			now, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: item.Memory.ID})
			require.NoError(t, err)
			require.Equal(t, item.Memory, *now)
		})
	}
}

func TestC1_03_OneModelCall(t *testing.T) {
	m := thinking(t, func(s shown) string {
		var ops []string
		for _, said := range s.new {
			ops = append(ops, fmt.Sprintf(`{"op":"add","text":%q,"messages":[%d]}`, "Fact: "+said.Text, said.N))
		}
		return operations(ops...)
	})
	b := open(t, with(m), factsOnly)
	var said []string
	for i := range 25 {
		said = append(said, fmt.Sprintf("thing number %d is blue", i))
	}
	first := add(t, b, ann, user(said...)...)
	require.Len(t, m.Calls(), 1, "one call for 25 messages")
	require.Equal(t, 1, first.Usage.ModelCalls)
	require.Len(t, first.Items, 25)
	require.Equal(t, []string{"m7"}, first.Items[7].Memory.Origin.MessageIDs)
	require.Equal(t, "Fact: thing number 0 is blue", facts(t, b, ann)[0], "in the order in which they were said")

	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("more about number 3"), Context: user(said...)})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 2)
	s := read(t, m.Calls()[1])
	require.Len(t, s.memories, 10, "the ten nearest of 25 facts")
	require.GreaterOrEqual(t, s.indexOf("number 3 "), 0)
	require.Equal(t, 0, s.memories[0].Index)
	require.Equal(t, 9, s.memories[9].Index)
	require.Len(t, s.earlier, 10)
	require.Equal(t, said[15:], []string{s.earlier[0].Text, s.earlier[1].Text, s.earlier[2].Text, s.earlier[3].Text, s.earlier[4].Text,
		s.earlier[5].Text, s.earlier[6].Text, s.earlier[7].Text, s.earlier[8].Text, s.earlier[9].Text}, "the last ten")
}

func TestC1_05_AttributionAndDates(t *testing.T) {
	m := thinking(t, func(s shown) string {
		require.Equal(t, "2026-03-02 09:00 Mon", s.new[0].Time)
		require.Equal(t, "Ann", s.new[0].Name)
		require.Equal(t, "assistant", s.new[1].Role)
		return operations(
			`{"op":"add","text":"Ann ran a marathon on 2026-03-01.","said_by":"user","since":"2026-03-01","messages":[0]}`,
			`{"op":"add","text":"The assistant recommended the Oslo marathon.","said_by":"assistant","messages":["1"]}`,
			`{"op":"add","text":"Ann likes running.","said_by":"user"}`,
		)
	})
	b := open(t, with(m), factsOnly)
	said := schema.UserMessage("Yesterday I ran a marathon")
	said.Name = "Ann"
	later := start.Add(time.Minute)
	resp := add(t, b, ann, backends.Message{ID: "u", Turn: "t1", Time: start, Message: said},
		backends.Message{ID: "a", Turn: "t1", Time: later, Message: schema.AssistantMessage("Try Oslo next", nil)})
	ran, recommended, likes := resp.Items[0].Memory, resp.Items[1].Memory, resp.Items[2].Memory
	require.Equal(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), ran.Valid)
	require.Equal(t, start, ran.Observed)
	require.Equal(t, backends.Origin{Session: "s1", Turn: "t1", MessageIDs: []string{"u"}, Role: "user", Speaker: "Ann", Author: "Scripted"}, ran.Origin)
	require.Equal(t, []string{"a"}, recommended.Origin.MessageIDs)
	require.Equal(t, "assistant", recommended.Origin.Role)
	require.Equal(t, later, recommended.Observed)
	require.Equal(t, []string{"u"}, likes.Origin.MessageIDs, "no message named: those of the speaker")
}

func TestC1_05_AgentFramingAndInstructions(t *testing.T) {
	m := thinking(t, func(shown) string { return operations() })
	b := open(t, with(m), func(c *mem0.Config) { c.Instructions = "Mind {food}." })
	framing := "assistant's point of view"
	system := func(r *backends.AddRequest) string {
		r.Messages = user("hello")
		_, err := b.Add(ctx, r)
		require.NoError(t, err)
		calls := m.Calls()
		return calls[len(calls)-1][0].Content
	}
	require.NotContains(t, system(&backends.AddRequest{Scope: ann}), framing)
	require.NotContains(t, system(&backends.AddRequest{Scope: backends.Scope{UserID: "ann", AgentID: "helper"}}), framing)
	require.Contains(t, system(&backends.AddRequest{Scope: backends.Scope{AgentID: "helper"}}), framing)
	require.Contains(t, system(&backends.AddRequest{Scope: ann}), "Mind {food}.")
	own := system(&backends.AddRequest{Scope: ann, Instructions: "Mind travel."})
	require.Contains(t, own, "Mind travel.")
	require.NotContains(t, own, "food")
}

func TestC1_06_InventedIndexesTouchNothing(t *testing.T) {
	b := open(t, with(testkit.New(
		testkit.Text(operations(`{"op":"add","text":"The user has a cat."}`)),
		testkit.Text(operations(`{"op":"supersede","index":9,"text":"The user has a dog."}`, `{"op":"retract","index":-1}`,
			`{"op":"retract","index":"3b1f"}`, `{"op":"retract","index":0.5}`, `{"op":"supersede","index":99999999999999999999,"text":"The user has a bird."}`)),
	)), factsOnly)
	add(t, b, ann, user("cat")...)
	resp := add(t, b, ann, user("dog")...)
	require.ElementsMatch(t, []string{"The user has a cat.", "The user has a dog.", "The user has a bird."}, facts(t, b, ann))
	require.Equal(t, 3, len(slices.DeleteFunc(slices.Clone(resp.Items), func(i backends.Item) bool { return i.Outcome != backends.OutcomeFailed })))
}

func TestC1_06_ExactDuplicates(t *testing.T) {
	b := open(t, with(answering(operations(
		`{"op":"add","text":"The user likes tea."}`, `{"op":"add","text":" The user  likes tea"}`, `{"op":"add","text":"The user likes tea.","said_by":"assistant"}`))), factsOnly)
	messages := append(user("I like tea"), backends.Message{ID: "a", Message: schema.AssistantMessage("You like tea", nil)})
	first := add(t, b, ann, messages...)
	require.Equal(t, []backends.Outcome{"added", "unchanged", "unchanged"}, outcomes(first, backends.KindFact))
	require.Equal(t, first.Items[0].Memory, first.Items[1].Memory)
	require.Equal(t, first.Items[0].Memory, first.Items[2].Memory, "a fact is one fact, whoever states it")
	again := add(t, b, ann, messages...)
	require.Equal(t, []backends.Outcome{"unchanged", "unchanged", "unchanged"}, outcomes(again, backends.KindFact))
	require.Equal(t, first.Items[0].Memory, again.Items[0].Memory)
}

func TestD2_EdgesOfSuperseding(t *testing.T) {
	tea, coffee := "The user likes tea.", "The user likes coffee."
	op := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	for _, tc := range []struct {
		name   string
		answer func(s shown) string
		facts  []string
		want   []backends.Outcome
	}{
		{"by the same text", func(s shown) string { return op(`{"op":"supersede","index":%d,"text":%q}`, s.indexOf(tea), tea) },
			[]string{tea, coffee}, []backends.Outcome{"unchanged"}},
		{"by what is known already", func(s shown) string { return op(`{"op":"supersede","index":%d,"text":%q}`, s.indexOf(tea), coffee) },
			[]string{coffee}, []backends.Outcome{"retracted"}},
		{"twice the same memory", func(s shown) string {
			i := s.indexOf(tea)
			return op(`{"op":"supersede","index":%d,"text":"A"},{"op":"supersede","index":%d,"text":"B"}`, i, i)
		}, []string{coffee, "A", "B"}, []backends.Outcome{"superseded", "added"}},
		{"replaced and retracted", func(s shown) string {
			i := s.indexOf(tea)
			return op(`{"op":"retract","index":%d},{"op":"supersede","index":%d,"text":"A"}`, i, i)
		}, []string{coffee, "A"}, []backends.Outcome{"superseded"}},
		{"two by one", func(s shown) string {
			return op(`{"op":"supersede","index":%d,"text":"A"},{"op":"supersede","index":%d,"text":"A"}`, s.indexOf(tea), s.indexOf(coffee))
		}, []string{"A"}, []backends.Outcome{"superseded", "retracted"}},
		{"swapped", func(s shown) string {
			return op(`{"op":"supersede","index":%d,"text":%q},{"op":"supersede","index":%d,"text":%q}`, s.indexOf(tea), coffee, s.indexOf(coffee), tea)
		}, []string{tea, coffee}, []backends.Outcome{"unchanged", "unchanged"}},
		{"retracted and said", func(s shown) string {
			return op(`{"op":"retract","index":%d},{"op":"add","text":%q}`, s.indexOf(tea), tea)
		}, []string{tea, coffee}, []backends.Outcome{"unchanged"}},
		{"replaced and said", func(s shown) string {
			return op(`{"op":"supersede","index":%d,"text":"A"},{"op":"add","text":%q}`, s.indexOf(tea), tea)
		}, []string{tea, coffee, "A"}, []backends.Outcome{"added", "unchanged"}},
		{"replaced by what is known and said", func(s shown) string {
			return op(`{"op":"supersede","index":%d,"text":%q},{"op":"add","text":%q}`, s.indexOf(tea), coffee, tea)
		}, []string{tea, coffee}, []backends.Outcome{"unchanged", "unchanged"}},
		{"retracted", func(s shown) string { return op(`{"op":"retract","index":%d,"since":"2026-02-01"}`, s.indexOf(tea)) },
			[]string{coffee}, []backends.Outcome{"retracted"}},
		{"retracted twice", func(s shown) string {
			return op(`{"op":"retract","index":%[1]d},{"op":"retract","index":%[1]d}`, s.indexOf(tea))
		}, []string{coffee}, []backends.Outcome{"retracted"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := thinking(t, func(s shown) string {
				if len(s.memories) == 0 {
					return operations(op(`{"op":"add","text":%q},{"op":"add","text":%q}`, tea, coffee))
				}
				return operations(tc.answer(s))
			})
			b := open(t, with(m), factsOnly)
			add(t, b, ann, user("drinks")...)
			resp := add(t, b, ann, user("news")...)
			require.Equal(t, tc.want, outcomes(resp, backends.KindFact))
			require.Equal(t, tc.facts, facts(t, b, ann))
			for _, i := range resp.Items {
				stored, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: i.Memory.ID})
				require.NoError(t, err)
				require.Equal(t, i.Memory.Active(), stored.Active())
				require.Equal(t, i.Memory.Invalidated, stored.Invalidated)
			}
		})
	}
}

func TestD2_MovingBack(t *testing.T) {
	b := open(t, with(resident(t)), factsOnly)
	var ids []string
	for _, place := range []string{"Beijing", "Shanghai", "Beijing", "Shanghai", "Beijing"} {
		resp := add(t, b, ann, user("I live in "+place+" now")...)
		require.Len(t, resp.Items, 1)
		require.Equal(t, []string{"The user lives in " + place + "."}, facts(t, b, ann))
		ids = append(ids, resp.Items[0].Memory.ID)
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), 5, "each time is a memory of its own")
	for _, id := range ids {
		events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		require.Len(t, events, 9, "five additions and four replacements, from wherever it is asked")
		require.True(t, slices.IsSortedFunc(events, func(a, b backends.Event) int { return int(a.Version - b.Version) }))
	}
}

func TestD4_AsOf(t *testing.T) {
	b := open(t, with(resident(t)))
	add(t, b, ann, backends.Message{ID: "1", Time: start.AddDate(0, -6, 0), Message: schema.UserMessage("I live in Beijing")})
	add(t, b, ann, backends.Message{ID: "2", Time: start, Message: schema.UserMessage("I moved to Shanghai")})
	fact := []backends.Kind{backends.KindFact}
	q := backends.SearchRequest{Scope: ann, Query: "lives in", Kinds: fact}
	require.Equal(t, []string{"The user lives in Shanghai."}, search(t, b, q))
	q.AsOf = start.AddDate(0, -1, 0)
	require.Equal(t, []string{"The user lives in Beijing."}, search(t, b, q))
	q.AsOf, q.IncludeSuperseded = time.Time{}, true
	require.Len(t, search(t, b, q), 2)
	since := backends.Gte("observed", "2026-03-01")
	q.Filter = &since
	require.Equal(t, []string{"The user lives in Shanghai."}, search(t, b, q))
}

func TestD5_LanguageIsKept(t *testing.T) {
	m := thinking(t, func(shown) string { return operations(`{"op":"add","text":"用户对花生过敏。"}`) })
	b := open(t, with(m), factsOnly)
	add(t, b, ann, user("我对花生过敏")...)
	add(t, b, backends.Scope{UserID: "bob"}, user("I am allergic to peanuts")...)
	require.Contains(t, m.Calls()[0][0].Content, "不要翻译")
	require.Contains(t, m.Calls()[1][0].Content, "Do not translate")
	require.Equal(t, []string{"用户对花生过敏。"}, search(t, b, backends.SearchRequest{Scope: ann, Query: "花生"}))
}
