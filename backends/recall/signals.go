// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// signal is a reason, beside its own words, for which a memory answers a query.
type signal[Of any] struct {
	name   string                // in [backends.ScoreParts] Signals
	weight float64               // zero: it is off
	long   float64               // the weight where an assistant answers at length
	of     Of                    // times weight: what it adds
	when   func(f *ranking) bool // whether it adds anything for this query at all; nil: it may
}

// ownSignal is a share of a memory's BM25 score. neighbourSignal is a share of an utterance's score
// that goes to another one of its session.
type (
	ownSignal       = signal[func(f *ranking, slot int32) float64]
	neighbourSignal = signal[func(f *ranking, said []utterance, from, to int) float64]
)

// The weights are round numbers in the middle of a plateau: doubling or halving one of them moved
// recall@5 to @50 on five conversations of LoCoMo by at most 1.6 points. Where several do as well,
// they are what does best on chats of another kind. examples/bench shows the effect of each alone,
// and the loss without it.

// ownSignals change what the words of a memory count by who says them and how. They read
// BM25 scores.
var ownSignals = []ownSignal{
	{speakerName, 0.5, 0.5, (*ranking).saidByNamed, (*ranking).namesSpeaker}, // "What did Ann buy?": what Ann says counts more
	{"asks", -0.15, -0.15, (*ranking).asksAtEnd, nil},                        // what ends in a question rather asks than tells
	{"assistant", 0, -0.75, (*ranking).byAssistant, (*ranking).asksUser},     // long answers hold every word, and say little of the user
	{datesName, 1, 1, (*ranking).ofTheTime, (*ranking).namesTime},            // "yesterday": what was said or happened then
}

// neighbourSignals give a memory a share of its surroundings: an answer needs its question to be
// understood, and has few of its words. They read the results of ownSignals.
var neighbourSignals = []neighbourSignal{
	{"neighbours", 0.2, 0.3, (*ranking).isNear, nil},
	{"answer", 0.6, 0, (*ranking).isAnswer, nil},    // what follows a question
	{"question", 0, 0.5, (*ranking).hasAnswer, nil}, // what a long answer follows
}

// sessionSignal is the weight of BM25 over whole sessions, in which each is a document. The same
// words come first in the session that the query is about. The signal moves hits, and leaves their
// Score.
const (
	sessionSignal     = 0.5
	longSessionSignal = 0.1
)

const sessionName, speakerName = "session", "speaker"

// signals holds the signals of a ranker.
type signals struct {
	own        []ownSignal
	neighbours []neighbourSignal
	factors    []factor
	session    float64
	dates      bool
	stating    bool
	named      bool
}

// newSignals returns all signals except the named ones.
func newSignals(without []string) (*signals, error) {
	s, known := &signals{session: sessionSignal, dates: !slices.Contains(without, datesName), stating: !slices.Contains(without, backends.SignalStates), named: !slices.Contains(without, speakerName)}, Signals()
	for _, name := range without {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("recall: Config.Without: %q: %w: the signals are %s", name, backends.ErrInvalid, strings.Join(known, ", "))
		}
	}
	s.own = slices.DeleteFunc(slices.Clone(ownSignals), func(s ownSignal) bool { return slices.Contains(without, s.name) })
	s.neighbours = slices.DeleteFunc(slices.Clone(neighbourSignals), func(s neighbourSignal) bool { return slices.Contains(without, s.name) })
	s.factors = slices.DeleteFunc(slices.Clone(factors), func(s factor) bool { return slices.Contains(without, s.name) })
	if slices.Contains(without, sessionName) {
		s.session = 0
	}
	return s, nil
}

// Signals returns the names of all signals, which are the keys of [backends.ScoreParts] Signals.
func Signals() []string {
	return slices.Concat(namesOf(ownSignals), namesOf(neighbourSignals), namesOf(factors), []string{backends.SignalStates, sessionName})
}

func namesOf[Of any](all []signal[Of]) (names []string) {
	for i := range all {
		names = append(names, all[i].name)
	}
	return names
}

// reach is how far neighbourSignals look.
const reach = 2

// Only the best memories spread a share: they reach strong, a share of the best score, and are
// among the first spreaders. Of ten thousand memories thousands have a common word of a query.
const (
	strong    = 0.2
	spreaders = 128
)

// ranking is the scores of one query on their way through the signals. All slices of
// scores are by slot, and the zero of scratch between searches.
type ranking struct {
	signals    // the signals that may add something
	weights    []Weight
	now        time.Time
	x          *index
	s          *scratch
	speaker    string    // the only one whom the query names
	long       bool      // an assistant answers at length
	sessions   []float64 // what each is for the query, 0 to 1, by number
	spreadFrom float64   // the score from which on a memory spreads a share to its neighbours
	best       float64   // before sessionSignal
	asked      string    // the query, in simplified characters
	mostRaised float64   // the most that factors raise a memory by

	lastingFactors int // the first so many factors leave the query out of account

	slots   []int32     // of the candidates
	extra   []candidate // memories outside the index
	cosines cosines
}

