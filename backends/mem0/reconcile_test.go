// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
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
