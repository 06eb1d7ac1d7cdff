// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/internal/text"
)

const (
	neighbours = 5 // memories to compare an entry with
	maxPairs   = 3 // similar ones that the model sees
)

// entry is a candidate on its way into the workspace.
type entry struct {
	memory backends.Memory
	key    string           // of its words
	known  *backends.Memory // a memory of the workspace with the same words, or the successor of one
	first  *entry           // the earlier entry of the request with the same words
	pairs  []*pair          // its possible duplicates, the most similar first

	target  *target // the memory that stores it
	outcome backends.Outcome
	merged  bool
}

// pair is an entry and a similar text.
type pair struct {
	entry      *entry
	known      *backends.Memory // of the workspace, or
	earlier    *entry           // of the request
	similarity float64
}

func (p *pair) other() *backends.Memory {
	if p.earlier != nil {
		return &p.earlier.memory
	}
	return p.known
}

func (p *pair) key() [2]string { return [2]string{p.entry.key, keyOf(p.other())} }

// entries returns the candidates in the form for the store. It drops a candidate if redaction
// leaves it empty.
func (s *summary) entries(candidates []backends.Memory) []*entry {
	var out []*entry
	for i := range candidates {
		if e := (&entry{memory: s.memory(&candidates[i])}); e.memory.WhenToUse != "" && e.memory.Text != "" {
			e.key = keyOf(&e.memory)
			out = append(out, e)
		}
	}
	return out
}

// deduplicate finds the duplicates of each entry: the same words first, then similar ones, about
// which the model decides. Without a model only the words decide.
func (s *summary) deduplicate(ctx context.Context, entries []*entry) error {
	if err := s.exact(ctx, entries); err != nil {
		return err
	}
	if s.m.model == nil {
		return nil
	}
	if err := s.near(ctx, entries); err != nil {
		return err
	}
	return s.decide(ctx, entries)
}

// exact finds the entries with known words: in a current memory, in one whose successor is current,
// or earlier in the request.
func (s *summary) exact(ctx context.Context, entries []*entry) error {
	first := map[string]*entry{}
	var keys []string
	for _, e := range entries {
		if e.first = first[e.key]; e.first == nil {
			first[e.key] = e
			keys = append(keys, e.key)
		}
	}
	found, err := s.m.keeper.Lookup(ctx, s.workspace, keys...)
	if err != nil {
		return fmt.Errorf("task: looking for duplicates: %w", err)
	}
	for _, mem := range found {
		if e := first[keyOf(mem)]; e != nil && e.known == nil {
			if e.known, err = s.m.head(ctx, s.workspace, mem); err != nil {
				return err
			}
		}
	}
	return nil
}

// near pairs each open entry with similar texts: among the five memories that a search finds, and
// among the entries before it.
func (s *summary) near(ctx context.Context, entries []*entry) error {
	open := slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.known != nil || e.first != nil })
	hits := make([][]backends.Hit, len(open))
	err := parallel(ctx, len(open), func(ctx context.Context, i int) (err error) {
		hits[i], err = s.search(ctx, open[i])
		return err
	})
	if err != nil {
		return fmt.Errorf("task: looking for duplicates: %w", err)
	}
	var texts []string
	for i, e := range open {
		for j := range hits[i] {
			e.pairs = append(e.pairs, &pair{entry: e, known: &hits[i][j].Memory})
			texts = append(texts, bothTexts(&hits[i][j].Memory))
		}
		for _, earlier := range open[:i] {
			e.pairs = append(e.pairs, &pair{entry: e, earlier: earlier})
		}
		texts = append(texts, bothTexts(&e.memory))
	}
	similarity, err := s.m.similarity(ctx, s.run, texts)
	if err != nil {
		return err
	}
	threshold := s.m.config.DuplicateWords
	if s.m.keeper.Embeds() {
		threshold = s.m.config.Duplicate
	}
	for _, e := range open {
		if ctx.Err() != nil { // many entries take time, and others wait for the workspace
			return fmt.Errorf("task: looking for duplicates: %w", context.Cause(ctx))
		}
		for _, p := range e.pairs {
			p.similarity = similarity(bothTexts(&e.memory), bothTexts(p.other()))
		}
		e.pairs = slices.DeleteFunc(e.pairs, func(p *pair) bool { return p.similarity < threshold })
		slices.SortStableFunc(e.pairs, func(a, b *pair) int { return cmp.Compare(b.similarity, a.similarity) })
		e.pairs = e.pairs[:min(maxPairs, len(e.pairs))]
	}
	return nil
}

// search returns memories that the entry may duplicate. A memory with the same words, stored
// meanwhile, is ErrConflict.
func (s *summary) search(ctx context.Context, e *entry) ([]backends.Hit, error) {
	resp, err := s.m.keeper.Search(recall.WithVectors(ctx, &recall.Vectors{}), s.workspace, &backends.SearchRequest{
		Query: bothTexts(&e.memory), TopK: neighbours, Kinds: []backends.Kind{backends.KindTask},
	})
	if err == nil && !errors.Is(resp.Degraded, backends.ErrDimension) { // until a re-embedding words have to do
		err = resp.Degraded // a search by words only would miss what the embedder finds
	}
	if err != nil {
		return nil, err
	}
	if s.m.keeper.Embeds() {
		s.run.Embedded(1)
	}
	if slices.ContainsFunc(resp.Hits, func(h backends.Hit) bool { return keyOf(&h.Memory) == e.key }) {
		return nil, fmt.Errorf("the same words were stored meanwhile: %w", backends.ErrConflict)
	}
	return resp.Hits, nil
}

