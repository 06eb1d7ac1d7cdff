// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// Ranking is what the package comment says: who takes part, BM25 by the formula, both parts
// over their maxima, the weighted mean, the threshold on the absolute score.
func TestRankingEqualsTheFormulas(t *testing.T) {
	now := day(9)
	// A memory with all that decides whether it may be returned.
	drawMemory := func(t *rapid.T, id string) backends.Memory {
		drawDay := func(label string) time.Time {
			if n := rapid.IntRange(5, 12).Draw(t, label); n > 5 {
				return day(n)
			}
			return time.Time{}
		}
		m := backends.Memory{ID: id, Text: drawText(t, "text"), Created: day(rapid.IntRange(6, 10).Draw(t, "created")), Updated: day(rapid.IntRange(10, 12).Draw(t, "updated")),
			Kind:     rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindEpisode, backends.KindTask}).Draw(t, "kind"),
			Observed: drawDay("observed"), Valid: drawDay("valid"), Invalidated: drawDay("invalidated"), Expires: drawDay("expires"),
			Metadata: map[string]any{"n": float64(rapid.IntRange(0, 3).Draw(t, "n"))}}
		if !m.Invalidated.IsZero() && rapid.Bool().Draw(t, "superseded") {
			m.SupersededBy = "successor"
		}
		return m
	}

	drawRequest := func(t *rapid.T) backends.SearchRequest {
		q := backends.SearchRequest{Query: strings.TrimSpace("tea " + drawText(t, "query")), TopK: rapid.IntRange(1, 30).Draw(t, "k"),
			Threshold:         rapid.SampledFrom([]float64{0, 0.123456, 0.31, 0.77}).Draw(t, "threshold"),
			IncludeSuperseded: rapid.Bool().Draw(t, "with superseded"), IncludeExpired: rapid.Bool().Draw(t, "with expired")}
		if rapid.Bool().Draw(t, "as of") {
			q.AsOf = day(rapid.IntRange(5, 13).Draw(t, "day"))
		}
		if rapid.Bool().Draw(t, "known at") {
			q.KnownAt = day(rapid.IntRange(5, 13).Draw(t, "known"))
		}
		if rapid.Bool().Draw(t, "kinds") {
			q.Kinds = []backends.Kind{backends.KindFact, backends.KindTask}
		}
		if rapid.Bool().Draw(t, "filter") {
			f := backends.Or(backends.Filter{Op: "gte", Field: "n", Value: 2}, backends.Eq("kind", backends.KindEpisode))
			q.Filter = &f
		}
		return q
	}
	mayReturn := func(m *backends.Memory, q *backends.SearchRequest) bool {
		if !q.IncludeExpired && !m.Expires.IsZero() && !m.Expires.After(now) {
			return false
		}
		ended := m.SupersededBy != "" || !m.Invalidated.IsZero()
		if !q.KnownAt.IsZero() {
			if m.Created.After(q.KnownAt) {
				return false
			}
			ended = ended && !m.Updated.After(q.KnownAt)
		}
		if q.AsOf.IsZero() {
			if !q.IncludeSuperseded && ended {
				return false
			}
		} else {
			since := m.Created
			if !m.Observed.IsZero() {
				since = m.Observed
			}
			if !m.Valid.IsZero() {
				since = m.Valid
			}
			over := ended && !m.Invalidated.After(q.AsOf)
			if since.After(q.AsOf) || over && !q.IncludeSuperseded {
				return false
			}
		}
		if q.Kinds != nil && !slices.Contains(q.Kinds, m.Kind) {
			return false
		}
		return q.Filter == nil || m.Metadata["n"].(float64) >= 2 || m.Kind == backends.KindEpisode
	}
	reader := testReader(t)
	bm25 := func(all []*backends.Memory, query string) (scores map[string]float64, attainable float64) {
		counts, lengths, df, total := map[string]map[string]float64{}, map[string]float64{}, map[string]float64{}, 0.0
		for _, m := range all {
			counts[m.ID] = map[string]float64{}
			add := func(weight float64, texts ...string) {
				for _, term := range reader.terms(texts...) {
					if counts[m.ID][term] == 0 {
						df[term]++
					}
					counts[m.ID][term] += weight
					lengths[m.ID] += weight
					total += weight
				}
			}
			texts, halves := indexed(m)
			add(1, texts...)
			add(0.5, halves...)
		}
		n := float64(len(all))
		scores = map[string]float64{}
		weights := map[string]float64{}
		for _, term := range reader.terms(query) {
			known := max(1, df[term]) // an unknown term is as rare as one of a single memory
			idf := math.Log(1 + (max(n, 100)-known+0.5)/(known+0.5))
			weights[term] += idf
			for id, c := range counts {
				if tf := c[term]; tf > 0 {
					scores[id] += idf * tf * (1.2 + 1) / (tf + 1.2*(1-0.4+0.4*lengths[id]/(total/n)))
				}
			}
		}
		heaviest := slices.Sorted(maps.Values(weights))
		for _, w := range heaviest[max(0, len(heaviest)-6):] {
			attainable += w * (1.2 + 1)
		}
		return scores, attainable
	}
	over := func(x, of float64) float64 {
		if of == 0 {
			return 0
		}
		return x / of
	}
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(100)
		q := drawRequest(t)
		vectors := map[string][]float64{q.Query: {1, 0}}
		r := newRanker(t, s, withEmbedder("m", looked(vectors)), func(c *Config) {
			c.Clock, c.Without = func() time.Time { return now }, factorNames
		})
		cosines := map[string]float64{}
		for i := range rapid.IntRange(1, 25).Draw(t, "memories") {
			m := drawMemory(t, fmt.Sprint(i))
			c := float64(rapid.IntRange(-10, 10).Draw(t, "cosine")) / 10
			if c == -1 {
				apply(t, s, ann, put(m))
				continue
			}
			vectors["v"], cosines[m.ID] = cosine(c), max(0, c)
			embed(t, s, r, ann, []string{"v"}, m)
		}
		all, err := r.All(t.Context(), ann)
		require.NoError(t, err)
		lexical, attainable := bm25(all, q.Query)
		all = slices.DeleteFunc(all, func(m *backends.Memory) bool { return !mayReturn(m, &q) })
		n, sum, squares := 28.0, 0.0, 0.0 // the cosines of unrelated sentences are 0 here
		for _, m := range all {
			if cos, ok := cosines[m.ID]; ok {
				n, sum, squares = n+1, sum+cos, squares+cos*cos
			}
		}
		deviation := max(1e-6, math.Sqrt(squares/n-sum/n*sum/n))
		value, score := map[string]float64{}, map[string]float64{}
		for _, m := range all {
			s := over(lexical[m.ID], attainable)
			v := 6 * s * s / 0.4
			cos, ok := cosines[m.ID]
			if ok {
				v, s = v+0.3*(cos-sum/n)/deviation, s+(1-s)*cos/2
			}
			if (lexical[m.ID] > 0 || cos > 0) && s >= q.Threshold {
				value[m.ID], score[m.ID] = v, s
			}
		}
		const eps = 1e-6 // the sums here are made in another order
		hits := search(t, r, ann, q)
		require.Len(t, hits, min(q.TopK, len(value)))
		last := math.Inf(1)
		for _, h := range hits {
			v, ok := value[h.ID]
			require.True(t, ok, "%s is no hit, or is returned twice", h.ID)
			delete(value, h.ID)
			require.InDelta(t, score[h.ID], h.Score, eps)
			require.LessOrEqual(t, v, last+eps)
			last = v
		}
		for id, v := range value {
			require.LessOrEqual(t, v, last+eps, "%s was left out", id)
		}
	})
}