// cosines are the vectors' part of a ranking.
type cosines struct {
	standard
	probe  *probe // nil where vectors are uncompressed
	sample sample
	exact  map[int32][]float32 // vectors read from the store, by slot
}

// ranking lists the eligible memories that have a score, by their words or by a signal.
func (r *Ranker) ranking(x *index, q *query, s *scratch, terms []weighedTerm) *ranking {
	f := &ranking{weights: r.config.Weights, now: q.eligible.at, x: x, s: s, speaker: x.namedIn(q), long: x.talk.longAnswers(), asked: text.Simplified(q.text)}
	f.signals = signals{own: active(f, r.signals.own), neighbours: active(f, r.signals.neighbours), factors: active(f, r.signals.factors), session: r.signals.session, dates: r.signals.dates, stating: r.signals.stating}
	if f.long && f.session > 0 {
		f.session = longSessionSignal
	}
	for i := range f.factors {
		if f.mostRaised += max(0, f.factors[i].weight); f.factors[i].when == nil {
			f.lastingFactors++
		}
	}
	top := topScores{size: spreaders, scores: s.top[:0]}
	for _, slot := range s.matched {
		if !x.admits(&q.eligible, slot) {
			s.scores[slot] = 0
			continue
		}
		score := s.scores[slot]
		for i := range f.own {
			score += f.own[i].weight * f.own[i].of(f, slot) * s.scores[slot]
		}
		score = max(0, score)
		s.own[slot], s.values[slot] = score, score
		s.found = append(s.found, slot)
		f.best = max(f.best, score)
		top.floor = max(top.floor, strong*score)
		top.offer(score)
	}
	f.spreadFrom = max(strong*f.best, top.last())
	s.top = top.scores
	for _, slot := range s.found[:len(s.found):len(s.found)] {
		if s.own[slot] > 0 && s.own[slot] >= f.spreadFrom {
			f.spread(q, slot)
		}
	}
	f.sessions = x.sessionScores(s, terms)
	return f
}

// active returns the signals that may add something for the query.
func active[Of any](f *ranking, all []signal[Of]) []signal[Of] {
	all = slices.Clone(all)
	for i := range all {
		if f.long {
			all[i].weight = all[i].long
		}
	}
	return slices.DeleteFunc(all, func(s signal[Of]) bool { return s.weight == 0 || s.when != nil && !s.when(f) })
}

// spread gives the memories around one their share of it, and of the others near them.
func (f *ranking) spread(q *query, slot int32) {
	s := f.s
	said, from := f.x.sessions.around(slot)
	for to := max(0, from-reach); to < min(len(said), from+reach+1); to++ {
		at := said[to].slot
		if s.values[at] != s.own[at] { // it got its share before
			continue
		}
		if s.own[at] == 0 && !f.x.admits(&q.eligible, at) {
			continue
		}
		value, sums := s.own[at], f.fromNeighbours(said, to)
		for i := range f.neighbours {
			value += f.neighbours[i].weight * sums[i]
		}
		if s.values[at] == 0 && value > 0 {
			s.found = append(s.found, at)
		}
		s.values[at] = value
		f.best = max(f.best, value)
	}
}

// fromNeighbours returns the amounts that the signals hand to an utterance from its surroundings, the
// same in any order of the slots.
func (f *ranking) fromNeighbours(said []utterance, to int) (sums [3]float64) {
	for from := max(0, to-reach); from < min(len(said), to+reach+1); from++ {
		if own := f.s.own[said[from].slot]; own > 0 && own >= f.spreadFrom && from != to && near(&said[from], &said[to]) {
			for i := range f.neighbours {
				sums[i] += own * f.neighbours[i].of(f, said, from, to)
			}
		}
	}
	return sums
}

// ofSession returns what the session of a memory adds to it.
func (f *ranking) ofSession(slot int32) float64 {
	if n := f.x.sessions.offsets[slot].session; n > 0 {
		return f.session * f.best * f.sessions[n-1]
	}
	return 0
}

// explain returns what each signal added, as a share of what the query could attain.
func (f *ranking) explain(b *ranked, attainable float64) map[string]float64 {
	out := map[string]float64{}
	set := func(name string, added float64) {
		if added != 0 {
			out[name] = share(added, attainable)
		}
	}
	slot := b.slot
	if set(backends.SignalStates, (b.states-1)*b.lexical); slot == notIndexed {
		return out
	}
	for _, s := range f.own {
		set(s.name, s.weight*s.of(f, slot)*f.s.scores[slot])
	}
	if said, at := f.x.sessions.around(slot); said != nil {
		sums := f.fromNeighbours(said, at)
		for i := range f.neighbours {
			set(f.neighbours[i].name, f.neighbours[i].weight*sums[i])
		}
	}
	set(sessionName, f.ofSession(slot))
	for _, s := range f.factors {
		if s.when != nil || b.isMessage() {
			set(s.name, s.weight*s.of(f, &b.candidate)*(b.lexical+f.ofSession(slot)))
		}
	}
	return out
}

