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
)

// marks are what a memory says of where it is shown.
type marks struct {
	standing, delicate bool
	about              string
}

func marksOf(m backends.Memory) marks { return marks{m.Standing, m.Delicate, m.WhenToUse} }

// heldFacts returns the facts that hold, by their text.
func heldFacts(t *testing.T, b *mem0.Backend, s backends.Scope) map[string]backends.Memory {
	t.Helper()
	list, err := b.List(t.Context(), &backends.ListRequest{Scope: s, Kinds: []backends.Kind{backends.KindFact}, Limit: 100})
	require.NoError(t, err)
	out := map[string]backends.Memory{}
	for _, m := range list.Memories {
		out[m.Text] = m
	}
	return out
}

func TestTheModelSaysWhereAFactIsShown(t *testing.T) {
	for name, tc := range map[string]struct {
		entry string
		want  marks
	}{
		"plain":           {`"text":"The user has a boat."`, marks{}},
		"all":             {`"text":"The user cannot eat nuts at all.","standing":true,"about":["food","recipe","restaurant"]`, marks{standing: true, about: "food, recipe, restaurant"}},
		"delicate":        {`"text":"The user has a bipolar disorder.","delicate":true`, marks{delicate: true}},
		"texts":           {`"text":"The user lives in Oslo.","standing":"true","delicate":"no","about":"home, city、address"`, marks{standing: true, about: "home, city, address"}},
		"other keys":      {`"text":"用户住在奥斯陆。","always":1,"keywords":["家","地址"]`, marks{standing: true, about: "家, 地址"}},
		"nothing of use":  {`"text":"The user has a cat.","standing":null,"delicate":{"x":1},"about":[1,null,{"y":2}," ","!!","` + strings.Repeat("w", 41) + `"]`, marks{}},
		"too many, twice": {`"text":"The user sails.","about":["a1","a1","a2","a3","a4","a5","a6","a7","a8","a9"]`, marks{about: "a1, a2, a3, a4, a5, a6, a7, a8"}},
		"secrets":         {`"text":"The user works at Acme.","about":["job","sk-abcdefghijklmnopqrstuvwx"]`, marks{about: "job"}},
		"rules help":      {`"text":"The user is allergic to latex."`, marks{standing: true}},
		"delicate wins":   {`"text":"The user does not drink alcohol.","delicate":true`, marks{delicate: true}},
	} {
		b := open(t, with(answering(operations(`{"op":"add",`+tc.entry+`}`))), factsOnly)
		resp := add(t, b, ann, user("I'm allergic to latex. My boat is called Aurora.")...)
		require.Len(t, resp.Items, 1, name)
		got := marksOf(resp.Items[0].Memory)
		if name == "secrets" {
			require.NotContains(t, got.about, "sk-abc")
			require.True(t, strings.HasPrefix(got.about, "job"))
			continue
		}
		require.Equal(t, tc.want, got, name)
		for _, m := range heldFacts(t, b, ann) {
			require.Equal(t, tc.want, marksOf(m), "%s: stored", name)
		}
	}
}

func TestAFactThatSupersedesHasItsOwnMarks(t *testing.T) {
	b := open(t, with(answering(
		operations(`{"op":"add","text":"The user lives in Beijing.","standing":true,"about":["home"]}`),
		operations(`{"op":"supersede","index":0,"text":"The user travels for a year.","about":["trip"]}`),
	)), factsOnly)
	add(t, b, ann, user("I live in Beijing.")...)
	add(t, b, ann, user("I travel for a year now.")...)
	require.Equal(t, marks{about: "trip"}, marksOf(heldFacts(t, b, ann)["The user travels for a year."]))
}

func TestWhatIsSaidAgainTakesMarksWhereItHadNone(t *testing.T) {
	again := operations(`{"op":"add","text":"The user lives in Oslo.","standing":true,"about":["home"]}`, `{"op":"add","text":"The user sails.","standing":true}`)
	b := open(t, with(answering(again, again)), factsOnly)
	_, err := b.Remember(t.Context(), ann, "The user lives in Oslo.")
	require.NoError(t, err)
	first := heldFacts(t, b, ann)["The user lives in Oslo."]
	add(t, b, ann, user("I live in Oslo.")...)
	got := heldFacts(t, b, ann)
	require.Equal(t, marks{standing: true, about: "home"}, marksOf(got["The user lives in Oslo."]))
	require.Equal(t, first.ID, got["The user lives in Oslo."].ID)

	off := false
	_, err = b.Update(t.Context(), &backends.UpdateRequest{Scope: ann, ID: first.ID, Standing: &off})
	require.NoError(t, err)
	resp := add(t, b, ann, user("I still live in Oslo.")...)
	require.Equal(t, marks{about: "home"}, marksOf(heldFacts(t, b, ann)["The user lives in Oslo."]), "what a person set stays")
	require.Equal(t, backends.OutcomeUnchanged, resp.Items[0].Outcome)
}

