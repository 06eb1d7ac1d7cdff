// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// everyMode runs a test in each mode, with a model that has one fact to tell.
func everyMode(t *testing.T, test func(t *testing.T, mode mem0.Mode, b *mem0.Backend)) {
	for _, mode := range []mem0.Mode{mem0.Reconcile, mem0.Additive, mem0.TwoStep, mem0.Verbatim} {
		t.Run(string(mode), func(t *testing.T) {
			m := thinking(t, func(s shown) string {
				if len(s.facts) > 0 {
					return `{"decisions":[{"fact":0,"event":"NONE","index":0}]}`
				}
				return operations(`{"op":"add","text":"Ann likes tea."}`)
			})
			test(t, mode, open(t, in(mode), with(m)))
		})
	}
}

// What an agent writes down is its statement: no episode repeats it.
func TestAnAuthorWritesFactsAlone(t *testing.T) {
	everyMode(t, func(t *testing.T, _ mem0.Mode, b *mem0.Backend) {
		r := &backends.AddRequest{Scope: ann, Messages: user("Ann likes tea."), Author: "agent"}
		resp, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Len(t, resp.Items, 1)
		require.Equal(t, []string{"Ann likes tea."}, list(t, b, ann))
		require.Equal(t, []string{"Ann likes tea."}, facts(t, b, ann))
		require.Equal(t, "agent", resp.Items[0].Memory.Origin.Author)
		require.Equal(t, "agent", historyOf(t, b, resp.Items[0].Memory.ID)[0].Actor)

		again, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(again, backends.KindFact))
		said := add(t, b, ann, user("Ann likes tea.")...)
		require.Contains(t, outcomes(said, backends.KindEpisode), backends.OutcomeAdded, "what is said is kept as ever")
	})
}

func TestAnAuthorMayAskForEpisodes(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Author: "import", Kind: backends.KindEpisode})
	require.NoError(t, err)
	require.Equal(t, backends.KindEpisode, resp.Items[0].Memory.Kind)
	require.Equal(t, "import", resp.Items[0].Memory.Origin.Author)
}

func TestTheAuthorOfAProcedure(t *testing.T) {
	helper := backends.Scope{AgentID: "helper"}
	b := open(t, with(answering("1. deploy")))
	for _, verbatim := range []bool{true, false} {
		resp, err := b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Author: "agent", Verbatim: verbatim,
			Messages: []backends.Message{{ID: "1", Message: schema.UserMessage("Deploy it")}}})
		require.NoError(t, err)
		require.Equal(t, "agent", resp.Items[0].Memory.Origin.Author)
		events, err := b.History(ctx, &backends.HistoryRequest{Scope: helper, ID: resp.Items[0].Memory.ID})
		require.NoError(t, err)
		require.Equal(t, "agent", events[0].Actor)
	}
}