// reranker is a function as a Reranker.
type reranker func(hits []backends.Hit) ([]float64, error)

func (r reranker) Rerank(_ context.Context, _ string, hits []backends.Hit) ([]float64, error) {
	return r(hits)
}

// The query "green tea" has the vector (1, 0). Of the memories, "both" matches one of its
// two terms and has cosine 0.6; "words" matches both terms and has cosine 0; "near" matches
// none and has cosine 0.8.
func TestFusionAndReranking(t *testing.T) {
	greenTea := func(t *testing.T, options ...func(*Config)) *Ranker {
		s := newStore(100)
		r := newRanker(t, s, append(options, withEmbedder("m", looked(map[string][]float64{
			"green tea": {1, 0}, "tea house": {0.8, 0.6}, "green tea leaves": {0, 1}, "matcha bowl": {0.8, 0.6}, "opposite": {-1, 0},
		})))...)
		embed(t, s, r, ann, nil, backends.Memory{ID: "both", Text: "tea house"}, backends.Memory{ID: "words", Text: "green tea leaves"},
			backends.Memory{ID: "near", Text: "matcha bowl"}, backends.Memory{ID: "opposite", Text: "opposite"})
		return r
	}
	turned := func(hits []backends.Hit) []float64 { // scores that turn the order round
		scores := make([]float64, len(hits))
		for i := range hits {
			scores[i] = float64(i+1) / float64(len(hits))
		}
		return scores
	}
	t.Run("words that say all lead, then comes what both parts find", func(t *testing.T) {
		hits := search(t, greenTea(t), ann, backends.SearchRequest{Query: "green tea"})
		// N = 4 texts of 2, 3, 2 and 1 terms; df(green) = 1, df(tea) = 2.
		idf := func(n float64) float64 { return math.Log(1 + (100-n+0.5)/(n+0.5)) }
		green, tea := idf(1), idf(2)
		weight := func(length float64) float64 { return 2.2 / (1 + 1.2*(0.6+0.4*length/2)) }
		attainable := 2.2 * (green + tea)
		both, words := tea*weight(2)/attainable, (green+tea)*weight(3)/attainable
		require.Equal(t, []string{"words", "both", "near"}, ids(hits))
		require.InDelta(t, both, hits[1].Parts.Lexical, 1e-9)
		require.InDelta(t, 0.8, hits[1].Parts.Vector, 1e-6)
		require.InDelta(t, both+(1-both)*0.8/2, hits[1].Score, 1e-6)
		require.InDelta(t, words, hits[0].Score, 1e-6)
		require.InDelta(t, 0.4, hits[2].Score, 1e-6)
	})
	t.Run("the reranker orders the pool", func(t *testing.T) {
		var pool []string
		r := greenTea(t, func(c *Config) {
			c.Reranker = reranker(func(hits []backends.Hit) ([]float64, error) { pool = ids(hits); return turned(hits), nil })
		})
		hits := search(t, r, ann, backends.SearchRequest{Query: "green tea", TopK: 1})
		require.Equal(t, []string{"near"}, ids(hits), "the last of three comes first")
		require.Equal(t, []string{"words", "both", "near"}, pool)
		require.InDelta(t, 1, hits[0].Parts.Rerank, 0)
		require.Less(t, hits[0].Score, 1.0, "the score stays on its scale")
	})
	for name, give := range map[string]func([]float64) ([]float64, error){
		"error":        func([]float64) ([]float64, error) { return nil, errors.New("down") },
		"too few":      func(s []float64) ([]float64, error) { return s[1:], nil },
		"NaN":          func(s []float64) ([]float64, error) { s[1] = math.NaN(); return s, nil },
		"out of range": func(s []float64) ([]float64, error) { s[0] = 1.5; return s, nil },
	} {
		t.Run("a reranker that fails leaves the order: "+name, func(t *testing.T) {
			r := greenTea(t, func(c *Config) {
				c.Reranker = reranker(func(hits []backends.Hit) ([]float64, error) { return give(turned(hits)) })
			})
			resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "green tea", TopK: 2})
			require.NoError(t, err)
			require.Error(t, resp.Degraded)
			require.Equal(t, []string{"words", "both"}, ids(resp.Hits))
			require.Zero(t, resp.Hits[0].Parts.Rerank)
		})
	}
}

