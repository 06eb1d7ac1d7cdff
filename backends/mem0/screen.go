// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"maps"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/internal/speech"
)

// screening decides which hits of a search are shown, so that what is shown is true now and
// said once:
//
//   - A turn that states nothing is left out, and one of the assistant's that only repeats
//     what was known before it.
//   - A turn is left out where a fact that it taught is shown.
//   - A turn that says what facts say no longer holds gives its place to the fact that
//     replaced it. Where none did, because it was retracted or deleted, it is left out; where the
//     request does not want that fact, Hit.Ended says since when.
//   - Of two hits that say the same, one is left out.
//
// A search for the past, by AsOf, KnownAt or IncludeSuperseded, finds all but the turns for which
// facts among the hits stand.
type screening struct {
	backend   *Backend
	partition backends.Partition
	request   *backends.SearchRequest
	past      bool
	words     *recall.Words
	hits      []*screened
	successor map[string]*backends.Memory // of superseded facts, and of their successors, by id
}

// screened is a hit on its way through a screening.
type screened struct {
	backends.Hit
	words     map[string]bool
	out       bool               // it is left out
	answer    bool               // it was found by the question before it
	taught    []string           // ids of the facts that it taught
	ended     []*backends.Memory // facts that hold no more, and that it states
	resembles []*backends.Memory
}

