// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/internal/testkit"
)

func TestR18ByNamesWithCommas(t *testing.T) {
	r := newRig(t, setup{model: writer(t)})
	r.record(t, append(calls("search", 0, 10), calls("fetch", 0, 3)...)...)
	r.force(t, "search")
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "fetch, search，nobody ,fetch,", WithCalls: true})
	require.NoError(t, err)
	require.Len(t, resp.Tools, 2)
	assert.Equal(t, []string{"nobody"}, resp.Unknown)
	fetch, search := resp.Tools[0], resp.Tools[1]
	assert.Equal(t, "fetch", fetch.Name)
	assert.Empty(t, fetch.Guideline, "recorded, and never summarised")
	assert.Nil(t, fetch.Memory)
	assert.Equal(t, 3, fetch.Statistics.Calls)
	assert.Contains(t, fetch.Text, "- Success rate: 100%")
	assert.Len(t, fetch.Calls, 3)
	assert.EqualValues(t, 3, fetch.New)
	assert.Equal(t, "guideline 1 of search", search.Guideline)
	assert.Zero(t, search.New)
	assert.Equal(t, "# fetch\n"+fetch.Text+"\n\n---\n\n# search\n"+search.Text, resp.Answer)
	resp, err = r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "search"})
	require.NoError(t, err)
	assert.Nil(t, resp.Tools[0].Calls, "only if asked for")
}

func TestR18NoneKnownIsNotFound(t *testing.T) {
	r := newRig(t, setup{})
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "a,b"})
	require.ErrorIs(t, err, backends.ErrNotFound)
	assert.Equal(t, []string{"a", "b"}, resp.Unknown)
}

func TestR18StatisticsAreThoseOfNow(t *testing.T) {
	r := newRig(t, setup{model: writer(t)})
	r.record(t, calls("search", 0, 4)...)
	r.force(t, "search")
	for n := range 4 {
		c := call("search", 10+n)
		c.Error = "timeout"
		r.record(t, c)
	}
	got := r.tool(t, "search")
	assert.Equal(t, 0.5, got.Statistics.SuccessRate)
	assert.EqualValues(t, 4, got.New)
	assert.Contains(t, got.Text, "guideline 1 of search\n\n## Statistics")
	assert.Contains(t, got.Text, "- Success rate: 50%")
	assert.Contains(t, got.Memory.Text, "- Success rate: 100%", "as stored")
}

func TestTheToolForATask(t *testing.T) {
	m := answering(func(_, user string) (string, error) {
		return map[string]string{
			`"weather"`: `{"guideline":"Tells the weather forecast of a city; give the city in English."}`,
			`"mail"`:    `{"guideline":"Sends mail to people; give an address."}`,
			`"find"`:    `{"guideline":"Finds files by name."}`,
		}[inside(t, user, "tool")], nil
	})
	r := newRig(t, setup{model: m})
	r.record(t, append(append(calls("weather", 0, 3), calls("mail", 0, 3)...), calls("find", 0, 3)...)...)
	r.force(t)
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	_, err = r.keeper.Load(ctx, p, dump(t, backends.Memory{ID: "t", Kind: backends.KindTask, Text: "weather forecast of a city", Scope: team}))
	require.NoError(t, err)
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Query: "what will the weather be in the city tomorrow?", TopK: 1})
	require.NoError(t, err)
	require.Len(t, resp.Tools, 1, "tools alone")
	assert.Equal(t, "weather", resp.Tools[0].Name)
	assert.Positive(t, resp.Tools[0].Score)
	resp, err = r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "mail", Query: "weather in a city; mail"})
	require.NoError(t, err)
	require.Len(t, resp.Tools, 2, "named first, each once")
	assert.Equal(t, "mail", resp.Tools[0].Name)
	assert.Zero(t, resp.Tools[0].Score)
	assert.Equal(t, "weather", resp.Tools[1].Name)
	resp, err = r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Query: "zymurgy"})
	require.NoError(t, err, "a query that nothing fits is no error")
	assert.Empty(t, resp.Tools)
}

func TestTheVectorOfAGuidelineFollowsWhatItSays(t *testing.T) {
	e := &testkit.Embedder{Dim: 64}
	r := newRig(t, setup{model: writer(t), embeds: e})
	r.record(t, calls("parcel", 0, 3)...)
	assert.Equal(t, 1, r.force(t, "parcel").Report.Usage.EmbeddedTexts)
	assert.Equal(t, 1, r.force(t, "parcel").Report.Usage.EmbeddedTexts, "a guideline is embedded with the tool's name: it says something else now")
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	records, err := r.keeper.Records(ctx, p, r.memories(t)[0].ID)
	require.NoError(t, err)
	assert.NotEmpty(t, records[0].Vector, "and stays")

	e.Err = errors.New("down")
	r.record(t, calls("mail", 0, 3)...)
	_, err = r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
	require.Error(t, err, "an embedder that is away stores nothing")
	assert.Len(t, r.memories(t), 1)
	assert.Equal(t, "guideline 2 of parcel", r.tool(t, "parcel").Guideline)
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Query: "parcel"})
	require.NoError(t, err)
	require.Error(t, resp.Degraded, "and a query is answered by its words")
	assert.Len(t, resp.Tools, 1)
}