// Among equals newer ones come first, then ids decide; quality does not matter.
func TestEqualsComeByTimeThenByID(t *testing.T) {
	good := 1.0
	s := newStore(100)
	r := newRanker(t, s, func(c *Config) { c.Clock = func() time.Time { return day(9) } })
	for _, m := range []backends.Memory{
		{ID: "a-old", Text: "tea", Observed: day(5)},
		{ID: "b-good", Text: "tea", Observed: day(5), Quality: &good},
		{ID: "d-new", Text: "tea", Observed: day(7)},
		{ID: "f-future", Text: "tea", Observed: day(20), Expires: day(6)},
	} {
		apply(t, s, ann, put(m))
	}
	hits := search(t, r, ann, backends.SearchRequest{Query: "tea", TopK: 10, IncludeExpired: true})
	require.Equal(t, []string{"f-future", "d-new", "a-old", "b-good"}, ids(hits))
}

func TestWhatMayBeReturned(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s, func(c *Config) { c.Clock = func() time.Time { return day(10) } })
	apply(t, s, ann,
		put(backends.Memory{ID: "paris", Kind: backends.KindFact, Text: "Ann lives in Paris", Observed: day(1)}),
		put(backends.Memory{ID: "chat", Kind: backends.KindEpisode, Text: "Where Ann lives", Observed: day(2)}),
		put(backends.Memory{ID: "guest", Kind: backends.KindFact, Text: "Bob lives with Ann", Observed: day(3), Expires: day(10)}),
		put(backends.Memory{ID: "later", Kind: backends.KindFact, Text: "Ann lives alone", Observed: day(1), Valid: day(20)}),
		put(backends.Memory{ID: "wrong", Kind: backends.KindFact, Text: "Ann lives on Mars"}))
	apply(t, s, ann,
		store.Supersede("paris", &store.Record{Memory: backends.Memory{ID: "rome", Kind: backends.KindFact, Text: "Ann lives in Rome", Observed: day(5)}}),
		store.Retract("wrong", day(4)))
	episode := backends.Eq("kind", backends.KindEpisode)
	for _, c := range []struct {
		name string
		q    backends.SearchRequest
		want []string
	}{
		{"what holds now", backends.SearchRequest{}, []string{"chat", "later", "rome"}},
		{"one kind", backends.SearchRequest{Kinds: []backends.Kind{backends.KindEpisode}}, []string{"chat"}},
		{"a filter", backends.SearchRequest{Filter: &episode}, []string{"chat"}},
		{"superseded, too", backends.SearchRequest{IncludeSuperseded: true}, []string{"chat", "later", "paris", "rome", "wrong"}},
		{"expired, too", backends.SearchRequest{IncludeExpired: true}, []string{"chat", "guest", "later", "rome"}},
		{"as of the first day", backends.SearchRequest{AsOf: day(1)}, []string{"paris", "wrong"}},
		{"as of the moment of change", backends.SearchRequest{AsOf: day(5)}, []string{"chat", "rome"}},
		{"as of the moment before", backends.SearchRequest{AsOf: day(5).Add(-1)}, []string{"chat", "paris"}},
		{"as of the future", backends.SearchRequest{AsOf: day(20)}, []string{"chat", "later", "rome"}},
		{"as of, with what had ended", backends.SearchRequest{AsOf: day(5), IncludeSuperseded: true}, []string{"chat", "paris", "rome", "wrong"}},
		{"expired hides as of, too", backends.SearchRequest{AsOf: day(4)}, []string{"chat", "paris"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Query, c.q.TopK = "who lives where?", 10
			require.ElementsMatch(t, c.want, ids(search(t, r, ann, c.q)))
		})
	}
}

