// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
)

// deaf is an embedder and a reranker that heeds no context: a call takes as long as takes
// says.
type deaf struct{ takes, calls atomic.Int64 }

func (d *deaf) answer() {
	d.calls.Add(1)
	time.Sleep(time.Duration(d.takes.Load()))
}

// eachDeaf runs a test with an embedder and with a reranker that answers at first, in a
// bubble of fake time. search searches in what is left of the time for a reply, and returns
// how long it took; none is left where there is no limit.
func eachDeaf(t *testing.T, test func(t *testing.T, d *deaf, r *Ranker, search func(left time.Duration) (time.Duration, error))) {
	for name, configure := range map[string]func(*Config, *deaf){
		"embedder": func(c *Config, d *deaf) {
			c.EmbeddingModel = "m"
			c.Embedder = embedder(func(texts []string) ([][]float64, error) {
				d.answer()
				return [][]float64{{1, 2}}, nil
			})
		},
		"rewriter": func(c *Config, d *deaf) {
			var days atomic.Int64 // an answer is remembered for the day
			c.Clock = func() time.Time { return day(int(days.Add(1))) }
			c.Rewriter = rewriter(func(string) (*Rewriting, error) {
				d.answer()
				return &Rewriting{}, nil
			})
		},
		"reranker": func(c *Config, d *deaf) {
			c.Reranker = reranker(func(hits []backends.Hit) ([]float64, error) {
				d.answer()
				return make([]float64, len(hits)), nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, s := &deaf{}, newStore(1)
				r := newRanker(t, s, inASecond, func(c *Config) { configure(c, d) })
				embed(t, s, r, ann, nil, backends.Memory{ID: "1", Text: "tea"})
				d.calls.Store(0)
				test(t, d, r, func(left time.Duration) (time.Duration, error) {
					ctx, cancel := t.Context(), func() {}
					if left > 0 {
						ctx, cancel = context.WithTimeout(ctx, left)
					}
					defer cancel()
					start := time.Now()
					resp, err := r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
					require.NoError(t, err)
					require.Equal(t, []string{"1"}, ids(resp.Hits), "there is an answer")
					return time.Since(start), resp.Degraded
				})
			})
		})
	}
}

func TestASearchWaitsForHalfOfItsTimeAtMost(t *testing.T) {
	eachDeaf(t, func(t *testing.T, d *deaf, _ *Ranker, search func(time.Duration) (time.Duration, error)) {
		for _, c := range []struct{ takes, left, took time.Duration }{
			{900 * time.Millisecond, 0, 900 * time.Millisecond},
			{time.Hour, 0, time.Second},
			{300 * time.Millisecond, 2 * time.Second, 300 * time.Millisecond},
			{time.Hour, 600 * time.Millisecond, 300 * time.Millisecond},
			{0, time.Minute, 0},
		} {
			d.takes.Store(int64(c.takes))
			took, degraded := search(c.left)
			require.Equal(t, c.took, took)
			require.Equal(t, c.takes == time.Hour, degraded != nil, c)
			if degraded != nil {
				require.ErrorIs(t, degraded, backends.ErrUnavailable)
				require.ErrorContains(t, degraded, "no answer within")
			}
		}
		time.Sleep(time.Hour) // until those that answer too late end
	})
}

// After two searches nobody waits any more: what answers again is found out beside a search.
func TestNoSearchWaitsForWhatIsLeftAlone(t *testing.T) {
	eachDeaf(t, func(t *testing.T, d *deaf, _ *Ranker, search func(time.Duration) (time.Duration, error)) {
		d.takes.Store(int64(time.Minute))
		for range 2 {
			took, degraded := search(0)
			require.Equal(t, time.Second, took)
			require.Error(t, degraded)
		}
		for range 30 { // a search a second
			took, degraded := search(0)
			require.Zero(t, took)
			require.ErrorIs(t, degraded, fault.ErrOpen)
			require.ErrorIs(t, degraded, backends.ErrUnavailable)
			time.Sleep(time.Second)
		}
		require.EqualValues(t, 2+4, d.calls.Load(), "probes after 1, 2, 4 and 8 seconds, and what they take")
		d.takes.Store(int64(0))
		time.Sleep(time.Minute)
		_, degraded := search(0)
		require.ErrorIs(t, degraded, fault.ErrOpen, "the probe is beside this one")
		synctest.Wait()
		_, degraded = search(0)
		require.NoError(t, degraded)
		require.EqualValues(t, 2+4+2, d.calls.Load())
	})
}

func TestCloseWaitsForAProbe(t *testing.T) {
	eachDeaf(t, func(t *testing.T, d *deaf, r *Ranker, search func(time.Duration) (time.Duration, error)) {
		d.takes.Store(int64(time.Minute))
		for range 2 {
			_, _ = search(0)
		}
		time.Sleep(time.Second)
		_, _ = search(0)
		start := time.Now()
		require.NoError(t, r.Close())
		require.Equal(t, time.Second, time.Since(start), "as long as a search would wait")
		time.Sleep(time.Minute)
	})
}

// What is too slow for a reply still makes the vectors that are stored, and the searches of
// those that learn wait for it.
func TestAnEmbedderThatIsTooSlowForRepliesIsUsedToLearn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := &deaf{}, newStore(1)
		d.takes.Store(int64(10 * time.Second))
		r := newRanker(t, s, inASecond, withEmbedder("m", embedder(func([]string) ([][]float64, error) {
			d.answer()
			return [][]float64{{1, 2}}, nil
		})))
		for i := range 4 {
			embed(t, s, r, ann, nil, backends.Memory{ID: string(rune('a' + i)), Text: "tea"})
			resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
			require.NoError(t, err)
			require.Error(t, resp.Degraded)
			resp, err = r.Search(WithVectors(t.Context(), &Vectors{}), ann, &backends.SearchRequest{Query: "tea"})
			require.NoError(t, err)
			require.NoError(t, resp.Degraded)
			require.Positive(t, resp.Hits[0].Parts.Vector)
		}
		d.takes.Store(int64(time.Hour))
		for range 5 {
			start := time.Now()
			_, _, err := r.Embed(t.Context(), []string{"tea"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.Equal(t, 2*time.Minute, time.Since(start))
		}
		_, _, err := r.Embed(t.Context(), []string{"tea"})
		require.ErrorIs(t, err, fault.ErrOpen)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		time.Sleep(time.Hour)
	})
}

// A text that is refused says nothing of the service, whichever way the client says so.
func TestAnEmbedderThatRefusesTextsIsNotLeftAlone(t *testing.T) {
	s, refusal := newStore(1), errors.New("error, status code: 400, message: too long")
	r := newRanker(t, s, withEmbedder("m", embedder(func(texts []string) ([][]float64, error) {
		if texts[0] == "long" {
			return nil, refusal
		}
		return [][]float64{{1, 2}}, nil
	})))
	embed(t, s, r, ann, nil, backends.Memory{ID: "a", Text: "tea"})
	for range 2 * openForStoring {
		_, _, err := r.Embed(t.Context(), []string{"long"})
		require.ErrorIs(t, err, refusal)
		require.ErrorIs(t, err, backends.ErrInvalid)
		resp, err := r.Search(t.Context(), ann, &backends.SearchRequest{Query: "long"})
		require.NoError(t, err)
		require.ErrorIs(t, resp.Degraded, refusal)
	}
	embed(t, s, r, ann, nil, backends.Memory{ID: "b", Text: "tea"})
}
