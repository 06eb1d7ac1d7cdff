// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
)

// paraphrase is a question and the fact that answers it.
type paraphrase struct{ language, question, fact string }

// scripted returns an embedder that puts a question near the fact that answers it, as near as its
// noise allows. All its texts share a direction, by which their cosines are narrow.
func scripted(pairs []paraphrase, noise, common float64) *testkit.Embedder {
	about := map[string]string{}
	for _, p := range pairs {
		about[p.question], about[halfOf(p.fact)] = p.fact, p.fact
	}
	return &testkit.Embedder{Vector: func(text string) []float64 {
		topic := text
		if fact, ok := about[text]; ok {
			topic = fact
		}
		v, noisy := drawn(topic), drawn("noise "+text)
		for i := range v {
			v[i] += noise * noisy[i]
		}
		v[0] += common
		return v
	}}
}

// drawn returns a vector that says nothing about a text.
func drawn(text string) []float64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	rnd, v := rand.New(rand.NewPCG(h.Sum64(), 1)), make([]float64, 64)
	for i := range v {
		v[i] = rnd.NormFloat64()
	}
	return v
}

// Words and vectors together find what the better of both finds, less two questions at most. A
// question has no word of its fact, or half of them. An embedder that knows no meaning is asked
// where words can answer.
func TestTogetherFindsWhatTheBetterOneFinds(t *testing.T) {
	testkit.SlowUnderRace(t)
	var pairs []paraphrase
	raw, err := os.ReadFile("testdata/paraphrases.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		pairs = append(pairs, paraphrase{fields[0], fields[2], fields[3]})
	}
	raw, err = os.ReadFile("testdata/others.txt")
	require.NoError(t, err)
	others := strings.Split(strings.TrimSpace(string(raw)), "\n")
	var texts []string
	for _, p := range pairs {
		texts = append(texts, p.fact)
	}
	texts = append(texts, others...)
	open := func(options ...func(*Config)) func(string) []string {
		s := newStore(100)
		r := newRanker(t, s, options...)
		r.scales.Store(nil)
		var ms []backends.Memory
		for i, text := range texts {
			ms = append(ms, backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: text})
		}
		embed(t, s, r, ann, nil, ms...)
		return func(question string) (out []string) {
			for _, h := range search(t, r, ann, backends.SearchRequest{Query: question, TopK: 10}) {
				out = append(out, h.Text)
			}
			return out
		}
	}
	answered := func(pairs []paraphrase, rank func(question string) []string) (of [3]float64) { // percent of the questions whose fact is among the first 1, 5 and 10
		for _, p := range pairs {
			at := slices.Index(rank(p.question), p.fact)
			for i, k := range []int{1, 5, 10} {
				if at >= 0 && at < k {
					of[i] += 100 / float64(len(pairs))
				}
			}
		}
		return of
	}
	words := open()
	const slack = 4.0 // two of 52 questions
	for name, e := range map[string]embedding.Embedder{
		"good": scripted(pairs, 1, 0), "good, narrow": scripted(pairs, 1, 16), "fair": scripted(pairs, 1.3, 0), "fair, narrow": scripted(pairs, 1.3, 16),
		"a bag of words": hashed(512), "random": &testkit.Embedder{Vector: drawn}, "all alike": &testkit.Embedder{Vector: func(string) []float64 { return []float64{1, 0} }},
	} {
		together := open(withEmbedder("m", e))
		vectors := func(question string) []string {
			raw, err := e.EmbedStrings(t.Context(), append([]string{question}, texts...))
			require.NoError(t, err)
			var vectors [][]float32
			for _, v := range raw {
				n, err := normalise(v)
				require.NoError(t, err)
				vectors = append(vectors, n)
			}
			order := make([]int, len(texts))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int {
				return int(1e6 * (vek32.Dot(vectors[0], vectors[1+b]) - vek32.Dot(vectors[0], vectors[1+a])))
			})
			out := make([]string, 0, 10)
			for _, i := range order[:10] {
				out = append(out, texts[i])
			}
			return out
		}
		for _, language := range []string{"en", "zh"} {
			for _, half := range []bool{false, true} {
				if means := strings.Contains(name, "good") || strings.Contains(name, "fair"); !means && !half {
					continue
				}
				var asked []paraphrase
				for _, p := range pairs {
					if half {
						p.question = halfOf(p.fact)
					}
					if p.language == language {
						asked = append(asked, p)
					}
				}
				a, b, both := answered(asked, words), answered(asked, vectors), answered(asked, together)
				t.Logf("%s, %s, half=%v: words %.0f, vectors %.0f, together %.0f", name, language, half, a, b, both)
				for i := range both {
					require.GreaterOrEqual(t, both[i], max(a[i], b[i])-slack, "%s, %s, half of the words: %v", name, language, half)
				}
			}
		}
	}
}

// halfOf returns every second word or pair of characters of a text.
func halfOf(text string) (out string) {
	if hasHan(text) {
		for i, c := range []rune(text) {
			if i%4 < 2 {
				out += string(c)
			}
		}
		return out
	}
	for i, word := range strings.Fields(text) {
		if i%2 == 1 {
			out += word + " "
		}
	}
	return strings.TrimSpace(out)
}