// A memory as it is known at one time: from when to when it holds in the world.
type belief struct{ since, until time.Time }

// KnownAt and AsOf find what a list of all that was ever believed says: each change of the
// store, at a random time, adds a copy of the beliefs that it leaves.
func TestWhatWasKnownAndWhatHeld(t *testing.T) {
	clock := testkit.NewClock()
	s := testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = clock.Now })
	r := newRanker(t, s, func(c *Config) { c.Clock = clock.Now })
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		p := user(fmt.Sprint("run ", run))
		type moment struct {
			at       time.Time
			believed map[string]belief
		}
		history, expires := []moment{{believed: map[string]belief{}}}, map[string]time.Time{}
		near := func(label string) time.Time {
			return clock.Now().Add(time.Duration(rapid.IntRange(-9, 9).Draw(t, label)) * time.Hour)
		}
		draw := func() *store.Record {
			rec := &store.Record{Memory: backends.Memory{ID: fmt.Sprint(len(expires)), Kind: backends.KindFact, Text: "tea"}}
			for _, at := range []*time.Time{&rec.Observed, &rec.Valid, &rec.Expires} {
				if rapid.IntRange(0, 2).Draw(t, "has a time") > 0 {
					*at = near("said, valid or expires")
				}
			}
			expires[rec.ID] = rec.Expires
			return rec
		}
		from := func(m *backends.Memory) time.Time {
			m.Created = clock.Now()
			return m.Since()
		}
		for range rapid.IntRange(1, 15).Draw(t, "changes") {
			clock.Advance(time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour)
			believed := maps.Clone(history[len(history)-1].believed)
			var active []string
			for id, b := range believed {
				if b.until.IsZero() {
					active = append(active, id)
				}
			}
			slices.Sort(active)
			op := "add"
			if len(active) > 0 {
				op = rapid.SampledFrom([]string{"add", "supersede", "retract", "update", "expire", "delete"}).Draw(t, "op")
			}
			var change store.Mutation
			if op == "add" {
				rec := draw()
				change, believed[rec.ID] = store.Put(rec), belief{since: from(&rec.Memory)}
				apply(t, s, p, change)
				history = append(history, moment{clock.Now(), believed})
				continue
			}
			id := rapid.SampledFrom(active).Draw(t, "id")
			held, err := s.Get(t.Context(), p, id)
			require.NoError(t, err)
			old := &held[0]
			switch op {
			case "supersede":
				rec := draw()
				since := from(&rec.Memory)
				change, believed[rec.ID] = store.Supersede(id, rec), belief{since: since}
				believed[id] = belief{since: believed[id].since, until: since}
			case "retract":
				at := near("at")
				change, believed[id] = store.Retract(id, at), belief{since: believed[id].since, until: at}
			case "update":
				old.Text, old.Updated = "green tea", time.Time{}
				change = store.Put(old)
			case "expire":
				old.Expires, old.Updated = near("new expiry"), time.Time{}
				change, expires[id] = store.Put(old), old.Expires
			case "delete": // nothing of it is known any more, at whatever time
				change = store.Delete(id)
				delete(believed, id)
				for _, m := range history {
					delete(m.believed, id)
				}
			}
			apply(t, s, p, change)
			history = append(history, moment{clock.Now(), believed})
		}
		for range 10 {
			q := backends.SearchRequest{Query: "tea", TopK: 1000, IncludeExpired: rapid.Bool().Draw(t, "with expired")}
			times := []time.Time{{}, near("time")}
			for _, m := range history {
				times = append(times, m.at, m.at.Add(-1))
				for _, b := range m.believed {
					times = append(times, b.since, b.until)
				}
			}
			slices.SortFunc(times, time.Time.Compare)
			q.KnownAt, q.AsOf = rapid.SampledFrom(times).Draw(t, "known at"), rapid.SampledFrom(times).Draw(t, "as of")
			then := history[len(history)-1]
			for i := len(history) - 1; i > 0 && !q.KnownAt.IsZero() && then.at.After(q.KnownAt); i-- {
				then = history[i-1]
			}
			want := []string{}
			for id, b := range then.believed {
				end := expires[id]
				held := q.AsOf.IsZero() && b.until.IsZero() || !q.AsOf.IsZero() && !b.since.After(q.AsOf) && (b.until.IsZero() || q.AsOf.Before(b.until))
				if held && (q.IncludeExpired || end.IsZero() || clock.Now().Before(end)) {
					want = append(want, id)
				}
			}
			require.ElementsMatch(t, want, ids(search(t, r, p, q)))
		}
	})
}

