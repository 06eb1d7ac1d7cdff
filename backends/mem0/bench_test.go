// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/recall"
)

// made returns n sentences whose words follow Zipf's law.
func made(rnd *rand.Rand, n int) (out []string) {
	zipf := rand.NewZipf(rnd, 1.1, 8, 20_000)
	for range n {
		var words []string
		for range 8 + rnd.IntN(16) {
			words = append(words, fmt.Sprintf("w%dx", zipf.Uint64()))
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// BenchmarkSearchBesideTheRanker times a search of a person's memory beside that of the ranker alone over the same
// store, in turns, and reports the medians and how many times as long the search takes.
func BenchmarkSearchBesideTheRanker(b *testing.B) {
	for _, n := range []int{700, 10_000} {
		for _, k := range []int{5, 50} {
			for _, brief := range []int{0, 300, 1000} {
				b.Run(fmt.Sprintf("memories=%d/top=%d/brief=%d", n, k, brief), func(b *testing.B) {
					backend, ranker, queries := filled(b, n)
					p, _ := ann.Speaker()
					var both [2][]time.Duration
					for i := 0; b.Loop(); i++ {
						q := backends.SearchRequest{Scope: ann, Query: queries[i%len(queries)], TopK: k}
						both[0] = append(both[0], took(b, func() (*backends.SearchResponse, error) { return ranker.Search(ctx, p, &q) }))
						q.Brief = brief
						both[1] = append(both[1], took(b, func() (*backends.SearchResponse, error) { return backend.Search(ctx, &q) }))
					}
					for i := range both {
						slices.Sort(both[i])
					}
					alone, whole := both[0][len(both[0])/2], both[1][len(both[1])/2]
					b.ReportMetric(float64(alone.Nanoseconds()), "ranker-ns")
					b.ReportMetric(float64(whole.Nanoseconds()), "search-ns")
					b.ReportMetric(float64(whole)/float64(alone), "times")
				})
			}
		}
	}
}

// filled returns a backend with n turns of 30 a session, every second one a user's, of which every
// tenth taught a fact, a ranker over its store, and queries.
func filled(b *testing.B, n int) (*mem0.Backend, *recall.Ranker, []string) {
	b.Helper()
	st := openStore(b)
	backend := open(b, on(st))
	rnd := rand.New(rand.NewPCG(1, 2))
	texts := made(rnd, n)
	for from := 0; from < n; from += 30 {
		r := &backends.AddRequest{Scope: ann}
		r.Scope.SessionID = fmt.Sprint("s", from/30)
		for i := from; i < min(n, from+30); i++ {
			said := schema.UserMessage("I " + texts[i])
			if i%2 == 1 {
				said = schema.AssistantMessage(texts[i], nil)
			}
			r.Messages = append(r.Messages, backends.Message{ID: fmt.Sprint("m", i), Turn: fmt.Sprint("t", i/2), Time: start.Add(time.Duration(i-n) * time.Minute), Message: said})
		}
		_, err := backend.Add(ctx, r)
		require.NoError(b, err)
	}
	ranker, err := recall.New(ctx, &recall.Config{Records: st, Clock: fixed})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, ranker.Close()) })
	return backend, ranker, made(rnd, 64)
}

func took(b *testing.B, search func() (*backends.SearchResponse, error)) time.Duration {
	began := time.Now()
	resp, err := search()
	took := time.Since(began)
	require.NoError(b, err)
	require.NotEmpty(b, resp.Hits)
	return took
}
