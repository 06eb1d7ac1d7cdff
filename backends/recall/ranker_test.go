// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no records":         func(c *Config) { c.Records = nil },
		"embedder, no model": func(c *Config) { c.Embedder = hashed(4) },
		"negative budget":    func(c *Config) { c.MaxBytes = -1 },
		"negative timeout":   func(c *Config) { c.EmbedTimeout = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := &Config{Records: newStore(1)}
			change(c)
			_, err := New(t.Context(), c)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	_, err := New(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// The caller's configuration is neither changed nor looked at again.
func TestConfigIsCopied(t *testing.T) {
	s := newStore(1)
	c := Config{Records: s, Embedder: hashed(4), EmbeddingModel: "hashed"}
	r, err := New(t.Context(), &c)
	require.NoError(t, err)
	defer r.Close()
	require.Zero(t, c.MaxBytes, "defaults are filled in in the copy")
	require.Equal(t, [2]time.Duration{time.Second, 2 * time.Second}, [2]time.Duration{r.config.EmbedTimeout, r.config.ModelTimeout})
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "tea"})
	score := search(t, r, ann, backends.SearchRequest{Query: "tea"})[0].Score
	c.Records, c.EmbeddingModel = nil, "other"
	require.InDelta(t, score, search(t, r, ann, backends.SearchRequest{Query: "tea"})[0].Score, 0)
}

func TestRefusedRequests(t *testing.T) {
	r := newRanker(t, newStore(1))
	bad := backends.Filter{Op: "like", Field: "kind", Value: "x"}
	for name, q := range map[string]*backends.SearchRequest{
		"no request":         nil,
		"negative TopK":      {Query: "q", TopK: -1},
		"TopK above 1000":    {Query: "q", TopK: 1001},
		"threshold NaN":      {Query: "q", Threshold: math.NaN()},
		"threshold infinite": {Query: "q", Threshold: math.Inf(1)},
		"broken UTF-8":       {Query: "caf\xff"},
		"unknown operator":   {Query: "q", Filter: &bad},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Search(t.Context(), ann, q)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	_, err := r.Search(t.Context(), backends.Partition{Namespace: "n", Kind: "team", ID: "x"}, &backends.SearchRequest{Query: "q"})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// A query of the stop words of its language finds nothing; no query fails.
func TestQueriesWithoutTerms(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, fact("1", "what is the tea"), fact("2", ""))
	for _, q := range []string{"what is the", "", "?!", "\n\t", "\x00", "'s", "😀"} {
		require.Empty(t, find(t, r, q), "%q", q)
	}
	require.Empty(t, search(t, r, user("unknown"), backends.SearchRequest{Query: "tea"}), "an empty partition")
}

// Of a very long query the two ends count; what is long and full of different words is
// answered, too.
func TestLongQueries(t *testing.T) {
	testkit.SlowUnderRace(t)
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, fact("head", "aardvark"), fact("tail", "zebra"), fact("middle", "mongoose"))
	filler := strings.Repeat("绿 ", maxQuery)
	q := "aardvark " + filler + " mongoose " + filler + " zebra"
	require.Greater(t, len(q), 400_000)
	require.ElementsMatch(t, []string{"head", "tail"}, find(t, r, q))
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "word%d %c ", i, rune(0x4e00+i))
	}
	apply(t, s, ann, fact("all", many.String()))
	require.Equal(t, []string{"all", "tail"}, find(t, r, many.String()+" zebra"))
}

func TestTopK(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	for i := range 1200 {
		apply(t, s, ann, fact(fmt.Sprint(i), "tea"))
	}
	require.Len(t, search(t, r, ann, backends.SearchRequest{Query: "tea", TopK: 1000}), 1000)
	require.Len(t, search(t, r, ann, backends.SearchRequest{Query: "tea"}), 5, "the default")
}

