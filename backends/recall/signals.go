// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

// signal is a reason, beside its own words, for which a memory answers a query.
type signal struct {
	name   string // in [backends.ScoreParts] Signals
	weight float64
	of     func(f *field, slot int32) float64 // times weight: what it adds to the memory's BM25 score
}

// Answer is the name of the signal that finds an answer by the question before it.
const Answer = "answer"

// The weights are round numbers in the middle of a plateau: on five conversations of LoCoMo
// recall@5 to @50 moved by at most 1.5 points when one of them was doubled or halved.
// examples/bench has what each brings alone and what is lost without it.

// ownSignals change what the words of a memory count by who says them and how. They read
// BM25 scores.
var ownSignals = []signal{
	{"speaker", 0.5, (*field).saidByNamed},    // "What did Ann buy?": what Ann says counts more
	{"asks", -0.15, (*field).asksAtEnd},       // what ends in a question rather asks than tells
	{"assistant", -0.5, (*field).longAnswers}, // long answers hold every word, and say little of the user
}

// handedSignals give a memory a share of what is said around it: an answer is understood by
// its question, and has few of its words. They read what ownSignals made.
var handedSignals = []signal{
	{"neighbours", 0.25, (*field).around},
	{Answer, 0.6, (*field).answers},      // what follows a question
	{"question", 0.3, (*field).answered}, // what a long answer follows
}

// sessionSignal is the weight of BM25 over whole sessions, in which each is a document.
// What is said in the session that the query is about comes before the same words elsewhere.
// It moves hits, and leaves their Score.
const sessionSignal = 0.6

const sessionName = "session"

// signals are those that a ranker has.
type signals struct {
	own, handed []signal
	session     float64
}

// newSignals returns all signals but those with some names.
func newSignals(without []string) (*signals, error) {
	s, known := &signals{session: sessionSignal}, Signals()
	for _, name := range without {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("recall: Config.Without: %q: %w: the signals are %s", name, backends.ErrInvalid, strings.Join(known, ", "))
		}
	}
	left := func(s signal) bool { return slices.Contains(without, s.name) }
	s.own, s.handed = slices.DeleteFunc(slices.Clone(ownSignals), left), slices.DeleteFunc(slices.Clone(handedSignals), left)
	if slices.Contains(without, sessionName) {
		s.session = 0
	}
	return s, nil
}

// Signals returns the names of all signals, which are the keys of [backends.ScoreParts] Signals.
func Signals() []string {
	var names []string
	for _, s := range slices.Concat(ownSignals, handedSignals) {
		names = append(names, s.name)
	}
	return append(names, sessionName)
}

// reach is how far handedSignals look.
const reach = 2

// strong is the share of the best score from which on a memory hands something on: among ten
// thousand memories thousands have a common word of a query.
const strong = 0.2

// field is the lexical scores of one query on their way through the signals. All slices of
// scores are by slot, and the zero of scratch between searches.
type field struct {
	*signals
	x        *index
	s        *scratch
	speaker  string    // the only one whom the query names
	long     bool      // an assistant answers at length
	sessions []float64 // what each is for the query, 0 to 1, by number
	hands    float64   // the score from which on a memory hands something on
	best     float64   // before sessionSignal
}

// field lists the eligible memories that have a score, by their words or by a signal.
func (r *Ranker) field(x *index, q *query, s *scratch, terms []weighedTerm) *field {
	f := &field{signals: r.signals, x: x, s: s, speaker: x.namedIn(q), long: x.talk.longAnswers()}
	for _, slot := range s.matched {
		if !q.eligible.admits(&x.docs[slot]) {
			s.scores[slot] = 0
			continue
		}
		s.own[slot] = max(0, f.add(f.own, s.scores[slot], slot))
		s.values[slot] = s.own[slot]
		s.found = append(s.found, slot)
		f.best = max(f.best, s.own[slot])
	}
	f.hands = strong * f.best
	for _, slot := range s.matched {
		if s.own[slot] > 0 && s.own[slot] >= f.hands {
			f.handOn(q, slot)
		}
	}
	f.sessions = x.sessionScores(s, terms)
	return f
}

