// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// screening decides which hits of a search are shown. It hides a hit by its identity, never by the
// likeness of its words:
//
//   - A turn gives its place and its score to the facts that it taught, if they are hits.
//   - If a part of a turn is past, the turn gives them to the current facts in its place. If there
//     is none, after a retraction or a deletion, the turn is left out. If the request excludes
//     the current facts, the turn stays, and Hit.Ended gives the time.
//   - Of hits with the same words by the same speaker one is shown.
//
// A search for the past, by AsOf, KnownAt or IncludeSuperseded, finds all turns except the ones
// whose facts are among the hits.
type screening struct {
	past   bool
	isHit  map[string]bool
	taught map[source][]*backends.Memory
	held   map[string]*backends.Memory // successors of past facts, by id
	wanted func(*backends.Memory) bool

	shown  []backends.Hit
	placed map[string]int    // the places in shown, by id
	said   map[[3]string]int // the same by the words and the speaker
}

func (b *Backend) screen(ctx context.Context, p backends.Partition, q *backends.SearchRequest, hits []backends.Hit) ([]backends.Hit, error) {
	s := &screening{past: !q.AsOf.IsZero() || !q.KnownAt.IsZero() || q.IncludeSuperseded, isHit: map[string]bool{}, placed: make(map[string]int, len(hits)), said: make(map[[3]string]int, len(hits)), shown: hits[:0]}
	matches, err := b.keep.Visible(q.Scope, p, q.Filter).Compile()
	if err != nil {
		return nil, err
	}
	now := b.keep.Now()
	s.wanted = func(m *backends.Memory) bool { return !m.Expired(now) && matches(m) }
	if s.taught, err = b.taughtBy(ctx, p, hits); err != nil {
		return nil, err
	}
	if len(s.taught) > 0 { // else each hit shows at most itself
		s.shown = make([]backends.Hit, 0, len(hits))
		for i := range hits {
			s.isHit[hits[i].ID] = true
		}
	}
	if s.held, err = b.successors(ctx, p, s.taught); err != nil {
		return nil, err
	}
	for i := range hits {
		s.show(&hits[i])
	}
	return b.withBefore(ctx, p, s.shown)
}

// taughtBy returns the facts that each message of the turns among the hits taught.
func (b *Backend) taughtBy(ctx context.Context, p backends.Partition, hits []backends.Hit) (map[source][]*backends.Memory, error) {
	var keys []string
	for i := range hits {
		if hits[i].Kind == backends.KindEpisode {
			for _, id := range hits[i].Origin.MessageIDs {
				keys = append(keys, source{hits[i].Origin.Session, id}.key())
			}
		}
	}
	taught := map[source][]*backends.Memory{}
	found, err := b.keep.Lookup(ctx, p, keys...)
	for _, m := range found {
		for _, from := range sourcesOf(m) {
			taught[from] = append(taught[from], m)
		}
	}
	return taught, err
}

// successors returns the memories that superseded past facts, directly or in a chain.
func (b *Backend) successors(ctx context.Context, p backends.Partition, taught map[source][]*backends.Memory) (map[string]*backends.Memory, error) {
	held := map[string]*backends.Memory{}
	var ids []string
	for _, facts := range taught {
		for _, m := range facts {
			ids = append(ids, m.SupersededBy)
		}
	}
	for {
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || held[id] != nil })
		if len(ids) == 0 {
			return held, nil
		}
		found, err := b.keep.Held(ctx, p, ids...)
		if err != nil {
			return nil, err
		}
		ids = ids[:0]
		for id, m := range found {
			held[id] = m
			ids = append(ids, m.SupersededBy)
		}
	}
}

// show shows a hit, or its heirs.
func (s *screening) show(h *backends.Hit) {
	heirs, ended := s.heirsOf(h)
	if !ended {
		heirs = slices.DeleteFunc(heirs, func(m *backends.Memory) bool { return !s.isHit[m.ID] })
	}
	switch {
	case !h.Ended.IsZero(), !ended && len(heirs) == 0:
		s.place(h)
	case s.past: // the facts are hits
	default:
		for _, m := range heirs {
			s.place(&backends.Hit{Memory: m.Clone(), Score: h.Score, Parts: h.Parts})
		}
	}
}

// heirsOf returns the wanted current facts of a turn, or their successors, and whether any fact of
// the turn is past. It sets the Ended of a turn whose heirs are unwanted.
func (s *screening) heirsOf(h *backends.Hit) (heirs []*backends.Memory, ended bool) {
	if h.Kind != backends.KindEpisode {
		return nil, false
	}
	for _, id := range h.Origin.MessageIDs {
		for _, m := range s.taught[source{h.Origin.Session, id}] {
			if m.Merged() { // its survivor says the same
				continue
			}
			heir, gone := s.heir(m), !s.past && !m.Active()
			ended = ended || gone
			switch {
			case heir == nil:
			case s.past || s.wanted(heir):
				heirs = append(heirs, heir)
			case gone && m.Invalidated.After(h.Ended):
				h.Ended = m.Invalidated
			}
		}
	}
	return heirs, ended
}

// heir returns the current fact for m: m itself, its successor, or nil. In a search for the past m
// stands for itself.
func (s *screening) heir(m *backends.Memory) *backends.Memory {
	for range len(s.held) + 1 {
		if s.past || m == nil || m.Active() {
			return m
		}
		m = s.held[m.SupersededBy]
	}
	return nil
}

// place shows a memory behind the others. If it is shown already, or its words are, by the same
// speaker, the older entry keeps its place, with the higher score. Of two memories the fact stays,
// or else the newer.
func (s *screening) place(h *backends.Hit) {
	said := wordsBy(h)
	at, ok := s.placed[h.ID]
	if !ok || h.ID == "" {
		at, ok = s.said[said]
		ok = ok && !s.past && said[0] != ""
	}
	if !ok {
		at = len(s.shown)
		s.shown = append(s.shown, *h)
	}
	was := &s.shown[at]
	if h.Score > was.Score {
		was.Score, was.Parts = h.Score, h.Parts
	}
	if isFact := h.Kind == backends.KindFact; isFact != (was.Kind == backends.KindFact) && isFact || h.Kind == was.Kind && h.Since().After(was.Since()) {
		was.Memory = h.Memory
	}
	s.placed[h.ID], s.said[said] = at, at
}

// wordsBy returns the speaker and the words of a fact or a turn, as the key of equal ones. It is
// empty for other memories.
func wordsBy(h *backends.Hit) [3]string {
	if h.Kind != backends.KindFact && h.Kind != backends.KindEpisode || !h.Ended.IsZero() {
		return [3]string{}
	}
	speaker := h.Origin.Speaker
	if h.Origin.Role == string(schema.Assistant) {
		speaker = cmp.Or(speaker, h.Origin.Role)
	}
	return [3]string{"said", speaker, text.Fold(h.Text)}
}

// withBefore adds to hits the memories that they replaced, and the times of their ends.
func (b *Backend) withBefore(ctx context.Context, p backends.Partition, hits []backends.Hit) ([]backends.Hit, error) {
	var ids []string
	for i := range hits {
		if hits[i].Supersedes != "" {
			ids = append(ids, hits[i].Supersedes)
		}
	}
	before, err := b.keep.Held(ctx, p, ids...)
	for i := range hits {
		h := &hits[i]
		if m := before[h.Supersedes]; m != nil {
			was := m.Clone()
			h.Before = &was
		}
		if !h.Active() {
			h.Ended = h.Invalidated
		}
	}
	return hits, err
}
