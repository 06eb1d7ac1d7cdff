// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

// rewriter is a function as a Rewriter.
type rewriter func(query string) (*Rewriting, error)

func (r rewriter) Rewrite(_ context.Context, query string, _ time.Time) (*Rewriting, error) {
	return r(query)
}

// rewritten configures a rewriter that gives the same answer always.
func rewritten(w Rewriting) func(*Config) {
	return func(c *Config) { c.Rewriter = rewriter(func(string) (*Rewriting, error) { return &w, nil }) }
}

func TestKeywordsFindWhatHasNoWordOfTheQuery(t *testing.T) {
	s := newStore(1)
	apply(t, s, ann, fact("pup", "Ann adopted a puppy"), fact("animal", "An animal shelter opened"), fact("小", "小红养了一只猫"), fact("tea", "Bob drinks tea"))
	plain, r := newRanker(t, s), newRanker(t, s, rewritten(Rewriting{Keywords: []string{"Puppy or kitten", "猫", "animal"}}))
	require.Equal(t, []string{"animal"}, find(t, plain, "Which animal?"))
	hits := search(t, r, ann, backends.SearchRequest{Query: "Which animal?"})
	require.ElementsMatch(t, []string{"animal", "pup", "小"}, ids(hits))
	require.Equal(t, "animal", hits[0].ID, "the word of the user counts more")
	require.Equal(t, search(t, plain, ann, backends.SearchRequest{Query: "Which animal?"})[0], hits[0], "and as much as without the others")
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("word", i))
	}
	require.Equal(t, []string{"animal"}, find(t, newRanker(t, s, rewritten(Rewriting{Keywords: append(many, "puppy")})), "animal"), "of too many the first count")
}

// What a rewriter only repeats changes no score.
func TestARewritingThatRepeatsTheQueryChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(1)
		for i := range rapid.IntRange(1, 12).Draw(t, "memories") {
			apply(t, s, ann, fact(fmt.Sprint(i), drawText(t, "text")))
		}
		q := backends.SearchRequest{Query: drawText(t, "query"), TopK: 20}
		same := rewritten(Rewriting{Keywords: append(strings.Fields(q.Query), q.Query), Questions: []string{strings.ToUpper(q.Query), "", " "}})
		require.Equal(t, search(t, newRanker(t, s), ann, q), search(t, newRanker(t, s, same), ann, q))
	})
}

func TestEachQuestionOfAQueryFindsItsAnswer(t *testing.T) {
	s := newStore(1)
	apply(t, s, ann, fact("ann", "Ann plays the cello"), fact("bob", "Bob paints boats"), fact("both", "The hobbies of Ann and Bob differ"), fact("tea", "Ann drinks tea"))
	q := backends.SearchRequest{Query: "Do the hobbies of Ann and Bob differ?", TopK: 3}
	parts := rewritten(Rewriting{Questions: []string{"Does Ann play the cello?", "Does Bob paint boats?"}})
	hits := search(t, newRanker(t, s, parts), ann, q)
	require.ElementsMatch(t, []string{"ann", "bob", "both"}, ids(hits), "each once")
	require.Equal(t, "both", hits[0].ID, "what answers the query itself")
	for _, h := range hits {
		alone := search(t, newRanker(t, s), ann, backends.SearchRequest{Query: map[string]string{
			"ann": "Does Ann play the cello?", "bob": "Does Bob paint boats?", "both": q.Query}[h.ID]})
		require.Equal(t, alone[0].ID, h.ID)
		require.InDelta(t, alone[0].Score, h.Score, 0, "as for the question that it answers best")
	}
	var texts []string
	vectors := func(asked []string) ([][]float64, error) {
		texts = asked
		return [][]float64{{1, 0}, {0, 1}, {1, 0}}[:len(asked)], nil
	}
	r := newRanker(t, s, parts, withEmbedder("m", embedder(vectors)))
	embed(t, s, r, ann, nil, backends.Memory{ID: "far", Text: "Rubens"}, backends.Memory{ID: "near", Text: "Seascapes"})
	require.Contains(t, ids(search(t, r, ann, backends.SearchRequest{Query: q.Query, TopK: 10})), "near", "by the vector of a question")
	require.Len(t, texts, 3, "one request has the query and its questions")
}

