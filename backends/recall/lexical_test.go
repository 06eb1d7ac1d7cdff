// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// An index that followed every change answers exactly as one that is loaded anew, hit by
// hit and bit by bit, whatever the pages were; and look-ups find what reading everything
// finds.
func TestIncrementalIndexEqualsReloaded(t *testing.T) {
	change := func(t *rapid.T, s *memStore, r *Ranker) {
		batch := &store.Batch{}
		record := func() *store.Record {
			m := backends.Memory{ID: fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "id")), Text: drawText(t, "text")}
			m.Kind = rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindEpisode}).Draw(t, "kind")
			if rapid.Bool().Draw(t, "dated") {
				m.Observed = start.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "hour")) * time.Hour)
			}
			rec := &store.Record{Memory: m}
			if rapid.Bool().Draw(t, "vector") {
				vectors, space, err := r.Embed(t.Context(), []string{m.Text + "x"})
				require.NoError(t, err)
				rec.Vector, batch.Embedding = vectors[0], space
			}
			return rec
		}
		for range rapid.IntRange(1, 4).Draw(t, "mutations") {
			id := fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "old"))
			switch rapid.SampledFrom([]string{"put", "put", "supersede", "retract", "delete"}).Draw(t, "op") {
			case "put":
				batch.Mutations = append(batch.Mutations, store.Put(record()))
			case "supersede":
				if r := record(); r.ID != id {
					batch.Mutations = append(batch.Mutations, store.Supersede(id, r))
				}
			case "retract":
				batch.Mutations = append(batch.Mutations, store.Retract(id, start))
			case "delete":
				batch.Mutations = append(batch.Mutations, store.Delete(id))
			}
		}
		_, err := s.Apply(t.Context(), ann, batch)
		require.NoError(t, err)
	}
	checkLookups := func(t *rapid.T, r *Ranker, all []*backends.Memory) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"fact true", "fact false", "episode true", "episode false", "t", "t", "n", "茶", "?"}), 0, 4).Draw(t, "keys")
		wanted := rapid.SliceOfN(rapid.StringMatching("[0-9]|1[0-3]"), 0, 4).Draw(t, "ids")
		byKey, byID := []string{}, []string{}
		for _, m := range all {
			if slices.ContainsFunc(r.config.Keys(m), func(k string) bool { return slices.Contains(keys, k) }) {
				byKey = append(byKey, m.ID)
			}
			if slices.Contains(wanted, m.ID) {
				byID = append(byID, m.ID)
			}
		}
		require.Equal(t, byKey, names(r.Lookup(t.Context(), ann, keys...)))
		require.Equal(t, byID, names(r.Get(t.Context(), ann, wanted...)))
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(rapid.Int64Range(1, 5).Draw(t, "page"))
		with := withEmbedder("hashed", hashed(8))
		grown := newRanker(t, s, with, byKindAndState)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 15).Draw(t, "drop") == 0 {
				_, err := s.Drop(t.Context(), ann)
				require.NoError(t, err)
			}
			change(t, s, grown)
			q := backends.SearchRequest{Query: drawText(t, "query"), TopK: rapid.IntRange(1, 15).Draw(t, "k"),
				IncludeSuperseded: rapid.Bool().Draw(t, "superseded")}
			reloaded := newRanker(t, s, with, byKindAndState)
			require.Equal(t, search(t, reloaded, ann, q), search(t, grown, ann, q))
			want, err := reloaded.All(t.Context(), ann)
			require.NoError(t, err)
			got, err := grown.All(t.Context(), ann)
			require.NoError(t, err)
			require.Equal(t, want, got)
			checkLookups(t, grown, want)
			a, b := grown.indexOf(ann), reloaded.indexOf(ann)
			require.Equal(t, []int{b.vectors, b.lexicon.memories, len(b.lexicon.vocabulary.numbers)}, []int{a.vectors, a.lexicon.memories, len(a.lexicon.vocabulary.numbers)})
			require.Equal(t, []int64{b.memories, b.keys.bytes, b.lexicon.total, b.lexicon.postings}, []int64{a.memories, a.keys.bytes, a.lexicon.total, a.lexicon.postings})
		}
	})
}

