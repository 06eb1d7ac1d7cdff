// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// Embedder hashes the words of a text (and, of Chinese, the characters) into a
// vector: texts that share words are near each other. It is for tests of the way
// that vectors take, never for retrieval. It is safe for concurrent use.
type Embedder struct {
	Dim      int // Required.
	Err      error
	Requests atomic.Int64                // that succeeded so far
	Texts    atomic.Int64                // how many texts were embedded so far
	Vector   func(text string) []float64 // Optional. Replaces the hashing.
}

var _ embedding.Embedder = (*Embedder)(nil)

// EmbedStrings implements embedding.Embedder.
func (e *Embedder) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.Requests.Add(1)
	e.Texts.Add(int64(len(texts)))
	out := make([][]float64, len(texts))
	for i, t := range texts {
		if e.Vector != nil {
			out[i] = e.Vector(t)
			continue
		}
		out[i] = e.hash(t)
	}
	return out, nil
}

func (e *Embedder) hash(text string) []float64 {
	v := make([]float64, e.Dim)
	for _, w := range words(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(w))
		v[h.Sum32()%uint32(e.Dim)]++
	}
	v[0] += 1e-3 // no text is the zero vector
	return v
}

var han = regexp.MustCompile(`\p{Han}`)

func words(text string) []string {
	text = han.ReplaceAllString(strings.ToLower(text), " $0 ")
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// NumberedTurn is a turn that has a number of its own, of messages of so many words.
func NumberedTurn(n, words int) []*schema.Message {
	return Turn(fmt.Sprintf("turn%dend. %s", n, Page(n, words)), "Noted. "+Page(n, words))
}

var turnNumber = regexp.MustCompile(`turns?(\d+)(?:to(\d+))?end`)

// Numbers returns the numbers of the turns in a text, ascending.
func Numbers(text string) []int {
	var out []int
	for _, m := range turnNumber.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		upto, err := strconv.Atoi(m[2])
		if err != nil {
			upto = from
		}
		for n := from; n <= upto; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// KeepNumbers is the answer of a model that summarises: the summary has the numbers of
// the turns that it was shown, in ranges. before, which may be nil, is called first.
func KeepNumbers(before func()) Reply {
	return func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		if before != nil {
			before()
		}
		numbers := Numbers(in[len(in)-1].Content)
		var ranges []string
		for i := 0; i < len(numbers); {
			j := i
			for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
				j++
			}
			ranges = append(ranges, fmt.Sprintf("turns%dto%dend", numbers[i], numbers[j]))
			i = j + 1
		}
		arguments := fmt.Sprintf(`{"goal":"talk","directives":[],"facts":[%q],"failed":[],"open":[],"next":[]}`, strings.Join(ranges, " "))
		return Call("k", "keep_summary", arguments)(ctx, in, opts)
	}
}