// What is not eligible takes no place among the hits, however well it matches.
func TestFiltersComeBeforeRanking(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s, withEmbedder("hashed", hashed(8)))
	for i := range 50 {
		embed(t, s, r, ann, []string{"tea"}, backends.Memory{ID: fmt.Sprint("tea", i), Text: "tea", Metadata: map[string]any{"hide": true}})
	}
	embed(t, s, r, ann, []string{"tea"}, backends.Memory{ID: "long", Text: "tea " + strings.Repeat("word ", 100)})
	visible := backends.Ne("hide", true)
	require.Equal(t, []string{"long"}, ids(search(t, r, ann, backends.SearchRequest{Query: "tea", TopK: 1, Filter: &visible})))
}

func TestThresholdIsOnTheScore(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	apply(t, s, ann, fact("both", "green tea"), fact("one", "green car"))
	hits := search(t, r, ann, backends.SearchRequest{Query: "green tea"})
	require.Len(t, hits, 2)
	at := func(threshold float64) []string {
		return ids(search(t, r, ann, backends.SearchRequest{Query: "green tea", Threshold: threshold}))
	}
	require.Equal(t, []string{"both"}, at(hits[0].Score))
	require.Empty(t, at(math.Nextafter(hits[0].Score, 1)))
	require.Len(t, at(hits[1].Score), 2)
}