func (b *Backend) screen(ctx context.Context, p backends.Partition, q *backends.SearchRequest, hits []backends.Hit) ([]backends.Hit, error) {
	s := &screening{backend: b, partition: p, request: q, words: b.keep.Ranker().Words()}
	s.past = q.IncludeSuperseded || !q.AsOf.IsZero() || !q.KnownAt.IsZero()
	for _, h := range hits {
		if s.past || h.Kind != backends.KindEpisode || states(&h.Memory) {
			s.hits = append(s.hits, &screened{Hit: h, words: s.words.Of(speech.Content(h.Text)), answer: h.Parts.Signals[recall.Answer] > 0})
		}
	}
	steps := []func(context.Context) error{s.leaveOutTaught}
	if !s.past {
		steps = append(steps, s.findResembling, s.findSuccessors)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.replaceEnded()
	s.deduplicate()
	return s.shown(ctx)
}

// states reports whether a turn states something.
func states(m *backends.Memory) bool {
	if m.Origin.Role == string(schema.Assistant) {
		return speech.ClassifyAnswer(m.Text) == speech.Statement
	}
	return speech.Classify(m.Text) == speech.Statement
}

// episodes returns the turns that are not left out yet.
func (s *screening) episodes() []*screened {
	var out []*screened
	for _, h := range s.hits {
		if h.Kind == backends.KindEpisode && !h.out {
			out = append(out, h)
		}
	}
	return out
}

// leaveOutTaught leaves out the turns that taught a fact among the hits, and finds out what
// the others taught.
func (s *screening) leaveOutTaught(ctx context.Context) error {
	turns, facts := map[source][]*screened{}, map[string]bool{}
	var keys []string
	for _, h := range s.hits {
		facts[h.ID] = h.Kind == backends.KindFact
	}
	for _, e := range s.episodes() {
		for _, id := range e.Origin.MessageIDs {
			from := source{e.Origin.Session, id}
			turns[from] = append(turns[from], e)
			keys = append(keys, from.key())
		}
	}
	if len(keys) == 0 {
		return nil
	}
	taught, err := s.backend.keep.Lookup(ctx, s.partition, keys...)
	for _, m := range taught {
		for _, from := range sourcesOf(m) {
			for _, e := range turns[from] {
				e.out = e.out || facts[m.ID]
				e.taught = append(e.taught, m.ID)
				if !m.Active() && !m.Merged() {
					e.ended = append(e.ended, m)
				}
			}
		}
	}
	return err
}

// What a turn is compared with.
const (
	resembling = 8   // memories that share its rarest words
	longEcho   = 30  // content words from which on a turn is no repetition
	echoShare  = 0.8 // of the words of a repetition were known before
)

// findResembling finds the memories that say what the turns say: facts that hold no more,
// and for the assistant's turns what was known before. Those that only repeat it are left
// out.
func (s *screening) findResembling(ctx context.Context) error {
	turns := s.episodes()
	texts := make([]string, len(turns))
	for i, e := range turns {
		texts[i] = e.Text
	}
	if len(texts) == 0 {
		return nil
	}
	found, err := s.backend.keep.Ranker().Resembling(ctx, s.partition, texts, resembling, func(i int, m *backends.Memory) bool {
		return turns[i].endedBefore(m) || turns[i].knew(m)
	})
	for i, e := range turns[:len(found)] {
		for _, m := range found[i] {
			if e.endedBefore(m) {
				e.resembles = append(e.resembles, m)
			}
		}
		e.out = s.isEcho(e, found[i])
	}
	return err
}

// endedBefore reports whether m is a fact that ended after the turn was said.
func (h *screened) endedBefore(m *backends.Memory) bool {
	return m.Kind == backends.KindFact && !m.Active() && !m.Merged() && !h.Observed.After(m.Invalidated)
}

// knew reports whether m was known when the assistant said e, and not by e.
func (h *screened) knew(m *backends.Memory) bool {
	if h.Origin.Role != string(schema.Assistant) || m.Observed.After(h.Observed) {
		return false
	}
	return m.Kind == backends.KindFact && !slices.Contains(h.taught, m.ID) ||
		m.Kind == backends.KindEpisode && m.Origin.Role == string(schema.User)
}

// isEcho reports whether nearly all that the assistant said in e was known before, or it
// says nothing but a remark. The words of the question that e answers count if something
// else in e was known.
func (s *screening) isEcho(e *screened, found []*backends.Memory) bool {
	if e.Origin.Role != string(schema.Assistant) || len(e.words) > longEcho {
		return false
	}
	known, asked := map[string]bool{}, map[string]bool{}
	for _, h := range s.hits {
		found = append(found, &h.Memory)
	}
	for _, m := range found {
		into := known
		switch {
		case !e.knew(m):
			continue
		case m.Kind == backends.KindEpisode && !states(m):
			into = asked
		}
		maps.Copy(into, s.words.Of(m.Text))
	}
	shared, answered := 0, 0
	for w := range e.words {
		switch {
		case known[w]:
			shared++
		case asked[w]:
			answered++
		}
	}
	if shared > 0 {
		shared += answered
	}
	return float64(shared) >= echoShare*float64(len(e.words)) || !e.answer && speech.IsRemark(e.Text)
}

// findSuccessors follows the facts that hold no more to those that took their place, and
// decides which of the resembling ones a turn states.
func (s *screening) findSuccessors(ctx context.Context) error {
	s.successor = map[string]*backends.Memory{}
	var next []*backends.Memory
	for _, e := range s.episodes() {
		next = append(append(next, e.ended...), e.resembles...)
	}
	for len(next) > 0 {
		var ids []string
		for _, m := range next {
			if m.SupersededBy != "" && s.successor[m.ID] == nil {
				ids = append(ids, m.SupersededBy)
			}
		}
		held, err := s.backend.keep.Held(ctx, s.partition, ids...)
		if err != nil {
			return err
		}
		found := next
		next = nil
		for _, m := range found {
			if to := held[m.SupersededBy]; to != nil && s.successor[m.ID] == nil {
				s.successor[m.ID] = to
				next = append(next, to)
			}
		}
	}
	for _, e := range s.episodes() {
		for _, m := range e.resembles {
			if s.states(e, m) {
				e.ended = append(e.ended, m)
			}
		}
	}
	return nil
}

// states reports whether a turn states a fact: it has more than half of its words, with
// all those in which the fact differs from what replaced it; one word alone is a subject.
func (s *screening) states(e *screened, fact *backends.Memory) bool {
	words, later := s.words.Of(fact.Text), map[string]bool{}
	if to := s.successor[fact.ID]; to != nil {
		later = s.words.Of(to.Text)
	}
	shared, own := 0, 0
	for w := range words {
		switch {
		case e.words[w]:
			shared++
		case !later[w]:
			return false
		}
		if !later[w] {
			own++
		}
	}
	return own > 0 && 2*shared > len(words) && (shared > 1 || len(e.words) <= 2)
}

// replaceEnded puts in the place of a turn whose facts hold no more those that replaced
// them, and marks it where the request does not want them.
func (s *screening) replaceEnded() {
	wanted, _ := s.request.Filter.Compile() // the search accepted it
	here := map[string]bool{}
	for _, h := range s.hits {
		here[h.ID] = !h.out
	}
	var out []*screened
	for _, h := range s.hits {
		for _, m := range h.ended {
			to := m
			for to != nil && !to.Active() {
				to = s.successor[to.ID]
			}
			switch {
			case h.out || s.past || to == nil:
			case to.Expired(s.backend.keep.Now()) || !wanted(to):
				if m.Invalidated.After(h.Ended) {
					h.Ended = m.Invalidated
				}
				continue
			case !here[to.ID]:
				here[to.ID] = true
				hit := backends.Hit{Memory: to.Clone(), Score: h.Score, Parts: h.Parts}
				out = append(out, &screened{Hit: hit, words: s.words.Of(to.Text)})
			}
			h.out = h.out || !s.past
		}
		if !h.out {
			out = append(out, h)
		}
	}
	s.hits = out
}

// deduplicate leaves out the hits that say no more than another one does. What was said
// never stands for a fact.
func (s *screening) deduplicate() {
	var out []*screened
	for _, h := range s.hits {
		same := -1
		if !s.past {
			same = slices.IndexFunc(out, func(o *screened) bool { return o.standsFor(h) || h.standsFor(o) })
		}
		switch {
		case same < 0:
			out = append(out, h)
		case h.standsFor(out[same]) && (h.Kind != out[same].Kind || !h.Since().Before(out[same].Since())):
			out[same] = h
		}
	}
	s.hits = out
}

// standsFor reports whether h says all that o says, and o need not be shown beside it.
func (h *screened) standsFor(o *screened) bool {
	return h.says(o) && (h.Kind == backends.KindFact || h.Kind == o.Kind && (h.Origin.Role == o.Origin.Role || o.Origin.Role != string(schema.User)))
}

// says reports whether h says all that o says, of the same person.
func (h *screened) says(o *screened) bool {
	if h.ID != "" && h.ID == o.ID {
		return true
	}
	if len(o.words) == 0 || !covers(h.words, o.words) || h.Kind != backends.KindFact && h.Kind != backends.KindEpisode || h.Ended.IsZero() != o.Ended.IsZero() ||
		h.Origin.Speaker != o.Origin.Speaker && h.Origin.Speaker != "" && o.Origin.Speaker != "" ||
		speech.Negates(h.Text) != speech.Negates(o.Text) || speech.Subject(h.Text) != speech.Subject(o.Text) {
		return false
	}
	return true
}

// covers reports whether a has all of b.
func covers(a, b map[string]bool) bool {
	for w := range b {
		if !a[w] {
			return false
		}
	}
	return true
}

// shown returns the hits that are left. Facts have with them what they replaced.
func (s *screening) shown(ctx context.Context) ([]backends.Hit, error) {
	var ids []string
	for _, h := range s.hits {
		if h.Supersedes != "" {
			ids = append(ids, h.Supersedes)
		}
	}
	before, err := s.backend.keep.Held(ctx, s.partition, ids...)
	out := make([]backends.Hit, len(s.hits))
	for i, h := range s.hits {
		if m := before[h.Supersedes]; m != nil {
			was := m.Clone()
			h.Before = &was
		}
		if !h.Active() {
			h.Ended = h.Invalidated
		}
		out[i] = h.Hit
	}
	return out, err
}
