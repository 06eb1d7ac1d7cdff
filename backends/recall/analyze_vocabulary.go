// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"sync"
)

// vocabulary numbers terms from 0 on. The readers of one load share it. It is safe
// for concurrent use.
type vocabulary struct {
	mu    sync.Mutex
	ids   map[string]int32 // term → number
	names []string         // number → term

	adopted []int32 // number → number of the lexicon that adopts it, or noTerm
	sweeps  int     // of that lexicon, when adopted was empty
}

// noTerm stands for the term of a stop word.
const noTerm = -1

func newVocabulary() *vocabulary { return &vocabulary{ids: map[string]int32{}} }

// number returns the number of a term.
func (v *vocabulary) number(term string) int32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, ok := v.ids[term]
	if !ok {
		n = int32(len(v.names))
		term = strings.Clone(term) // it may be a part of a long text
		v.ids[term] = n
		v.names = append(v.names, term)
	}
	return n
}
