// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/internal/test/testkit"
)

// known remembers a fact by hand, and marks it.
func known(t *testing.T, b *mem0.Backend, s backends.Scope, text string, standing, delicate bool) {
	t.Helper()
	m := remember(t, b, s, text)
	_, err := b.Update(ctx, &backends.UpdateRequest{Scope: s, ID: m.ID, Standing: &standing, Delicate: &delicate})
	require.NoError(t, err)
}

func brief(t *testing.T, b *mem0.Backend, q backends.SearchRequest) *backends.SearchResponse {
	t.Helper()
	if q.Scope.IsZero() {
		q.Scope = ann
	}
	resp, err := b.Search(ctx, &q)
	require.NoError(t, err)
	return resp
}

func TestABriefHasWhatAlwaysAppliesAndASmallMemoryWhole(t *testing.T) {
	b := open(t)
	known(t, b, ann, "The user is allergic to peanuts.", true, false)
	known(t, b, ann, "The user's dog is called Rex.", false, false)
	known(t, b, ann, "The user has debts.", true, true)
	add(t, b, ann, conversation("I play the cello", "Lovely, the cello is a fine instrument.", "What is a viola?", "A bigger violin.")...)

	resp := brief(t, b, backends.SearchRequest{Query: "What is my dog called?", Brief: 300})
	require.Equal(t, []string{"The user is allergic to peanuts."}, testkit.Texts(resp.Standing))
	require.True(t, resp.Whole)
	require.Equal(t, "The user's dog is called Rex.", resp.Hits[0].Text)
	require.Subset(t, testkit.Texts(resp.Hits), []string{"The user is allergic to peanuts.", "I play the cello"})
	require.NotContains(t, testkit.Texts(resp.Hits), "The user has debts.", "unless it answers")
	require.NotContains(t, testkit.Texts(resp.Hits), "What is a viola?")
	require.Zero(t, resp.Hits[len(resp.Hits)-1].Score)
	require.Contains(t, testkit.Texts(brief(t, b, backends.SearchRequest{Query: "my debts", Brief: 300}).Hits), "The user has debts.")

	resp = brief(t, b, backends.SearchRequest{Query: "dog", Brief: 10})
	require.False(t, resp.Whole)
	require.Equal(t, []string{"The user's dog is called Rex."}, testkit.Texts(resp.Hits))
	require.Len(t, resp.Standing, 1)
	resp = brief(t, b, backends.SearchRequest{Query: "dog", Brief: -1})
	require.False(t, resp.Whole)
	require.Len(t, resp.Standing, 1)
	require.Empty(t, brief(t, b, backends.SearchRequest{Query: "dog"}).Standing, "it is asked for")

	other := backends.Eq("agent_id", "other")
	resp = brief(t, b, backends.SearchRequest{Query: "dog", Brief: 300, Filter: &other})
	require.Empty(t, resp.Standing, "filters hold")
	require.Empty(t, resp.Hits)
	resp = brief(t, b, backends.SearchRequest{Scope: backends.Scope{UserID: "bob"}, Query: "dog", Brief: 300})
	require.Empty(t, resp.Standing)
	require.Empty(t, resp.Hits, "and no other person's")
}

// A note that has no room for all of them leaves the oldest out.
func TestABriefBeginsWithTheNewest(t *testing.T) {
	b := open(t)
	remember(t, b, ann, "The user sails")
	add(t, b, ann, conversation("I play the cello", "")...)
	remember(t, b, ann, "The user knits")
	resp := brief(t, b, backends.SearchRequest{Query: "tea", Brief: 300})
	require.Equal(t, []string{"The user knits", "I play the cello", "The user sails"}, testkit.Texts(resp.Hits))
}

// What changed, was retracted or deleted is in no brief, nor the words that taught it.
func TestABriefHasWhatHolds(t *testing.T) {
	b := open(t, with(resident(t)))
	add(t, b, ann, conversation("I live in Beijing", "")...)
	add(t, b, ann, backends.Message{ID: "x", Turn: "tx", Time: start, Message: conversation("I moved to Shanghai")[0].Message})
	resp := brief(t, b, backends.SearchRequest{Query: "tea", Brief: 300})
	require.True(t, resp.Whole)
	require.Equal(t, []string{"The user lives in Shanghai."}, testkit.Texts(resp.Hits))
	require.Equal(t, "The user lives in Beijing.", resp.Hits[0].Before.Text)
	require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: resp.Hits[0].ID}))
	require.Empty(t, brief(t, b, backends.SearchRequest{Query: "tea", Brief: 300}).Hits)
}

func TestWhatIsNotLearntYetIsInABrief(t *testing.T) {
	b := open(t)
	said := []backends.Memory{
		{Kind: backends.KindEpisode, Text: "I'm allergic to peanuts.", Observed: start, Origin: backends.Origin{Role: "user"}},
		{Kind: backends.KindEpisode, Text: "Good to know.", Observed: start, Origin: backends.Origin{Role: "assistant"}},
		{Kind: backends.KindEpisode, Text: "What is a viola?", Observed: start, Origin: backends.Origin{Role: "user"}},
	}
	resp := brief(t, b, backends.SearchRequest{Query: "tea", Brief: 300, Beside: said})
	require.Equal(t, []string{"I'm allergic to peanuts."}, testkit.Texts(resp.Standing))
	require.Equal(t, []string{"I'm allergic to peanuts."}, testkit.Texts(resp.Hits))
}

func TestABigMemoryIsNotWhole(t *testing.T) {
	b := open(t)
	for i := range 60 {
		remember(t, b, ann, fmt.Sprint("The user knows song ", i, strings.Repeat(" la", i%5)))
	}
	resp := brief(t, b, backends.SearchRequest{Query: "song 7", Brief: 300})
	require.False(t, resp.Whole)
	require.Len(t, resp.Hits, 5, "the best alone")
	require.Positive(t, resp.Hits[4].Score)
}