// 32 goroutines search, three write, partitions come and go: every answer holds at least
// what was stored before it was asked for, and nothing twice.
func TestSearchWhileWriting(t *testing.T) {
	s := newStore(100)
	r := newRanker(t, s, withEmbedder("hashed", hashed(16)), func(c *Config) { c.MaxBytes = 60_000 })
	const writes = 60
	partitions := []backends.Partition{ann, user("bob"), user("eve")}
	var stored [3]sync.Map // the memories that are in the partition for sure
	var all sync.WaitGroup
	for n, p := range partitions {
		all.Go(func() {
			for i := range writes {
				tea := backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)}
				embed(t, s, r, p, nil, tea, backends.Memory{ID: "changing", Text: fmt.Sprint("coffee ", i)})
				stored[n].Store(i, true)
			}
		})
	}
	for g := range 32 {
		all.Go(func() {
			n := g % 3
			for range 20 {
				least := 0
				stored[n].Range(func(any, any) bool { least++; return true })
				resp, err := r.Search(context.Background(), partitions[n], &backends.SearchRequest{Query: "tea", TopK: 1000})
				if err != nil {
					t.Error(err)
					return
				}
				seen := map[string]bool{}
				for _, h := range resp.Hits {
					if seen[h.ID] {
						t.Errorf("%s is returned twice", h.ID)
					}
					seen[h.ID] = true
				}
				if delete(seen, "changing"); len(seen) < least {
					t.Errorf("%d memories found, %d were stored before", len(seen), least)
				}
			}
		})
	}
	all.Wait()
	for _, p := range partitions {
		require.Len(t, search(t, r, p, backends.SearchRequest{Query: "tea", TopK: 1000}), writes+1)
	}
}

// A ranker is used by some goroutines while another closes it.
func TestCloseWhileSearching(t *testing.T) {
	s := newStore(1)
	apply(t, s, ann, fact("1", "tea"))
	r := newRanker(t, s)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if _, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: "tea"}); err != nil {
					return // it was closed meanwhile
				}
			}
		})
	}
	require.NoError(t, r.Close())
	all.Wait()
}

// The cache holds what a list of the partitions, used last first, would hold.
func TestCacheEqualsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(1)
		sizes := map[string]int64{}
		for i := range 5 { // how big each one is, by itself
			id := fmt.Sprint(i)
			apply(t, s, user(id), fact("1", strings.Repeat("tea ", rapid.IntRange(1, 2000).Draw(t, "words"))))
			alone := newRanker(t, s)
			_, err := alone.All(t.Context(), user(id))
			require.NoError(t, err)
			sizes[id] = alone.Stats().Bytes
		}
		budget := int64(rapid.IntRange(1, 30_000).Draw(t, "budget"))
		r := newRanker(t, s, func(c *Config) { c.MaxBytes = budget })
		var held []string // used last comes first
		var stats Stats
		for range 30 {
			id := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "partition"))
			search(t, r, user(id), backends.SearchRequest{Query: "tea"})
			next := []string{id}
			for _, h := range held {
				if h != id {
					next = append(next, h)
				}
			}
			total := func(mine int64) int64 { // bytes, with so many for the one in use
				for _, h := range next[1:] {
					mine += sizes[h]
				}
				return mine
			}
			if len(next) == len(held) {
				stats.Hits++
			} else {
				stats.Loads++
				// A partition takes a little room before its size is known, and then what it needs.
				for _, size := range []int64{perPartition, sizes[id]} {
					for len(next) > 1 && total(size) > budget {
						next = next[:len(next)-1]
						stats.Evictions++
					}
				}
			}
			held, stats.Bytes = next, total(sizes[id])
			stats.Partitions, stats.Memories = len(held), len(held)
			require.Equal(t, stats, r.Stats())
		}
	})
}

func TestPartitionBiggerThanTheBudget(t *testing.T) {
	s := newStore(1)
	apply(t, s, ann, fact("1", strings.Repeat("tea ", 1000)), fact("2", "tea"))
	apply(t, s, user("bob"), fact("1", "tea"))
	r := newRanker(t, s, func(c *Config) { c.MaxBytes = 1 })
	for range 3 {
		require.Len(t, find(t, r, "tea"), 2)
	}
	require.Equal(t, int64(1), r.Stats().Loads, "alone it stays")
	require.Len(t, search(t, r, user("bob"), backends.SearchRequest{Query: "tea"}), 1)
	require.Equal(t, 1, r.Stats().Partitions)
	apply(t, s, ann, fact("3", "tea"))
	require.Len(t, find(t, r, "tea"), 3)
}