// Decisions about a pair.
const (
	decideSame     = "same"
	decideMerge    = "merge"
	decideDistinct = "distinct"
)

// decisions are the model's answer about pairs.
type decisions struct {
	Decisions []decision `json:"decisions" jsonschema_description:"one for each pair"`
}

// decision is the model's decision about a pair. With merge the texts belong to the merged
// experience.
type decision struct {
	Pair      int    `json:"pair" jsonschema_description:"the number of the pair"`
	Decision  string `json:"decision" alias:"verdict" jsonschema:"enum=same,enum=merge,enum=distinct"`
	WhenToUse string `json:"when_to_use,omitempty" jsonschema_description:"for merge: the situation of the merged experience"`
	Content   string `json:"content,omitempty" jsonschema_description:"for merge: the merged experience"`
}

// Check refuses an unusable decision; the error is for the model.
func (d *decision) Check() error {
	switch d.Decision {
	case decideSame, decideDistinct:
		return nil
	case decideMerge:
		if text.HasWords(d.WhenToUse) && text.HasWords(d.Content) {
			return nil
		}
		return errors.New("merge needs when_to_use and content")
	}
	return errors.New("decision is neither same nor merge nor distinct")
}

// decide asks the model about every pair, all in one question if they fit.
func (s *summary) decide(ctx context.Context, entries []*entry) error {
	var open []*pair
	for _, e := range entries {
		for _, p := range e.pairs {
			if _, decided := s.decisions[p.key()]; !decided { // at an earlier look
				open = append(open, p)
			}
		}
	}
	for len(open) > 0 {
		n, err := s.askAbout(ctx, open)
		if err != nil {
			return err
		}
		open = open[n:]
	}
	return nil
}

// askAbout asks about the first of the pairs, as many as one prompt has room for, and
// returns how many those are.
func (s *summary) askAbout(ctx context.Context, pairs []*pair) (int, error) {
	blocks := make([]string, len(pairs))
	for i, p := range pairs {
		known := p.other()
		blocks[i] = fmt.Sprintf("pair %d\n", i) + s.m.shown("new", p.entry.memory.WhenToUse, p.entry.memory.Text) + s.m.shown("known", known.WhenToUse, known.Text)
	}
	n := fitting(blocks, s.m.prompt)
	q := s.m.question(s.m.language.For(blocks[:n]...), func(p *prompts) string { return p.Duplicates }, fenced{"pairs", strings.Join(blocks[:n], "")})
	q.Tool, q.Purpose = "task_duplicates", "Decide every pair."
	answer, err := ask.For(ctx, s.run, q, func(d *decisions) error {
		return ask.EachOnce("pair", 0, n, d.Decisions, func(d decision) int { return d.Pair })
	})
	if err != nil {
		return 0, fmt.Errorf("task: deciding about %d candidates that resemble known experience: %w", n, err)
	}
	for _, d := range answer.Value.Decisions {
		d.WhenToUse, d.Content = s.m.redact(d.WhenToUse), s.m.redact(d.Content)
		if d.Decision == decideMerge && (!text.HasWords(d.WhenToUse) || !text.HasWords(d.Content)) { // redaction emptied it
			d.Decision = decideDistinct
		}
		s.decisions[pairs[d.Pair].key()] = d
	}
	return n, nil
}

// decision returns the model's decision about a pair.
func (s *summary) decision(p *pair) decision { return s.decisions[p.key()] }

// fitting returns how many of the blocks have at most limit tokens together, and at least
// 1.
func fitting(blocks []string, limit int) int {
	n := 0
	for n < len(blocks) {
		if limit -= text.Tokens(blocks[n]); limit < 0 && n > 0 {
			break
		}
		n++
	}
	return n
}

// similarity returns how similar two of the texts are, 0 to 1: the cosine of their vectors, which
// one call of the embedder computes, or Dice's coefficient of their words without an embedder.
func (m *Memory) similarity(ctx context.Context, run *ask.Run, texts []string) (func(a, b string) float64, error) {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	if !m.keeper.Embeds() || len(texts) < 2 { // a single text needs no call
		words := map[string]map[string]bool{}
		for _, s := range texts {
			words[s] = wordsOf(s)
		}
		return func(a, b string) float64 { return dice(words[a], words[b]) }, nil
	}
	encoded, space, err := m.keeper.Ranker().Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("task: comparing texts: %w", err)
	}
	run.Embedded(len(texts))
	vectors := map[string][]float32{}
	for i, e := range encoded {
		if vectors[texts[i]], err = recall.Decoder(*space)(e); err != nil {
			return nil, fmt.Errorf("task: comparing texts: %w", err)
		}
	}
	return func(a, b string) float64 { return float64(vek32.CosineSimilarity(vectors[a], vectors[b])) }, nil
}

// word is a run of letters and digits, or a Chinese character, since Chinese text lacks spaces.
var word = regexp.MustCompile(`\p{Han}|(?:[^\P{L}\p{Han}]|[\p{N}\p{M}])+`)

// wordsOf returns the distinct words of a text, folded.
func wordsOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range word.FindAllString(text.Fold(s), -1) {
		out[w] = true
	}
	return out
}

// dice returns Dice's coefficient of two sets: twice what they share, divided by the sum
// of their sizes.
func dice(a, b map[string]bool) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	shared := 0
	for w := range a {
		if b[w] {
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b))
}
