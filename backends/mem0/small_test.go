// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

func small(c *mem0.Config) { c.Small = true }

func talk(lines ...string) (out []backends.Message) {
	for i, line := range lines {
		m := schema.UserMessage(line)
		if i%2 == 1 {
			m = schema.AssistantMessage(line, nil)
		}
		out = append(out, backends.Message{ID: string(rune('a' + i)), Message: m})
	}
	return out
}

// A small model copies what it is shown: nothing else than what users state.
func TestASmallModelIsShownWhatUsersState(t *testing.T) {
	m := answering(`{"n":0,"fact":"The user moved to Vienna."}`)
	b := open(t, with(m), small)
	_, err := b.Remember(ctx, ann, "The user lives in Graz.")
	require.NoError(t, err)
	resp := add(t, b, ann, talk("Hi there! I moved to Vienna.\nIs it nice?", "It is. Do you like opera?", "Yes, a lot", "Great!", "I wonder how old the opera is.", "157 years.")...)
	require.Equal(t, "0 I moved to Vienna.\nassistant: It is. Do you like opera?\n2 Yes, a lot\nAnswer:", m.Calls()[0][1].Content)
	for _, rules := range []string{m.Calls()[0][0].Content, chineseRules(t)} {
		require.LessOrEqual(t, text.Tokens(rules), 280, "250 by a model's own count")
	}
	require.Equal(t, []string{"a"}, outcomeOf(resp, backends.OutcomeAdded)[0].Memory.Origin.MessageIDs)
	require.ElementsMatch(t, []string{"The user lives in Graz.", "The user moved to Vienna."}, facts(t, b, ann))

	add(t, b, ann, user("I wonder how tall the Eiffel Tower is.", "Thanks, that was helpful. I have to run now!")...)
	require.Len(t, m.Calls(), 1, "nothing is stated")
}

func chineseRules(t *testing.T) string {
	m := answering("[]")
	add(t, open(t, with(m), small), ann, user("我搬到了杭州。")...)
	return m.Calls()[0][0].Content
}

func TestWhatASmallModelInventsIsRefused(t *testing.T) {
	b := open(t, with(answering(`{"n":1,"fact":"The user moved to Vienna."}`)), small)
	resp := add(t, b, ann, talk("I moved to Vienna.", "Nice!")...)
	require.Equal(t, []string{"a"}, outcomeOf(resp, backends.OutcomeAdded)[0].Memory.Origin.MessageIDs, "a wrong number")
	for said, c := range map[string]struct{ kept, refused string }{
		"I moved to Vienna last month, it's a lot bigger.": {"The user moved to Vienna last month.", "The user thinks Vienna is nicer than Rome."},
		"We adopted a beagle called Biscuit.":              {"The user adopted a beagle named Biscuit.", "The user moved to Rome in May."},
		"我上个月搬到杭州了。":                                       {"用户上个月搬到了杭州。", "用户有一只狗叫豆豆。"},
		"我妹妹在学德语。":                                         {"The user's sister studies German.", "杭州有多高？"},
	} {
		b := open(t, with(answering(`{"n":0,"fact":"`+c.kept+`"}`+"\n"+`{"n":0,"fact":"`+c.refused+`"}`)), small)
		resp := add(t, b, ann, user(said)...)
		require.Equal(t, []string{c.kept}, facts(t, b, ann), said)
		require.Equal(t, c.refused, outcomeOf(resp, backends.OutcomeSkipped)[0].Memory.Text)
	}
}

// What a question or a greeting teaches is refused after the call, too, whatever the model.
func TestWhatNobodyStatesIsRefused(t *testing.T) {
	answer := operations(`{"op":"add","text":"The Eiffel Tower is 330 metres tall.","messages":[0]}`, `{"op":"add","text":"The user likes tea.","messages":[1]}`)
	said := user("How tall is the Eiffel Tower?", "I like tea.")
	b := open(t, with(answering(answer)))
	resp := add(t, b, ann, said...)
	require.Equal(t, []string{"The user likes tea."}, facts(t, b, ann))
	require.ErrorContains(t, outcomeOf(resp, backends.OutcomeSkipped)[0].Err, "nobody states it")

	b = open(t, with(answering(answer)), func(c *mem0.Config) { c.Instructions = "Look for what users ask." })
	add(t, b, ann, said...)
	require.Len(t, facts(t, b, ann), 2, "who looks for questions gets them")

	b = open(t, with(answering(operations(`{"op":"add","text":"The user is allergic to nuts.","messages":[1]}`))))
	add(t, b, ann, talk("What shall I cook?", "Are you allergic to nuts?", "Yes.")[1:]...)
	require.Len(t, facts(t, b, ann), 1, "an answer states something")
}