func TestRepeatedAndUnknownQueryTerms(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	apply(t, s, ann, fact("1", "tea"), fact("2", "dog"))
	score := func(q string) float64 { return search(t, r, ann, backends.SearchRequest{Query: q})[0].Score }
	require.InDelta(t, 1/2.2, score("tea"), 1e-12, "one term, once, in a text of mean length")
	require.InDelta(t, score("tea"), score("tea tea"), 1e-12)
	require.Less(t, score("tea unheard"), score("tea"), "what no memory holds could have been attained")
}

// Of two memories with the same words, the one comes first that is for the situation.
func TestTheSituationCountsMoreThanTheAdvice(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	task := func(id, when, text string, age int) store.Mutation {
		return put(backends.Memory{ID: id, Kind: backends.KindTask, WhenToUse: when, Text: text, Created: day(-age)})
	}
	apply(t, s, ann,
		task("for it", "rating songs", "check tokens", 2),
		task("mentions it", "check tokens", "rating songs", 1), // the newer, which ties would go to
		task("neither", "booking flights", "compare prices", 0))
	require.Equal(t, []string{"for it", "mentions it"}, find(t, r, "rating songs"))
}

// The text that is searched depends on the kind: a memory that becomes another is analysed
// anew.
func TestAMemoryOfAnotherKindIsAnalysedAnew(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	m := backends.Memory{ID: "1", Kind: backends.KindFact, Text: "tea", Observed: time.Date(2023, 5, 8, 0, 0, 0, 0, time.UTC)}
	apply(t, s, ann, put(m))
	require.Len(t, find(t, r, "May 2023"), 1)
	m.Kind = backends.KindTask
	apply(t, s, ann, put(m))
	require.Empty(t, find(t, r, "May 2023"))
	require.Len(t, find(t, r, "tea"), 1)
}

func TestIsVariant(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"allergi", "allerg", true},
		{"allergi", "allergen", true},
		{"marri", "marriag", true},
		{"teach", "teacher", true},
		{"contact", "contain", false}, // five of seven
		{"inter", "international", false},
		{"peanut", "peanutti", true},
		{"tea", "teas", false}, // too short to tell
		{"аллергия", "аллергик", true},
		{"花生", "花生过敏", false},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			v := newVocabulary()
			v.number(pair[0])
			require.Equal(t, c.want, len(v.variants([]string{pair[1]})) > 0, "%v", pair)
		}
	}
}

func TestVariants(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string // with the ids 0, 1, 2
		query string
		want  []string
		most  float64 // score
	}{
		{"stand for a word that nobody used", []string{"I am allergic to peanuts", "I live in Hangzhou"}, "Do I have any allergies?", []string{"0"}, 0.2},
		{"of an unlike word are none", []string{"I am allergic to peanuts", "I live in Hangzhou"}, "Do I have any alligators?", []string{}, 0},
		{"are not looked for where the word is known", []string{"allergic to peanuts", "her allergies are mild"}, "allergies", []string{"1"}, 0.5},
		{"count as one term, however many", []string{"allergic allergen allergenic", "tea", "dog"}, "allergies", []string{"0"}, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(100)
			for i, text := range c.texts {
				apply(t, s, ann, fact(fmt.Sprint(i), text))
			}
			hits := search(t, newRanker(t, s), ann, backends.SearchRequest{Query: c.query})
			require.Equal(t, c.want, ids(hits))
			for _, h := range hits {
				require.LessOrEqual(t, h.Score, c.most)
			}
		})
	}
}

// One partition, many languages: the memory that answers comes first.
func TestFindsInManyLanguages(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	apply(t, s, ann,
		fact("tea", "张伟每天早上喝绿茶"), fact("city", "张伟住在上海的浦东新区"), fact("job", "他在Google做software engineer的工作"),
		fact("dog", "The dogs were running through the gardens"), fact("book", "Анна читала новые книги"),
		fact("tokyo", "東京タワーの近くに住んでいます"), fact("seoul", "저는 서울에서 커피를 마셔요"), fact("thai", "ฉันชอบกินข้าวผัด"),
		fact("cafe", "Das Café liegt in der Kölner Straße"))
	for query, want := range map[string]string{
		"张伟喝什么茶?": "tea", "他住在哪个城市,上海吗": "city", "谁是 software engineers": "job",
		"Which dog runs in a garden?": "dog", "новая книга": "book", "東京のタワー": "tokyo", "서울 커피": "seoul",
		"กินข้าว": "thai", "KÖLNER STRASSE": "cafe", "ＧＯＯＧＬＥ": "job",
	} {
		require.Equal(t, want, find(t, r, query)[0], query)
	}
}
