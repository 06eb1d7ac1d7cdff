// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

func TestSources(t *testing.T) {
	f := newFakeRecords()
	at := func(s int) time.Time { return f.now.Add(time.Duration(s) * time.Second) }
	r := newRanker(t, f, func(c *recall.Config) { c.Clock = func() time.Time { return f.now } })
	episode := func(id, session, turn string, sec int, messages ...string) backends.Memory {
		return backends.Memory{ID: id, Kind: backends.KindEpisode, Text: "said", Observed: at(sec),
			Origin: backends.Origin{Session: session, Turn: turn, MessageIDs: messages}}
	}
	derived := func(id, session, turn string, messages ...string) backends.Memory {
		return backends.Memory{ID: id, Kind: backends.KindFact, Text: "tea " + id,
			Origin: backends.Origin{Session: session, Turn: turn, MessageIDs: messages}}
	}
	gone := episode("expired", "s1", "t1", 3, "m2")
	gone.Expires = at(-1)
	apply(t, f, ann,
		put(episode("e2", "s1", "t1", 2, "m2")), put(episode("e1", "s1", "t1", 1, "m1")), put(episode("e3", "s1", "t2", 3, "m3")),
		put(episode("other", "s2", "t1", 1, "m1", "m2")), put(gone),
		put(derived("by-message", "s1", "t9", "m1", "m2")), put(derived("by-turn", "s1", "t1")), put(derived("by-none", "s1", "")))
	apply(t, f, user("bob"), put(episode("bobs", "s1", "t1", 1, "m1")))

	sources := map[string][]string{}
	for _, h := range find(t, r, ann, &backends.SearchRequest{Query: "tea", WithSources: true}) {
		sources[h.ID] = nil
		for _, s := range h.Sources {
			sources[h.ID] = append(sources[h.ID], s.ID)
		}
	}
	require.Equal(t, map[string][]string{"by-message": {"e1", "e2"}, "by-turn": {"e1", "e2"}, "by-none": nil}, sources)

	for _, h := range find(t, r, ann, &backends.SearchRequest{Query: "said", WithSources: true}) {
		for _, s := range h.Sources {
			require.NotEqual(t, h.ID, s.ID, "nothing is its own source")
		}
	}
	for _, h := range find(t, r, ann, &backends.SearchRequest{Query: "tea"}) {
		require.Nil(t, h.Sources, "only when asked for")
	}
}
