// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// One partition, many languages: the memory that answers comes first.
func TestFindsInManyLanguages(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann,
		fact("tea", "张伟每天早上喝绿茶"), fact("city", "张伟住在上海的浦东新区"), fact("job", "他在Google做software engineer的工作"),
		fact("dog", "The dogs were running through the gardens"), fact("book", "Анна читала новые книги"),
		fact("tokyo", "東京タワーの近くに住んでいます"), fact("seoul", "저는 서울에서 커피를 마셔요"), fact("thai", "ฉันชอบกินข้าวผัด"),
		fact("cafe", "Das Café liegt in der Kölner Straße"))
	for query, want := range map[string]string{
		"张伟喝什么茶?": "tea", "他住在哪个城市,上海吗": "city", "谁是 software engineers": "job",
		"Which dog runs in a garden?": "dog", "новая книга": "book", "東京のタワー": "tokyo", "서울 커피": "seoul",
		"กินข้าว": "thai", "KÖLNER STRASSE": "cafe", "ＧＯＯＧＬＥ": "job",
	} {
		require.Equal(t, want, ids(find(t, r, ann, &backends.SearchRequest{Query: query}))[0], query)
	}
}

// Memories written under another setting of Encoding are compared with the rest.
func TestEncodingsMix(t *testing.T) {
	f := newFakeRecords()
	e := table{"tea": {1, 0}, "near": cosine(0.9), "far": cosine(0.2)}
	for text, encoding := range map[string]recall.Encoding{"near": recall.Int8, "far": recall.Float32} {
		r := newRanker(t, f, func(c *recall.Config) { withEmbedder(e)(c); c.Encoding = encoding })
		putEmbedded(t, f, r, ann, backends.Memory{ID: text, Text: text})
	}
	hits := find(t, newRanker(t, f, withEmbedder(e)), ann, &backends.SearchRequest{Query: "tea"})
	require.Equal(t, []string{"near", "far"}, ids(hits))
	require.InDelta(t, 0.9, hits[0].Parts.Vector, 0.01)
	require.InDelta(t, 0.2, hits[1].Parts.Vector, 1e-6)
}

// A vector of a former model is no vector, even where the partition bears the new
// model's name and the dimensions agree.
func TestStaleVectorIsNotCompared(t *testing.T) {
	f := newFakeRecords()
	old := newRanker(t, f, func(c *recall.Config) { c.Embedder, c.EmbeddingModel = dice{4}, "old" })
	stale, _, err := old.Embed(t.Context(), []string{"green tea"})
	require.NoError(t, err)
	r := newRanker(t, f, func(c *recall.Config) { c.Embedder, c.EmbeddingModel = dice{4}, "new" })
	putEmbedded(t, f, r, ann, backends.Memory{ID: "fresh", Text: "black tea"})
	_, err = f.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "stale", Text: "green tea"}, Vector: stale[0]})}})
	require.NoError(t, err)
	for _, h := range find(t, r, ann, &backends.SearchRequest{Query: "green tea"}) {
		require.Equal(t, h.ID == "fresh", h.Parts.Vector > 0, h.ID)
	}
}

func TestTopKOfAThousand(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	var ms []store.Mutation
	for i := range 1200 {
		ms = append(ms, fact(strings.Repeat("x", 1+i%7)+string(rune(0x4e00+i)), "tea"))
	}
	apply(t, f, ann, ms...)
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 1000}), 1000)
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 5, "the default")
}

// Of equals the newer comes first, by when it was observed, else stored.
func TestTiesGoToTheNewer(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	day := func(n int) backends.Memory { return backends.Memory{Text: "tea", Observed: f.now.AddDate(0, 0, n)} }
	a, b, c, d := day(-1), day(1), day(1), backends.Memory{Text: "tea", Created: f.now, ID: "stored"}
	a.ID, b.ID, c.ID = "older", "newer-b", "newer-a"
	apply(t, f, ann, put(a), put(b), put(c))
	require.Equal(t, []string{"newer-a", "newer-b", "older"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "tea"})))
	apply(t, f, ann, store.Delete("older"), store.Delete("newer-a"), store.Delete("newer-b"))
	apply(t, f, ann, put(d), put(backends.Memory{Text: "tea", Created: f.now.AddDate(0, 0, 1), ID: "stored-later"}))
	require.Equal(t, []string{"stored-later", "stored"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "tea"})))
}

// Times outside the range of nanoseconds are ordered like all others.
func TestTimesFarAway(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, func(c *recall.Config) { c.Clock = func() time.Time { return f.now } })
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	apply(t, f, ann,
		put(backends.Memory{ID: "end", Text: "tea", Created: year(9999), Expires: year(9999)}),
		put(backends.Memory{ID: "start", Text: "tea", Created: year(2), Valid: year(1000)}),
		put(backends.Memory{ID: "epoch", Text: "tea", Created: time.Unix(0, 0), Expires: year(3000)}),
		put(backends.Memory{ID: "over", Text: "tea", Expires: year(3)}),
		put(backends.Memory{ID: "over at the epoch", Text: "tea", Expires: time.Unix(0, 0)}))
	require.Equal(t, []string{"end", "epoch", "start"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "tea"})))
	require.Empty(t, find(t, r, ann, &backends.SearchRequest{Query: "tea", AsOf: year(999)}))
}

// A query of the stop words of its language finds nothing; no query fails.
func TestQueriesWithoutTerms(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "what is the tea"), fact("2", ""))
	for _, q := range []string{"what is the", "", "?!", "\n\t", "\x00", "'s", "😀"} {
		require.Empty(t, find(t, r, ann, &backends.SearchRequest{Query: q}), "%q", q)
	}
	require.Empty(t, find(t, r, user("nobody"), &backends.SearchRequest{Query: "tea"}), "an empty partition")
}