func TestRulesSayItWithoutAModel(t *testing.T) {
	b := open(t)
	said := map[string]bool{"Always answer in bullet points.": true, "我对花生过敏": true, "Am I allergic to peanuts?": false, "My friend is vegan.": false}
	for text := range said {
		add(t, b, ann, user(text)...)
	}
	add(t, b, ann, backends.Message{ID: "a", Message: schema.AssistantMessage("I don't eat meat.", nil)})
	for _, text := range []string{"The user does not eat pork.", "The user has a boat."} {
		_, err := b.Remember(t.Context(), ann, text)
		require.NoError(t, err)
	}
	said["The user does not eat pork."], said["The user has a boat."], said["I don't eat meat."] = true, false, false
	list, err := b.List(t.Context(), &backends.ListRequest{Scope: ann, Limit: 100})
	require.NoError(t, err)
	require.Len(t, list.Memories, len(said))
	for _, m := range list.Memories {
		require.Equal(t, said[m.Text], m.Standing, m.Text)
	}
}

// The words of a fact alone may mislead the rules.
func TestRulesTakeTheMessageOfAFactIntoAccount(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"The user is allergic to latex.","messages":[0]}`))), factsOnly)
	resp := add(t, b, ann, user("The nurse asked about latex.")...)
	require.Len(t, resp.Items, 1)
	require.False(t, resp.Items[0].Memory.Standing)
}

func TestTheTurnOfAStandingOrderIsStandingBesideItsFacts(t *testing.T) {
	b := open(t, with(answering(operations())))
	add(t, b, ann, user("Please call me Sam from now on.")...)
	list, err := b.List(t.Context(), &backends.ListRequest{Scope: ann, Limit: 10})
	require.NoError(t, err)
	require.Len(t, list.Memories, 1)
	require.True(t, list.Memories[0].Standing)
}

// Small models mark whatever was said. A remark of the assistant would stand in each note.
func TestARemarkOfTheAssistantNeverAlwaysApplies(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"If you feel unwell, let me know.","standing":true,"messages":[1]}`))), factsOnly)
	resp := add(t, b, ann, user("I ate at noon.")[0], backends.Message{ID: "a", Message: schema.AssistantMessage("If you feel unwell, let me know.", nil)})
	require.Len(t, resp.Items, 1)
	require.False(t, resp.Items[0].Memory.Standing)
}

func TestAnAgentsNotesHaveMarks(t *testing.T) {
	m := answering(operations())
	b := open(t, with(m))
	resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: backends.AuthorAgent, Messages: user("The user is allergic to penicillin.")})
	require.NoError(t, err)
	require.True(t, resp.Items[0].Memory.Standing, "the model named no entry for it")
}

func TestANewTextHasNoWordsOfTheFormer(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"The user lives in Reykjavik.","standing":true,"about":["Iceland"]}`))), factsOnly)
	id := add(t, b, ann, user("I live in Reykjavik.")...).Items[0].Memory.ID
	text := "The user lives in Bergen."
	m, err := b.Update(t.Context(), &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})
	require.NoError(t, err)
	require.Equal(t, marks{standing: true}, marksOf(*m))
}

func TestMarksAreListed(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"The user lives in Oslo.","standing":true}`, `{"op":"add","text":"The user has debts.","delicate":true}`))), factsOnly)
	add(t, b, ann, user("I live in Oslo and have debts.")...)
	for field, want := range map[string]string{"standing": "The user lives in Oslo.", "delicate": "The user has debts."} {
		f := backends.Eq(field, true)
		list, err := b.List(t.Context(), &backends.ListRequest{Scope: ann, Filter: &f, Limit: 10})
		require.NoError(t, err)
		require.Len(t, list.Memories, 1)
		require.Equal(t, want, list.Memories[0].Text)
	}
}