// A small model is never asked what its facts do to those that are known.
func TestASmallModelOnlyAdds(t *testing.T) {
	m := answering(`{"n":0,"fact":"The user lives in Graz."}`, `{"n":0,"op":"supersede","index":0,"fact":"The user moved to Vienna."}`)
	b := open(t, with(m), small)
	add(t, b, ann, user("I live in Graz.")...)
	add(t, b, ann, user("I moved to Vienna.")...)
	require.ElementsMatch(t, []string{"The user lives in Graz.", "The user moved to Vienna."}, facts(t, b, ann))
	require.Len(t, m.Calls(), 2)
}

// Small models say of an order that it is what the user does: it is kept in the user's words.
func TestAnOrderIsNotReworded(t *testing.T) {
	m := answering(`{"n":0,"fact":"The user has a ThinkPad."}`)
	b := open(t, with(m), small, factsOnly)
	add(t, b, ann, user("Please always answer in short sentences.")...)
	require.Empty(t, m.Calls())
	add(t, b, ann, user("I have a ThinkPad. From now on use metric units.")...)
	require.Equal(t, "0 I have a ThinkPad.\nAnswer:", m.Calls()[0][1].Content)
	require.ElementsMatch(t, []string{"Please always answer in short sentences.", "The user has a ThinkPad.", "From now on use metric units."}, facts(t, b, ann))
	page, err := b.List(ctx, &backends.ListRequest{Scope: ann})
	require.NoError(t, err)
	for _, m := range page.Memories {
		require.Equal(t, m.Text != "The user has a ThinkPad.", m.Standing, m.Text)
	}
}

// What always applies stands apart from what may change: else each note would begin with the old
// home. Where the model does not tell them apart, the words stay whole.
func TestALimitStandsApartFromWhatMayChange(t *testing.T) {
	for said, c := range map[string]struct{ answers, standing, others []string }{
		"I live in Graz, and I am allergic to peanuts.": {
			[]string{"The user lives in Graz.", "The user is allergic to peanuts."}, []string{"The user is allergic to peanuts."}, []string{"The user lives in Graz."}},
		"我住在杭州，我对花生过敏。":                                     {[]string{"用户住在杭州。", "用户的对花生过敏。"}, []string{"用户的对花生过敏。"}, []string{"用户住在杭州。"}},
		"I live in Hangzhou, and I am allergic to peanuts.": {[]string{"The user lives in Hangzhou."}, []string{"I live in Hangzhou, and I am allergic to peanuts."}, []string{"The user lives in Hangzhou."}},
		"我住在苏州，我对花生过敏。":                                     {[]string{"用户住在苏州，我对花生过敏。"}, []string{"我住在苏州，我对花生过敏。"}, nil},
		"I live in Graz, and I am allergic to peanuts. I'm allergic to shellfish.": {
			[]string{"The user lives in Graz.", "The user is allergic to peanuts."}, []string{"I live in Graz, and I am allergic to peanuts.", "I'm allergic to shellfish."}, nil},
		"Please answer in short sentences, and never use emojis.": {
			[]string{"The user never uses emojis."}, []string{"Please answer in short sentences, and never use emojis."}, nil},
	} {
		var lines []string
		for _, fact := range c.answers {
			lines = append(lines, `{"n":0,"fact":"`+fact+`"}`)
		}
		b := open(t, with(answering(strings.Join(lines, "\n"))), small, factsOnly)
		add(t, b, ann, user(said)...)
		page, err := b.List(ctx, &backends.ListRequest{Scope: ann})
		require.NoError(t, err)
		var standing, others []string
		for _, m := range page.Memories {
			if m.Standing {
				standing = append(standing, m.Text)
			} else {
				others = append(others, m.Text)
			}
		}
		require.ElementsMatch(t, c.standing, standing, said)
		require.ElementsMatch(t, c.others, others, said)
	}
}

// An agent's notes are stored as they are: a small model would only copy them.
func TestANoteAsksNoSmallModel(t *testing.T) {
	m := testkit.New(testkit.Text("?"))
	b := open(t, with(m), small)
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Author: backends.AuthorAgent, Messages: user("Ann likes tea.")})
	require.NoError(t, err)
	require.Equal(t, []string{"Ann likes tea."}, facts(t, b, ann))
	require.Empty(t, m.Calls())
}

// A small model cannot say what is to be forgotten.
func TestAWishToASmallModelIsReported(t *testing.T) {
	b := open(t, with(answering(`{"n":0,"fact":"The user wants the job forgotten."}`)), small)
	resp := add(t, b, ann, user("Forget what I said about my job.")...)
	require.Empty(t, list(t, b, ann))
	require.ErrorContains(t, outcomeOf(resp, backends.OutcomeSkipped)[0].Err, "no model says what they mean")
}
