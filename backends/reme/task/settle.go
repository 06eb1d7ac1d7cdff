// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// settle turns the verdicts into fates, lesson by lesson. What is the same comes
// before what is joined, the nearer before the farther. A memory, and a lesson, is
// joined with one other at most: a second one that should be is stored beside it, so
// that no words are lost.
func (t *try) settle() {
	joined := map[string]bool{} // ids of memories, words of lessons
	for _, l := range t.lessons {
		if l.fate != fateAdd {
			continue
		}
		for _, p := range l.pairs {
			if t.verdict(p).Kind == verdictSame && t.same(p) {
				break
			}
		}
		for _, p := range l.pairs {
			if l.fate == fateAdd && t.verdict(p).Kind == verdictMerge {
				t.merge(p, joined)
			}
		}
	}
}

func (t *try) verdict(p *pair) verdict { return t.draft.memo.verdicts[p.key()] }

// same settles a lesson that says what another says.
func (t *try) same(p *pair) bool {
	l := p.lesson
	switch {
	case p.twin == nil:
		l.fate, l.known = fateSame, p.known
	case p.twin.known != nil:
		l.fate, l.known = fateSame, p.twin.known
	case p.twin.fate == fateAdd:
		l.fate, l.twin = fateSame, p.twin
	default:
		return false
	}
	return true
}

// merge settles a lesson that is to be joined with another, if that one still stands
// alone.
func (t *try) merge(p *pair, joined map[string]bool) {
	l := p.lesson
	if p.twin != nil {
		if p.twin.fate == fateAdd && !joined[p.twin.key] {
			joined[p.twin.key] = true
			l.fate, l.twin = fateMerge, p.twin
		}
		return
	}
	if !joined[p.known.ID] {
		joined[p.known.ID] = true
		l.fate, l.known = fateMerge, p.known
	}
}

// joins returns the verdict by which a lesson is joined with another.
func (t *try) joins(l *lesson) verdict {
	for _, p := range l.pairs {
		if v := t.verdict(p); v.Kind == verdictMerge && p.twin == l.twin && (l.twin != nil || p.known.ID == l.known.ID) {
			return v
		}
	}
	return verdict{}
}

// joinTwins makes one of the lessons of the request that are to be joined, and counts
// those that say the same. Their words are those of one record from then on.
func (t *try) joinTwins() {
	for _, l := range t.lessons {
		if l.twin == nil || l.known != nil {
			continue
		}
		twin := &l.twin.memory
		switch l.fate {
		case fateSame:
			corroborate(twin, l.key)
		case fateMerge:
			v := t.joins(l)
			mark(twin, l.twin.key, l.key)
			unite(twin, &l.memory)
			twin.WhenToUse, twin.Text = v.WhenToUse, v.Content
		}
	}
}

// knownJoined turns lessons whose words, joined, are those of a memory that is there, or
// of another lesson of the request, into ones that are known.
func (t *try) knownJoined(ctx context.Context) error {
	all := map[string][]*lesson{} // by the words that they are to be stored in
	var keys []string
	for _, l := range t.lessons {
		key, joined := t.stored(l)
		if key == "" {
			continue
		}
		if all[key] = append(all[key], l); joined {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := t.m.keeper.Lookup(ctx, t.draft.workspace, keys...)
	if err != nil {
		return fmt.Errorf("task: looking for what is known: %w", err)
	}
	for _, m := range found {
		if m.Active() && !m.Expired(t.m.keeper.Now()) {
			for _, l := range all[keyOf(m)] {
				l.fate, l.known = fateSame, m
			}
			delete(all, keyOf(m))
		}
	}
	for _, same := range all {
		for _, l := range same[1:] {
			same[0].take(l)
		}
	}
	return nil
}

// stored returns the key of the words that a lesson is to be stored in, and whether they
// come of a joining; none for one that is not.
func (t *try) stored(l *lesson) (key string, joined bool) {
	switch {
	case l.fate == fateMerge && l.known != nil:
		v := t.joins(l)
		return keeper.TextKey(backends.KindTask, v.WhenToUse, v.Content), true
	case l.fate == fateAdd:
		key = keyOf(&l.memory)
		return key, key != l.key
	}
	return "", false
}

// take counts a lesson that came to the same words: nothing else is to be stored for it.
func (l *lesson) take(other *lesson) {
	other.fate = fateSame
	if l.fate == fateMerge {
		other.known = l.known
		return
	}
	other.known, other.twin = nil, l
	corroborate(&l.memory, other.key)
	remember(&l.memory, texts(&other.memory, MetaSameAs))
	unite(&l.memory, &other.memory)
}

// unite puts what b knows about itself into a: the union of tags and tools, the
// higher confidence and quality, the later time. Counts stay a's.
func unite(a, b *backends.Memory) {
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	for _, key := range []string{MetaTags, MetaToolsUsed} {
		setTexts(a.Metadata, key, united(texts(a, key), texts(b, key)))
	}
	if c := max(number(a, MetaConfidence), number(b, MetaConfidence)); c > 0 {
		a.Metadata[MetaConfidence] = c
	}
	for key, v := range b.Metadata {
		if _, there := a.Metadata[key]; !there && key != MetaFreq && key != MetaUtility && key != MetaCorroborated && key != MetaSameAs {
			a.Metadata[key] = backends.CloneJSON(v)
		}
	}
	if b.Quality != nil && (a.Quality == nil || *a.Quality < *b.Quality) {
		q := *b.Quality
		a.Quality = &q
	}
	if a.Observed.Before(b.Observed) {
		a.Observed = b.Observed
	}
}