func TestHitsAreTheCallersOwn(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	good := 0.5
	apply(t, s, ann, put(backends.Memory{ID: "1", Text: "tea", Quality: &good,
		Metadata: map[string]any{"list": []any{"a"}, "map": map[string]any{"k": "v"}},
		Origin:   backends.Origin{MessageIDs: []string{"m1"}}}))
	h := search(t, r, ann, backends.SearchRequest{Query: "tea"})[0]
	*h.Quality = 0
	h.Metadata["list"].([]any)[0] = "changed"
	h.Metadata["map"].(map[string]any)["k"] = "changed"
	h.Origin.MessageIDs[0] = "changed"
	again := search(t, r, ann, backends.SearchRequest{Query: "tea"})[0]
	require.InDelta(t, 0.5, *again.Quality, 0)
	require.Equal(t, map[string]any{"list": []any{"a"}, "map": map[string]any{"k": "v"}}, again.Metadata)
	require.Equal(t, []string{"m1"}, again.Origin.MessageIDs)
}

// Of equals the newer comes first, by when it was observed, else stored, then the lower id.
func TestTiesGoToTheNewer(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s)
	tea := func(id string, observed, created time.Time) store.Mutation {
		return put(backends.Memory{ID: id, Text: "tea", Kind: backends.KindTask, Observed: observed, Created: created})
	}
	apply(t, s, ann, tea("older", day(-1), day(9)), tea("newer-b", day(1), day(0)), tea("newer-a", day(1), day(1)),
		tea("stored", time.Time{}, day(2)), tea("stored-later", time.Time{}, day(3)))
	require.Equal(t, []string{"stored-later", "stored", "newer-a", "newer-b", "older"}, find(t, r, "tea"))
}

// Times outside the range of nanoseconds are ordered like all others.
func TestTimesFarAway(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s, func(c *Config) { c.Clock = func() time.Time { return start } })
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	apply(t, s, ann,
		put(backends.Memory{ID: "end", Text: "tea", Created: year(9999), Expires: year(9999)}),
		put(backends.Memory{ID: "beginning", Text: "tea", Created: year(2), Valid: year(1000)}),
		put(backends.Memory{ID: "epoch", Text: "tea", Created: time.Unix(0, 0), Expires: year(3000)}),
		put(backends.Memory{ID: "over", Text: "tea", Expires: year(3)}),
		put(backends.Memory{ID: "over at the epoch", Text: "tea", Expires: time.Unix(0, 0)}))
	require.Equal(t, []string{"end", "epoch", "beginning"}, find(t, r, "tea"))
	require.Empty(t, search(t, r, ann, backends.SearchRequest{Query: "tea", AsOf: year(999)}))
}

func TestTopKEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		best := topK{size: rapid.IntRange(1, 70).Draw(t, "k")}
		var all []ranked
		for i := range rapid.IntRange(0, 300).Draw(t, "n") {
			d := doc{memory: &backends.Memory{ID: fmt.Sprintf("%03d", (i*37)%1000)}, time: rapid.Int64Range(0, 2).Draw(t, "time")}
			r := ranked{candidate: candidate{doc: &d}, value: rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "value")}
			all = append(all, r)
			if best.admits(r.value) {
				best.offer(r)
			}
		}
		slices.SortFunc(all, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.doc.time, a.doc.time), cmp.Compare(a.doc.memory.ID, b.doc.memory.ID))
		})
		require.True(t, slices.Equal(all[:min(best.size, len(all))], best.best()))
	})
}

// A search passes over memories that cannot be among its hits. One for more hits than there are
// memories looks at all of them, and begins with the same hits.
func TestAShortAnswerBeginsAsALongOne(t *testing.T) {
	words := strings.Fields("tea green cat dog music Rome guitar yesterday 2023 three I you my Anna Bob moved week 茶 绿茶")
	for seed := range uint64(16) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		text := func(most int) string {
			out := []string{sentence(rnd, rnd.IntN(3))}
			for range 1 + rnd.IntN(most) {
				out = append(out, words[rnd.IntN(len(words))])
			}
			return strings.Join(out, " ") + []string{"", ".", "?"}[rnd.IntN(3)]
		}
		s, kinds := newStore(100), []backends.Kind{backends.KindEpisode, backends.KindEpisode, backends.KindFact, backends.KindTask}
		r := newRanker(t, s, func(c *Config) {
			if seed%2 == 1 {
				c.Embedder, c.EmbeddingModel = hashed(16), "hashed"
			}
			if seed%4 > 1 {
				c.Weights = []Weight{Importance(0.4)}
			}
		})
		var all []backends.Memory
		for i := range 400 {
			m := backends.Memory{ID: fmt.Sprint(i), Kind: kinds[rnd.IntN(4)], Text: text(12), Observed: start.Add(time.Duration(i) * 20 * time.Minute)}
			m.Origin = backends.Origin{Session: fmt.Sprint(i / 9), Role: []string{"user", "assistant"}[i%2], Speaker: []string{"", "Anna", "Bob"}[seed%3*uint64(1+i%2)%3]}
			quality := rnd.Float64()
			m.Quality = &quality
			all = append(all, m)
		}
		embed(t, s, r, ann, nil, all...)
		for i := range 24 {
			q := backends.SearchRequest{Query: []string{"When did Anna move? ", "How many cats? ", ""}[i%3] + text(6), TopK: maxTopK, Threshold: float64(i%2) / 50}
			whole := search(t, r, ann, q)
			for _, q.TopK = range []int{1, 4, firstRanks} {
				require.Equal(t, whole[:min(q.TopK, len(whole))], search(t, r, ann, q), q.Query)
			}
		}
	}
}

// The ranking is the same on every store, to the last tie.
func TestRankingIsTheSameOnEveryStore(t *testing.T) {
	stores := []store.Records{newStore(100), testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = func() time.Time { return start } })}
	rankers := make([]*Ranker, len(stores))
	for i, s := range stores {
		rankers[i] = newRanker(t, s, withEmbedder("hashed", hashed(16)), func(c *Config) { c.Int8 = true })
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 120 {
		m := backends.Memory{ID: fmt.Sprint(rnd.IntN(60)), Kind: backends.KindFact, Text: sentence(rnd, rnd.IntN(12)),
			Observed: start.Add(time.Duration(rnd.IntN(3)) * time.Hour), Metadata: map[string]any{"n": float64(i)}}
		q := backends.SearchRequest{Query: sentence(rnd, 4), TopK: 60}
		found := make([][]backends.Hit, len(stores))
		for n, s := range stores {
			if i%7 == 3 {
				apply(t, s, ann, store.Delete(m.ID))
			} else {
				embed(t, s, rankers[n], ann, nil, m)
			}
			found[n] = search(t, rankers[n], ann, q)
			for h := range found[n] { // what stores count and stamp in their own way
				found[n][h].Version, found[n][h].Updated = 0, time.Time{}
			}
		}
		require.Equal(t, found[0], found[1])
	}
}