func TestTheTimeOfARewritingIsPreferred(t *testing.T) {
	s := newStore(1)
	may := time.Date(2023, 5, 1, 0, 0, 0, 0, time.UTC)
	r := newRanker(t, s, atNoon, rewritten(Rewriting{From: may, Until: may.AddDate(0, 1, 0), Questions: []string{"Which dish?"}}))
	apply(t, s, ann, onDays("A cake was baked, another dish", "2023-04-03", "2023-05-02", "2023-06-20")...)
	for _, query := range []string{"the cake for the spring fair", "cake"} {
		require.Equal(t, "2023-05-02", find(t, r, query)[0])
	}
}

func TestARewriterThatFailsLeavesTheQuery(t *testing.T) {
	for name, answer := range map[string]rewriter{
		"error":   func(string) (*Rewriting, error) { return nil, errors.New("down") },
		"nothing": func(string) (*Rewriting, error) { return nil, nil },
		"panic":   func(string) (*Rewriting, error) { panic("boo") },
		"nonsense": func(string) (*Rewriting, error) {
			return &Rewriting{Keywords: []string{"tea"}, From: day(2), Until: day(1)}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := newStore(1), 0
			apply(t, s, ann, fact("1", "green leaves"), fact("2", "tea"))
			r := newRanker(t, s, func(c *Config) {
				c.Rewriter = rewriter(func(q string) (*Rewriting, error) { calls++; return answer(q) })
			})
			for i := range 2 {
				resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "green"})
				require.NoError(t, err)
				require.Equal(t, []string{"1"}, ids(resp.Hits))
				require.ErrorContains(t, resp.Degraded, "the query is as it was asked")
				require.Equal(t, i+1, calls, "no failure is remembered")
			}
		})
	}
	s := newStore(1)
	apply(t, s, ann, fact("1", "tea"))
	r := newRanker(t, s, rewritten(Rewriting{Keywords: []string{"\xff", "tea\xff"}, Questions: []string{"\xfftea"}}))
	require.Equal(t, []string{"1"}, find(t, r, "zest"), "what is readable counts")
	_, err := New(t.Context(), &Config{Records: s, ModelTimeout: -1})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestARewriterIsAskedOnceADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, now := newStore(1), day(1)
		var calls atomic.Int64
		answer := make(chan bool)
		r := newRanker(t, s, func(c *Config) {
			c.Clock = func() time.Time { return now }
			c.Rewriter = rewriter(func(string) (*Rewriting, error) {
				calls.Add(1)
				<-answer
				return &Rewriting{Keywords: []string{"tea"}}, nil
			})
		})
		apply(t, s, ann, fact("1", "tea"))
		apply(t, s, user("bob"), fact("2", "tea"))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { require.Equal(t, []string{"1"}, find(t, r, "zest")) })
			all.Go(func() {
				require.Equal(t, []string{"2"}, ids(search(t, r, user("bob"), backends.SearchRequest{Query: " zest"})))
			})
		}
		synctest.Wait()
		close(answer)
		all.Wait()
		require.EqualValues(t, 1, calls.Load(), "for all searches at once")
		require.Equal(t, []string{"1"}, find(t, r, "zest"))
		require.EqualValues(t, 1, calls.Load())
		now = day(2)
		require.Equal(t, []string{"1"}, find(t, r, "zest"))
		require.EqualValues(t, 2, calls.Load(), `"yesterday" is another day`)

		require.Empty(t, search(t, r, ann, backends.SearchRequest{Query: "zeal", NoModel: true}))
		require.Empty(t, search(t, r, ann, backends.SearchRequest{Query: " "}))
		resp, err := r.Search(WithVectors(t.Context(), &Vectors{}), ann, &backends.SearchRequest{Query: "a message that is learnt from"})
		require.NoError(t, err)
		require.Empty(t, resp.Hits)
		require.EqualValues(t, 2, calls.Load(), "not asked")
		for i := range 2 * maxRewritings {
			find(t, r, fmt.Sprint(i))
		}
		require.Equal(t, maxRewritings, r.rewritten.Len())
	})
}

