// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
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