// A partition that grows is charged for it, vectors and keys included, one that shrinks
// gives its bytes back, and unknown ones cost something.
func TestBytesFollowTheContents(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, withEmbedder("m", hashed(1000)), func(c *Config) {
		c.Keys = func(m *backends.Memory) []string { return []string{strings.Repeat("k", len(m.Text))} }
	})
	apply(t, s, ann, fact("1", "tea"))
	find(t, r, "tea")
	small := r.Stats().Bytes
	long := strings.Repeat("coffee ", 1000)
	apply(t, s, ann, fact("1", long))
	find(t, r, "tea")
	require.Greater(t, r.Stats().Bytes, small+2*6900)
	embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: long})
	find(t, r, "tea")
	require.Greater(t, r.Stats().Bytes, small+2*6900+4000)
	apply(t, s, ann, fact("1", "tea"))
	find(t, r, "tea")
	require.InDelta(t, small, r.Stats().Bytes, 200)
	for i := range 50 {
		search(t, r, user(fmt.Sprint("stranger", i)), backends.SearchRequest{Query: "tea"})
	}
	require.Greater(t, r.Stats().Bytes, int64(50*1024))
	require.Equal(t, 51, r.Stats().Partitions)
}

// byKindAndState gives each memory two keys, or the first of them twice: the kind with the
// state, which changes while the text stays, and the first letter.
func byKindAndState(c *Config) {
	c.Keys = func(m *backends.Memory) []string {
		state := fmt.Sprint(m.Kind, " ", m.Active())
		if m.Text == "" {
			return []string{state, state}
		}
		return []string{state, m.Text[:1]}
	}
}

func TestLookupIsCurrentAndFollowsKeysThatChange(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, byKindAndState)
	lookup := func(keys ...string) []string { return names(r.Lookup(t.Context(), ann, keys...)) }
	require.Empty(t, lookup("t", "fact true"))
	apply(t, s, ann, fact("1", "tea"), fact("2", "toast"))
	require.Equal(t, []string{"1", "2"}, lookup("t", "fact true", "t"), "each once")
	apply(t, s, ann, store.Supersede("1", fact("3", "coffee").Record), store.Delete("2"))
	require.Equal(t, []string{"1"}, lookup("t"), "superseded ones too, deleted ones not")
	require.Equal(t, []string{"1"}, lookup("fact false"))
	require.Equal(t, []string{"3"}, lookup("fact true"))
	require.Empty(t, lookup())
	_, err := newRanker(t, s).Lookup(t.Context(), ann, "t")
	require.ErrorIs(t, err, backends.ErrInvalid, "without Config.Keys")
}

func TestMemoriesComeInTheOrderStored(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, byKindAndState)
	at := func(m int) time.Time { return start.Add(time.Duration(m) * time.Minute) }
	apply(t, s, ann,
		put(backends.Memory{ID: "b", Text: "tea", Created: at(1)}), put(backends.Memory{ID: "c", Text: "tea", Created: at(0), Invalidated: at(1)}),
		put(backends.Memory{ID: "a", Text: "tea", Created: at(1)}), put(backends.Memory{ID: "gone", Text: "tea"}))
	apply(t, s, ann, store.Delete("gone"))
	want := []string{"c", "a", "b"}
	require.Equal(t, want, names(r.All(t.Context(), ann)))
	require.Equal(t, want, names(r.Lookup(t.Context(), ann, "t")))
	require.Equal(t, want, names(r.Get(t.Context(), ann, "b", "unknown", "a", "b", "c")))
}

