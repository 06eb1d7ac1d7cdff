// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// What was said before says what a follow-up is about. A query that says it itself goes by its own words.
func TestFollowUpsAreAboutWhatWasSaidBefore(t *testing.T) {
	said := map[string]string{
		"coffee": "I looked at the Rancilio espresso machine, 620 euros.", "boards": "The snowboard from Burton was on sale last week.",
		"dentist": "My dentist is Dr. Novak in Brno.", "trip": "We fly to Osaka in April with the kids.", "咖啡机": "我看过德龙的咖啡机，三千块。",
		"滑雪板": "上周看的滑雪板是双板。", "牙医": "我的牙医是王医生。", "旅行": "四月全家飞大阪。",
	}
	s := newStore(1)
	r := newRanker(t, s)
	for id, text := range said {
		apply(t, s, ann, put(backends.Memory{ID: id, Kind: backends.KindFact, Text: text, Observed: start}))
	}
	for _, tt := range []struct{ before, query, want string }{
		{"Which espresso machine did I look at?", "And a cheaper one?", "coffee"},
		{"Tell me about that espresso machine.", "Is there something better?", "coffee"},
		{"Who is my dentist?", "And where is he?", "dentist"},
		{"When do we fly to Osaka?", "With whom?", "trip"},
		{"Which snowboard was on sale?", "What else did they have?", "boards"},
		{"我看过哪个咖啡机？", "再找找其他的", "咖啡机"},
		{"那台咖啡机多少钱？", "有更便宜的吗？", "咖啡机"},
		{"我的牙医是谁？", "他在哪里？", "牙医"},
		{"我们什么时候飞大阪？", "跟谁一起？", "旅行"},
		{"滑雪板是单板吗？", "还有别的吗？", "滑雪板"},
		{"Which espresso machine did I look at?", "Who is my dentist?", "dentist"},
		{"我看过哪个咖啡机？", "我的牙医是谁？", "牙医"},
	} {
		hits := search(t, r, ann, backends.SearchRequest{Query: tt.query, Context: []string{tt.before}})
		require.NotEmpty(t, hits, tt.query)
		require.Equal(t, tt.want, hits[0].ID, tt.query)
	}
}