// The ranking follows from what is stored, to the last bit and the last tie: not from the store,
// the order in which it was written, what was there meanwhile, or whether an index followed it.
func TestRankingDoesNotDependOnTheHistoryOfWrites(t *testing.T) {
	testkit.SlowUnderRace(t)
	stores := map[string]store.Records{"SQLite": testkit.SQLite(t), "Redis": testkit.Redis(t, nil)}
	at := func(rnd *rand.Rand, hours int) time.Time {
		return start.Add(time.Duration(rnd.IntN(hours)) * time.Hour)
	}
	draw := func(rnd *rand.Rand, id string) backends.Memory {
		said := []string{sentence(rnd, 1+rnd.IntN(8)), "绿茶好喝", sentence(rnd, 3) + "?"}
		m := backends.Memory{ID: id, Kind: backends.KindFact, Text: said[rnd.IntN(len(said))], Observed: at(rnd, 4), Created: start}
		m.Origin.Session = fmt.Sprint("s", rnd.IntN(4))
		if rnd.IntN(3) > 0 {
			m.Kind, m.Origin.Role = backends.KindEpisode, []string{"user", "assistant"}[rnd.IntN(2)]
			m.Origin.Speaker = []string{"", "", "Ann", "Bob"}[rnd.IntN(4)]
		}
		return m
	}
	run := 0
	for seed := range uint64(2) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var final []backends.Memory
		for i := range 45 { // m7, m07 and m007 are numbers of one value
			final = append(final, draw(rnd, fmt.Sprint("m", strings.Repeat("0", i%3), i/3)))
		}
		queries := []string{"绿茶", "绿茶 Ann?"}
		for range 6 {
			queries = append(queries, sentence(rnd, 4))
		}
		for _, with := range []func(*Config){func(*Config) {}, withEmbedder("hashed", hashed(16))} {
			ask := func(r *Ranker, p backends.Partition) (all [][]backends.Hit) {
				for _, q := range queries {
					hits := search(t, r, p, backends.SearchRequest{Query: q, TopK: 100})
					for i := range hits { // what stores count and stamp in their own way
						hits[i].Version, hits[i].Updated = 0, time.Time{}
					}
					all = append(all, hits)
				}
				return all
			}
			var want [][]backends.Hit
			for name, s := range stores {
				for history := range 4 {
					run++
					p := user(fmt.Sprint("run ", run))
					live := newRanker(t, s, with)
					for _, n := range rnd.Perm(len(final)) {
						m := final[n]
						switch {
						case history == 1 && rnd.IntN(2) == 0: // it said something else before
							embed(t, s, live, p, nil, draw(rnd, m.ID))
						case history == 2: // it was there, and so was something else
							embed(t, s, live, p, nil, m, draw(rnd, "other "+m.ID))
							search(t, live, p, backends.SearchRequest{Query: queries[0]})
							apply(t, s, p, store.Delete(m.ID), store.Delete("other "+m.ID))
						case history == 3:
							search(t, live, p, backends.SearchRequest{Query: queries[0]})
						}
						embed(t, s, live, p, nil, m)
					}
					for how, r := range map[string]*Ranker{"followed": live, "loaded": newRanker(t, s, with)} {
						got := ask(r, p)
						if want == nil {
							want = got
						}
						for q := range queries {
							require.Equal(t, ids(want[q]), ids(got[q]), "%s, history %d, %s: %s", name, history, how, queries[q])
						}
						require.Equal(t, want, got, "%s, history %d, %s", name, history, how)
					}
				}
			}
		}
	}
}