// handOn gives the memories around one their shares of its score, and of what else is near
// them.
func (f *field) handOn(q *query, slot int32) {
	s := f.s
	for steps := int32(-reach); steps <= reach; steps++ {
		near := f.beside(slot, steps)
		if near < 0 || s.values[near] > s.own[near] || s.own[near] == 0 && !q.eligible.admits(&f.x.docs[near]) {
			continue
		}
		value := f.add(f.handed, s.own[near], near)
		if s.values[near] == 0 && value > 0 {
			s.found = append(s.found, near)
		}
		s.values[near] = value
		f.best = max(f.best, value)
	}
}

// add returns a score with what signals add to it.
func (f *field) add(signals []signal, score float64, slot int32) float64 {
	for i := range signals {
		score += signals[i].weight * signals[i].of(f, slot)
	}
	return score
}

// ofSession returns what the session of a memory adds to it.
func (f *field) ofSession(slot int32) float64 {
	if n := f.x.sessions.places[slot].session; n > 0 {
		return f.session * f.best * f.sessions[n-1]
	}
	return 0
}

// beside returns the slot that stands so many places behind one in a session, -1 if none
// does, and the slot itself for no steps.
func (f *field) beside(slot, steps int32) int32 {
	if steps == 0 {
		return slot
	}
	return f.x.sessions.beside(f.x.docs, slot, steps)
}

// explain returns what each signal added, as a share of what the query could attain.
func (f *field) explain(slot int32, attainable float64) map[string]float64 {
	out := map[string]float64{}
	for _, s := range slices.Concat(f.own, f.handed) {
		if added := s.weight * s.of(f, slot); added != 0 {
			out[s.name] += share(added, attainable)
		}
	}
	if added := f.ofSession(slot); added != 0 {
		out[sessionName] = share(added, attainable)
	}
	return out
}

func (f *field) saidByNamed(slot int32) float64 {
	if f.speaker != "" && f.x.docs[slot].memory.Origin.Speaker == f.speaker {
		return f.s.scores[slot]
	}
	return 0
}

func (f *field) asksAtEnd(slot int32) float64 {
	if f.x.docs[slot].asks == asksAtEnd {
		return f.s.scores[slot]
	}
	return 0
}

func (f *field) longAnswers(slot int32) float64 {
	if !f.long {
		return 0
	}
	if m := f.x.docs[slot].memory; m.Kind == backends.KindEpisode && m.Origin.Role == "assistant" {
		return f.s.scores[slot]
	}
	return 0
}

// around returns what stands near a memory, the second ones at 0.8. What an assistant says
// to a statement only confirms it.
func (f *field) around(slot int32) float64 {
	if o := &f.x.docs[slot].memory.Origin; o.Role == "assistant" && o.Speaker == "" && !f.afterQuestion(slot) {
		return 0
	}
	return f.ownAt(slot, -1) + f.ownAt(slot, 1) + 0.8*(f.ownAt(slot, -2)+f.ownAt(slot, 2))
}

func (f *field) afterQuestion(slot int32) bool {
	before := f.beside(slot, -1)
	return before >= 0 && f.x.docs[before].asks != asksNothing
}

func (f *field) ownAt(slot, steps int32) float64 {
	if near := f.beside(slot, steps); near >= 0 && f.s.own[near] >= f.hands {
		return f.s.own[near]
	}
	return 0
}

func (f *field) answers(slot int32) float64 {
	if f.afterQuestion(slot) {
		return f.ownAt(slot, -1)
	}
	return 0
}