func (f *ranking) namesSpeaker() bool { return f.speaker != "" }

func (f *ranking) saidByNamed(slot int32) float64 {
	return oneIf(f.x.docs[slot].memory.Origin.Speaker == f.speaker)
}

// Behind the first ranks of a long answer, what others say than the speaker whom the query names
// stands at so many times its rank. A list of all that Ann read is in Ann's words.
const firstRanks, othersRank = 10, 3

// othersLast moves back what others say than one speaker; empty: none is named.
func othersLast(pool []found, speaker string) {
	if speaker == "" || len(pool) <= firstRanks {
		return
	}
	ranks := map[*backends.Memory]int{}
	for i := range pool {
		ranks[pool[i].of] = i
		if pool[i].of.Kind == backends.KindEpisode && pool[i].of.Origin.Speaker != speaker {
			ranks[pool[i].of] *= othersRank
		}
	}
	slices.SortStableFunc(pool[firstRanks:], func(a, b found) int { return cmp.Compare(ranks[a.of], ranks[b.of]) })
}

func (f *ranking) asksAtEnd(slot int32) float64 { return oneIf(f.x.glances[slot].asks == asksAtEnd) }

// asksUser reports whether a query asks for something else than the assistant's own words.
func (f *ranking) asksUser() bool { return !asksAssistant.MatchString(f.asked) }

var asksAssistant = regexp.MustCompile(`(?i)\b(?:did|have|had) you (?:\w+ )?(?:suggest|sa(?:y|id)|recommend|mention|t(?:ell|old)|advise|g(?:ive|ave)|propose|explain|list)|\byour (?:advice|suggestion|recommendation|answer|explanation)|[你您](?:之前|上次|刚才|当时)?(?:说|推荐|建议|提到|告诉|给)`)

func (f *ranking) byAssistant(slot int32) float64 {
	m := f.x.docs[slot].memory
	return oneIf(m.Kind == backends.KindEpisode && m.Origin.Role == "assistant")
}

// isNear reaches the second neighbours, too, except where an assistant answers at length: the
// user's messages around its answer may be about anything. An assistant only confirms a statement,
// and its long answer repeats the question.
func (f *ranking) isNear(said []utterance, from, to int) float64 {
	if second := from-to > 1 || to-from > 1; f.long && second {
		return 0
	}
	confirms := said[to].assistant && !followsQuestion(said, to)
	return oneIf(!said[from].repeats() && !said[to].repeats() && !confirms)
}

// isAnswer leaves out long answers of an assistant: they have the words of the question.
func (f *ranking) isAnswer(said []utterance, from, to int) float64 {
	return oneIf(from == to-1 && said[from].asks != asksNothing && !said[to].repeats())
}

func (f *ranking) hasAnswer(said []utterance, from, to int) float64 {
	return oneIf(from == to+1 && said[from].assistant && said[to].user)
}

func followsQuestion(said []utterance, at int) bool {
	return at > 0 && said[at-1].asks != asksNothing && near(&said[at-1], &said[at])
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// topScores keeps the highest of many scores.
type topScores struct {
	size   int
	scores []float64 // twice the size at most: the highest so far, and what came since
	floor  float64
}

func (h *topScores) offer(score float64) {
	if score > h.floor {
		h.scores = append(h.scores, score)
	}
	if len(h.scores) == 2*h.size {
		h.last()
	}
}

// last returns the lowest of the highest, or the floor if there were fewer.
func (h *topScores) last() float64 {
	if over := len(h.scores) - h.size; over >= 0 {
		slices.Sort(h.scores)
		h.scores = h.scores[:copy(h.scores, h.scores[over:])]
		h.floor = max(h.floor, h.scores[0])
	}
	return h.floor
}

// sessionScores returns the BM25 scores of sessions as shares of the highest.
func (x *index) sessionScores(s *scratch, terms []weighedTerm) []float64 {
	all := &x.sessions
	s.sessions, s.counts = append(s.sessions[:0], make([]float64, len(all.list))...), append(s.counts[:0], make([]float64, len(all.list))...)
	n, b := float64(len(all.numbers)), x.talk.lengthWeight()
	for _, t := range terms {
		s.touched = s.touched[:0]
		for _, p := range t.list {
			in := all.offsets[p.slot].session - 1
			if in < 0 || s.own[p.slot] == 0 { // the search may exclude it
				continue
			}
			if s.counts[in] == 0 {
				s.touched = append(s.touched, in)
			}
			s.counts[in] += float64(p.count) / whole
		}
		holders := float64(len(s.touched))
		weight := math.Log(1+(n-holders+0.5)/(holders+0.5)) * (bm25K1 + 1)
		for _, in := range s.touched {
			length := float64(all.list[in].terms) / (float64(all.terms) / n)
			s.sessions[in] += weight * s.counts[in] / (s.counts[in] + bm25K1*(1-b+b*length))
			s.counts[in] = 0
		}
	}
	top := slices.Max(append(s.sessions, 0))
	for i := range s.sessions {
		s.sessions[i] = share(s.sessions[i], top)
	}
	return s.sessions
}
