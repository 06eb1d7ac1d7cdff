// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Corpus is a set of made-up memories, and queries for them. The same arguments
// make the same corpus.
type Corpus struct {
	Texts   []string // words of which some are common and most are rare
	Queries []string // of such words, too
	// Strange are queries without a word that a memory holds: only vectors answer
	// them.
	Strange []string
	Topics  *Topics // the vectors of them all
}

// perTopic is how many memories are about the same.
const perTopic = 50

// NewCorpus makes n memories, and as many queries of each sort as asked for, with
// vectors of dim components.
func NewCorpus(n, queries, dim int) *Corpus {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	c := &Corpus{Topics: NewTopics(max(1, n/perTopic), dim)}
	for range n {
		c.Texts = append(c.Texts, Text(rnd, 10+rnd.IntN(20)))
	}
	for i := range queries {
		c.Queries = append(c.Queries, Text(rnd, 8))
		c.Strange = append(c.Strange, strings.Repeat("？", i+1)+"問")
	}
	return c
}

// Text returns n words whose frequencies follow Zipf's law.
func Text(rnd *rand.Rand, n int) string {
	zipf := rand.NewZipf(rnd, 1.1, 8, 20_000)
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%dx", zipf.Uint64())
	}
	return strings.Join(words, " ")
}