func (f *field) answered(slot int32) float64 {
	if !f.long || f.x.docs[slot].memory.Origin.Role != "user" {
		return 0
	}
	if next := f.beside(slot, 1); next < 0 || f.x.docs[next].memory.Origin.Role != "assistant" {
		return 0
	}
	return f.ownAt(slot, 1)
}

// sessionScores returns the BM25 scores of sessions as shares of the highest.
func (x *index) sessionScores(s *scratch, terms []weighedTerm) []float64 {
	all := &x.sessions
	s.sessions, s.counts = append(s.sessions[:0], make([]float64, len(all.list))...), append(s.counts[:0], make([]float64, len(all.list))...)
	n := float64(len(all.numbers))
	for _, t := range terms {
		s.touched = s.touched[:0]
		for _, p := range t.list {
			in := all.places[p.slot].session - 1
			if in < 0 || s.own[p.slot] == 0 { // it may not be returned
				continue
			}
			if s.counts[in] == 0 {
				s.touched = append(s.touched, in)
			}
			s.counts[in] += float64(p.count)
		}
		holders := float64(len(s.touched))
		weight := math.Log(1+(n-holders+0.5)/(holders+0.5)) * (bm25K1 + 1)
		for _, in := range s.touched {
			length := float64(all.list[in].terms) / (float64(all.terms) / n)
			s.sessions[in] += weight * s.counts[in] / (s.counts[in] + bm25K1*(1-bm25B+bm25B*length))
			s.counts[in] = 0
		}
	}
	if len(s.sessions) > 0 {
		if top := slices.Max(s.sessions); top > 0 {
			for i := range s.sessions {
				s.sessions[i] /= top
			}
		}
	}
	return s.sessions
}

// asking says whether a memory asks something.
type asking byte

const (
	asksNothing asking = iota
	asksWithin
	asksAtEnd
)

func askingOf(text string) asking {
	const marks = "?？"
	switch at := strings.LastIndexAny(text, marks); {
	case at < 0:
		return asksNothing
	case strings.Trim(text[at:], marks+" \t\r\n\"'”’)）") == "":
		return asksAtEnd
	}
	return asksWithin
}

// talk counts who speaks in a partition.
type talk struct {
	speakers map[string]*speaker // by name
	users    spoken              // what has the role of users, and no name
	answers  spoken              // what has that of assistants, and no name
}

type speaker struct {
	terms    []string // of the name
	memories int
}

type spoken struct{ memories, terms int64 }

// longer is how many times longer than what users say answers are on average, where they
// are those of an assistant. People who write to each other write much the same.
const longer = 2

func (t *talk) longAnswers() bool {
	a, u := t.answers, t.users
	return u.memories > 0 && a.memories > 0 && float64(a.terms)/float64(a.memories) > longer*float64(u.terms)/float64(u.memories)
}

// count adds n times a memory.
func (t *talk) count(a *analyzer, m *backends.Memory, length int32, n int) {
	name := m.Origin.Speaker
	switch {
	case m.Kind != backends.KindEpisode:
	case name == "" && m.Origin.Role == "user":
		t.users.memories, t.users.terms = t.users.memories+int64(n), t.users.terms+int64(n)*int64(length)
	case name == "" && m.Origin.Role == "assistant":
		t.answers.memories, t.answers.terms = t.answers.memories+int64(n), t.answers.terms+int64(n)*int64(length)
	case name != "":
		s := t.speakers[name]
		if s == nil {
			s = &speaker{terms: a.terms(strings.ToLower(name))}
			t.speakers[strings.Clone(name)] = s
		}
		if s.memories += n; s.memories == 0 {
			delete(t.speakers, name)
		}
	}
}

// namedIn returns the speaker whom a query names, or "" if it names none or several.
func (x *index) namedIn(q *query) string {
	found := ""
	for name, s := range x.talk.speakers {
		if slices.ContainsFunc(q.terms, func(t queryTerm) bool { return slices.Contains(s.terms, t.text) }) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}
