// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/test/testkit"
)

// A search with a Brief has what always applies, whatever it asks, and all that is known of a
// person where that is little.
func TestABriefOfPersonalMemory(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Model = testkit.New(testkit.Call("1", "personal_statements", `{"statements":[
			{"op":"add","text":"The user is allergic to nuts.","keywords":"allergy","score":3,"messages":[0],"standing":true},
			{"op":"add","text":"The user has a cat named Shadow.","keywords":"cat","score":3,"messages":[0]},
			{"op":"add","text":"The user has debts.","keywords":"debts","score":3,"messages":[0],"standing":true,"delicate":true}]}`))
	})
	s := backends.Scope{UserID: "ann", Workspace: "shop"}
	ask := func(q backends.SearchRequest) *backends.SearchResponse {
		t.Helper()
		q.Scope = s
		resp, err := b.Search(t.Context(), &q)
		require.NoError(t, err)
		return resp
	}
	require.NoError(t, only(b.Add(t.Context(), saying("I am allergic to nuts, my cat is Shadow, and I have debts."))))
	require.NoError(t, only(b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: s, Candidates: []backends.Memory{{WhenToUse: "at a till", Text: "Count the cat."}}})))
	unlearnt := backends.Memory{Text: "My sister lives in Rome.", Observed: time.Now(), Origin: backends.Origin{Role: string(schema.User)}}

	resp := ask(backends.SearchRequest{Query: "the weather tomorrow", Brief: 300, Beside: []backends.Memory{unlearnt}})
	assert.Equal(t, []string{"The user is allergic to nuts."}, testkit.Texts(resp.Standing))
	assert.True(t, resp.Whole)
	assert.ElementsMatch(t, []string{"The user is allergic to nuts.", "The user has a cat named Shadow.", "My sister lives in Rome."}, testkit.Texts(resp.Hits))
	resp = ask(backends.SearchRequest{Query: "cat named Shadow", Brief: 300})
	assert.Equal(t, "The user has a cat named Shadow.", resp.Hits[0].Text)
	assert.Len(t, resp.Hits, 3, "each once, with the lesson about a cat")

	for name, q := range map[string]backends.SearchRequest{
		"too little room": {Query: "the weather tomorrow", Brief: 5}, "standing alone": {Query: "the weather tomorrow", Brief: -1},
	} {
		resp = ask(q)
		assert.Len(t, resp.Standing, 1, name)
		assert.False(t, resp.Whole, name)
		assert.Empty(t, resp.Hits, name)
	}
	for name, q := range map[string]backends.SearchRequest{
		"no brief": {}, "the past": {Brief: 300, AsOf: time.Now()}, "lessons alone": {Brief: 300, Kinds: []backends.Kind{backends.KindTask}},
	} {
		q.Query = "the weather tomorrow"
		assert.Empty(t, ask(q).Standing, name)
	}
}

// A lesson has few words of a long task: experience has a scale of its own, so that thresholds hold
// whatever the length.
func TestLongTasksFindTheirLessonsAboveAThreshold(t *testing.T) {
	testkit.SlowUnderRace(t)
	b, _ := newBackend(t, open(t), nil)
	s := backends.Scope{Workspace: "shop"}
	var lessons []backends.Memory
	for i := range 300 {
		lessons = append(lessons, backends.Memory{WhenToUse: fmt.Sprintf("When order %d waits for part %d", i, i%17), Text: fmt.Sprintf("Ask supplier %d, and note the day.", i%29)})
	}
	lessons = append(lessons, backends.Memory{WhenToUse: "When a dinner bill is split between roommates", Text: "Read the roommates from the contacts before any request of money."})
	require.NoError(t, only(b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: s, Candidates: lessons})))
	short := "Split the dinner bill between my roommates, who are in the contacts, by requests of money."
	long := short
	for i := range 12 {
		long += fmt.Sprintf(" Then look at chapter %d, whose title begins with letter %c, quietly.", i, 'a'+i%26)
	}
	for query, least := range map[string]float64{short: 0.1, long: 0.1} {
		resp, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: query, Threshold: least})
		require.NoError(t, err)
		require.NotEmpty(t, resp.Hits, query)
		assert.Contains(t, resp.Hits[0].Text, "roommates")
		assert.GreaterOrEqual(t, resp.Hits[0].Score, least)
		raw, err := b.Task().Retrieve(t.Context(), &task.RetrieveRequest{Scope: s, Query: query})
		require.NoError(t, err)
		assert.Equal(t, query == short, raw.Hits[0].Score >= least, "a retrieval says how similar it is")
	}
}