func TestDiversityPutsRepeatsBack(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, fact("a", "Ann likes green tea"), fact("b", "Ann likes green tea a lot"), fact("c", "Ann likes green tea very much"), fact("d", "Tea is grown in Assam, far from here"), fact("e", "rain"))
	q := backends.SearchRequest{Query: "green tea", TopK: 2}
	require.Equal(t, []string{"a", "b"}, ids(search(t, r, ann, q)))
	q.Diversity = 0.5
	hits := search(t, r, ann, q)
	require.Equal(t, []string{"a", "d"}, ids(hits), "from behind what was asked for; what is no hit stays out")
	q.TopK = 4
	require.Equal(t, []string{"a", "d", "b", "c"}, ids(search(t, r, ann, q)))
	q.Diversity = 0.01
	require.Equal(t, []string{"a", "b", "c", "d"}, ids(search(t, r, ann, q)))
	for _, wrong := range []float64{-0.1, 1.1, math.NaN()} {
		q.Diversity = wrong
		_, err := r.Search(t.Context(), ann, &q)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestDiversityComparesVectorsAndFollowsTheReranker(t *testing.T) {
	s := newStore(1)
	vectors := looked(map[string][]float64{"q": {1, 0, 0}, "one": {0.9, 0.43, 0}, "two": {0.89, 0.44, 0.1}, "six": {0.8, 0, 0.6}})
	r := newRanker(t, s, withEmbedder("m", vectors), func(c *Config) {
		c.Reranker = reranker(func(hits []backends.Hit) ([]float64, error) {
			scores := make([]float64, len(hits))
			for i, h := range hits {
				scores[i] = map[string]float64{"two": 1, "one": 0.9, "six": 0.8}[h.ID]
			}
			return scores, nil
		})
	})
	embed(t, s, r, ann, nil, backends.Memory{ID: "one", Text: "one"}, backends.Memory{ID: "two", Text: "two"}, backends.Memory{ID: "six", Text: "six"})
	for _, c := range []struct {
		diversity float64
		noModel   bool
		want      []string
	}{
		{0, false, []string{"two", "one", "six"}}, {0.5, false, []string{"two", "six", "one"}},
		{0, true, []string{"one", "two", "six"}}, {0.9, true, []string{"one", "six", "two"}},
	} {
		require.Equal(t, c.want, ids(search(t, r, ann, backends.SearchRequest{Query: "q", Diversity: c.diversity, NoModel: c.noModel})), c)
	}
}

// Whatever is like what, diversity loses no hit, doubles none, and keeps the first.
func TestDiversityOnlyOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(1)
		for i := range rapid.IntRange(1, 20).Draw(t, "memories") {
			apply(t, s, ann, fact(fmt.Sprint(i), drawText(t, "text")))
		}
		r := newRanker(t, s)
		q := backends.SearchRequest{Query: drawText(t, "query"), TopK: 20}
		plain := ids(search(t, r, ann, q))
		q.Diversity = rapid.Float64Range(0, 1).Draw(t, "diversity")
		diverse := ids(search(t, r, ann, q))
		require.ElementsMatch(t, plain, diverse)
		require.Equal(t, diverse, ids(search(t, r, ann, q)))
		require.Equal(t, plain[:min(1, len(plain))], diverse[:min(1, len(plain))])
	})
}

func TestARewriterThatHangsHoldsNoLaterSearchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hangs := newStore(1), make(chan bool)
		var calls atomic.Int64
		r := newRanker(t, s, inASecond, func(c *Config) {
			c.Rewriter = rewriter(func(string) (*Rewriting, error) {
				if calls.Add(1) == 1 {
					<-hangs
				}
				return &Rewriting{Keywords: []string{"tea"}}, nil
			})
		})
		apply(t, s, ann, fact("1", "tea"))
		begun := time.Now()
		resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "zest"})
		require.NoError(t, err)
		require.ErrorContains(t, resp.Degraded, "no answer within 1s")
		require.Equal(t, []string{"1"}, find(t, r, "zest"))
		require.Equal(t, time.Second, time.Since(begun))
		close(hangs)
	})
}