func TestLookupsStayInTheirPartition(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, byKindAndState)
	apply(t, s, ann, fact("1", "tea"))
	apply(t, s, user("bob"), fact("2", "tea"))
	require.Equal(t, []string{"2"}, names(r.Lookup(t.Context(), user("bob"), "t")))
	require.Equal(t, []string{"2"}, names(r.Get(t.Context(), user("bob"), "1", "2")))
	_, err := r.Lookup(t.Context(), backends.Partition{}, "t")
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = r.All(t.Context(), backends.Partition{})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func block(id, text string) backends.Memory {
	return backends.Memory{ID: id, Kind: backends.KindCore, Text: text}
}

// Core blocks change nothing for others: neither what is found nor a score, although their
// words, vectors and keys are those that are looked for.
func TestCoreBlocksTakeNoPart(t *testing.T) {
	var stores [2]*memStore
	var rankers [2]*Ranker
	for i := range stores {
		stores[i] = newStore(100)
		rankers[i] = newRanker(t, stores[i], withEmbedder("hashed", hashed(16)), byKindAndState)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		text := sentence(rnd, 6)
		for i, r := range rankers {
			embed(t, stores[i], r, ann, nil, backends.Memory{ID: fmt.Sprint(round), Text: "fact " + text[:len(text)/2]})
		}
		embed(t, stores[0], rankers[0], ann, []string{text}, block(fmt.Sprint("core/", rnd.IntN(5)), text))
		q := backends.SearchRequest{Query: text, TopK: 8, IncludeSuperseded: true, IncludeExpired: true}
		with, without := search(t, rankers[0], ann, q), search(t, rankers[1], ann, q)
		for i := range with {
			with[i].Version, without[i].Version = 0, 0
		}
		require.Equal(t, without, with)
		require.Empty(t, search(t, rankers[0], ann, backends.SearchRequest{Query: text, Kinds: []backends.Kind{backends.KindCore}}))
		require.Empty(t, names(rankers[0].Lookup(t.Context(), ann, "core true")))
	}
	all := names(rankers[0].All(t.Context(), ann))
	require.Greater(t, len(all), 12, "core blocks too")
	require.Len(t, names(rankers[0].Get(t.Context(), ann, all...)), 12)
}

func TestCoreBlocksFollowTheStore(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	blocks := func() []string {
		found, err := r.All(t.Context(), ann)
		require.NoError(t, err)
		out := []string{}
		for _, m := range found {
			if m.Kind == backends.KindCore {
				out = append(out, m.ID+": "+m.Text)
			}
		}
		return out
	}
	apply(t, s, ann, put(block("2", "likes tea")), put(block("1", "tea")), fact("3", "tea"))
	require.Equal(t, []string{"1: tea", "2: likes tea"}, blocks(), "in the order of All")
	require.Equal(t, []string{"3"}, find(t, r, "tea"))
	before := r.Stats().Bytes
	apply(t, s, ann, put(block("1", "tea, a lot")), store.Delete("2"))
	require.Equal(t, []string{"1: tea, a lot"}, blocks())
	require.Less(t, r.Stats().Bytes, before)
	apply(t, s, ann, fact("1", "tea"), put(block("3", "tea")))
	require.Equal(t, []string{"3: tea"}, blocks(), "kinds may change")
	require.Equal(t, []string{"1"}, find(t, r, "tea"))
	_, err := s.Drop(t.Context(), ann)
	require.NoError(t, err)
	require.Empty(t, blocks())
	apply(t, s, user("bob"), put(block("1", "bob's")))
	require.Empty(t, blocks())
}

func TestReembedTakesNoCoreBlock(t *testing.T) {
	s := newStore(1)
	old := newRanker(t, s, withEmbedder("old", hashed(8)))
	embed(t, s, old, ann, nil, backends.Memory{ID: "1", Text: "tea"}, block("core/1", "tea"))
	require.Empty(t, s.parts[ann].records["core/1"].Vector)
	embed(t, s, old, ann, []string{"tea"}, block("core/2", "tea"))
	n, err := newRanker(t, s, withEmbedder("new", hashed(16))).Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, s.parts[ann].records["core/2"].Vector, "nor does it leave one of another model")
}
