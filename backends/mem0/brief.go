// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// factKey is the key of all facts.
var factKey = text.HashKey("fact")

// brief adds the standing facts to an answer. If all current facts and statements take at most
// q.Brief tokens, it adds all of them: the facts, and statements of the user in turns without a
// fact. The filters of the search hold for both. A search of the past has no brief.
func (b *Backend) brief(ctx context.Context, p backends.Partition, q *backends.SearchRequest, resp *backends.SearchResponse) error {
	admitted := b.keep.Brief(p, q)
	if admitted == nil {
		return nil
	}
	matches, err := admitted.Filter.Compile()
	if err != nil {
		return err
	}
	beside := slices.DeleteFunc(slices.Clone(q.Beside), func(m backends.Memory) bool {
		return m.Origin.Role != string(schema.User) || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, m.Kind) || !matches(&m)
	})
	standing, err := b.standing(ctx, p, admitted, beside)
	if err != nil {
		return err
	}
	if resp.Standing, err = b.asHits(ctx, p, q.Scope, standing); err != nil || q.Brief < 0 {
		return err
	}
	holding, ok, err := b.holding(ctx, p, admitted, beside)
	if err != nil || !ok {
		return err
	}
	rest, err := b.asHits(ctx, p, q.Scope, holding)
	taught := sources{}
	taught.add(holding...)
	resp.Hits = slices.DeleteFunc(resp.Hits, func(h backends.Hit) bool { return h.Kind == backends.KindEpisode && taught.has(&h.Memory) })
	resp.Whole, resp.Hits = err == nil, append(resp.Hits, withoutHits(rest, resp.Hits)...)
	return err
}

// standing returns standing facts, and standing turns that taught no fact.
func (b *Backend) standing(ctx context.Context, p backends.Partition, q *backends.SearchRequest, beside []backends.Memory) ([]*backends.Memory, error) {
	var out []*backends.Memory
	_, err := b.keep.Ranker().Each(ctx, p, q, keeper.StandingKey, func(m *backends.Memory, _ func() bool) bool {
		out = append(out, m)
		return true
	})
	if err == nil {
		out, err = b.untaught(ctx, p, out)
	}
	for i := range beside {
		if speech.Standing(beside[i].Text) {
			out = append(out, &beside[i])
		}
	}
	return out, err
}

// doubted is how many times the tokens of a brief are looked through, since some turns taught facts
// that are past.
const doubted = 4

// holding returns the current facts and further statements of the user, newest first, and whether
// all of it takes at most q.Brief tokens.
func (b *Backend) holding(ctx context.Context, p backends.Partition, q *backends.SearchRequest, beside []backends.Memory) (out []*backends.Memory, ok bool, err error) {
	tokens, taught := 0, sources{}
	ok, err = b.keep.Ranker().Each(ctx, p, q, factKey, func(m *backends.Memory, _ func() bool) bool {
		out, tokens = append(out, m), tokens+text.Tokens(m.Text)
		taught.add(m)
		return tokens <= q.Brief
	})
	if !ok || err != nil {
		return nil, false, err
	}
	var turns []*backends.Memory
	said := 0
	ok, err = b.keep.Ranker().Each(ctx, p, q, "", func(m *backends.Memory, states func() bool) bool {
		if m.Kind == backends.KindEpisode && m.Origin.Role == string(schema.User) && !taught.has(m) && states() {
			turns, said = append(turns, m), said+text.Tokens(m.Text)
		}
		return said <= doubted*q.Brief
	})
	if !ok || err != nil {
		return nil, false, err
	}
	if turns, err = b.untaught(ctx, p, turns); err != nil {
		return nil, false, err
	}
	for i := range beside {
		if speech.Classify(beside[i].Text) == speech.Statement {
			turns = append(turns, &beside[i])
		}
	}
	for _, m := range turns {
		out, tokens = append(out, m), tokens+text.Tokens(m.Text)
	}
	slices.SortStableFunc(out, func(a, b *backends.Memory) int { return compareStored(b, a) })
	return out, tokens <= q.Brief, nil
}

// sources are the messages that some facts stand for.
type sources map[source]bool

func (s sources) add(facts ...*backends.Memory) {
	for _, m := range facts {
		for _, from := range sourcesOf(m) {
			s[from] = true
		}
	}
}

// has reports whether a fact stands for a turn.
func (s sources) has(turn *backends.Memory) bool {
	return slices.ContainsFunc(turn.Origin.MessageIDs, func(id string) bool { return s[source{turn.Origin.Session, id}] })
}

// untaught returns memories in the order of storing, except the turns that taught a fact, current
// or past.
func (b *Backend) untaught(ctx context.Context, p backends.Partition, all []*backends.Memory) ([]*backends.Memory, error) {
	slices.SortStableFunc(all, compareStored)
	hits := make([]backends.Hit, len(all))
	for i, m := range all {
		hits[i].Memory = *m
	}
	taught, err := b.taughtBy(ctx, p, hits)
	return slices.DeleteFunc(all, func(m *backends.Memory) bool {
		return m.Kind == backends.KindEpisode && slices.ContainsFunc(m.Origin.MessageIDs, func(id string) bool { return len(taught[source{m.Origin.Session, id}]) > 0 })
	}), err
}

func compareStored(a, b *backends.Memory) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// asHits returns memories in the form for the caller. It drops delicate ones, and repeats of the
// same words by the same speaker.
func (b *Backend) asHits(ctx context.Context, p backends.Partition, s backends.Scope, all []*backends.Memory) ([]backends.Hit, error) {
	var out []backends.Hit
	for _, m := range all {
		if !m.Delicate {
			out = append(out, withoutHits([]backends.Hit{{Memory: b.keep.Shown(s, p, m.Clone())}}, out)...)
		}
	}
	return b.withBefore(ctx, p, out)
}

// withoutHits returns hits, except the ones that are among others or have the words of another by
// the same speaker.
func withoutHits(hits, others []backends.Hit) []backends.Hit {
	ids, words := map[string]bool{}, map[[3]string]bool{}
	for i := range others {
		ids[others[i].ID], words[wordsBy(&others[i])] = others[i].ID != "", true
	}
	return slices.DeleteFunc(hits, func(h backends.Hit) bool { return ids[h.ID] || words[wordsBy(&h)] })
}
