// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// factor is a reason, beside the words of a query, for which one memory is likelier to answer than
// another. It raises or lowers by a share the value that a memory has by words, after all other
// signals, and leaves Score as it is. It says at most 1, and one that lowers at least 0.
type factor = signal[func(f *ranking, c *candidate) float64]

// factors are off where an assistant answers at length: its messages hold every word there, and the
// user's requests are long. Content, rare, self and names are about what people say to each other:
// facts take no part in them. They come first: see lasting.
var factors = []factor{
	{"content", -0.15, 0, (*ranking).lacksContent, nil},        // "So true!", rather than many words, and rare ones
	{"rare", 0.2, 0, (*ranking).rareWords, nil},                // words that hardly any other memory has: something new
	{"self", -0.07, 0, (*ranking).aboutOthers, nil},            // "you", rather than "I": people tell about themselves
	{"names", 0.08, 0, (*ranking).namesThings, nil},            // two names of people, places, works
	{"time", 0.4, 0, told(tellsTime), (*ranking).asksTime},     // "When did she move?": "We moved last week."
	{"number", 0.3, 0, told(tellsNumber), (*ranking).asksMany}, // "How many cats has he?": "My three cats."
}

// usualContent is the sum of the idf of some ten words. Four times as much is the most that counts.
const (
	usualContent = 40
	mostContent  = 4
	rareHolders  = 2 // memories, at most, that have a rare word
)

// factor returns the share by which all factors together raise or lower a memory.
func (f *ranking) factor(c *candidate) float64 {
	sum := f.lasting(c)
	for i := f.lastingFactors; i < len(f.factors); i++ {
		sum += f.factors[i].weight * f.factors[i].of(f, c)
	}
	return sum
}

// lasting returns the sum of the factors of messages, which say the same for each query until the
// index changes. It may be called at once by many searches.
func (f *ranking) lasting(c *candidate) (sum float64) {
	if c.slot == notIndexed {
		return 0
	}
	known := &f.x.lasting[c.slot]
	if atomic.LoadUint64(&known.state) == f.x.state {
		return math.Float64frombits(atomic.LoadUint64(&known.sum))
	}
	for i := 0; i < f.lastingFactors && c.isMessage(); i++ {
		sum += f.factors[i].weight * f.factors[i].of(f, c)
	}
	atomic.StoreUint64(&known.sum, math.Float64bits(sum))
	atomic.StoreUint64(&known.state, f.x.state)
	return sum
}

// atMost returns the highest value by words that factors may make of one.
func (f *ranking) atMost(words float64) float64 { return words * (1 + f.mostRaised) }

// lacksContent returns what a message lacks of the content of a fact.
func (f *ranking) lacksContent(c *candidate) float64 {
	known, sum := &f.x.lasting[c.slot], 0.0
	if atomic.LoadUint64(&known.state) == f.x.state {
		return math.Float64frombits(atomic.LoadUint64(&known.content))
	}
	for _, t := range c.doc.text.terms {
		sum += f.x.lexicon.idf(len(f.x.lexicon.list(t.term)))
	}
	lacks := 1 - max(-1, min(1, math.Log((1+sum)/usualContent)/math.Log(mostContent)))
	atomic.StoreUint64(&known.content, math.Float64bits(lacks))
	return lacks
}

func (f *ranking) rareWords(c *candidate) float64 {
	rare := 0
	for _, t := range c.doc.text.terms {
		if len(f.x.lexicon.list(t.term)) <= rareHolders {
			rare++
		}
	}
	return float64(rare) / float64(max(1, len(c.doc.text.terms)))
}

// aboutOthers compares a message with a fact, which is about its author.
func (f *ranking) aboutOthers(c *candidate) float64 {
	return 1 - (told(tellsSelf)(f, c) - told(tellsYou)(f, c))
}

func (f *ranking) namesThings(c *candidate) float64 {
	return (told(tellsName)(f, c) + told(tellsNames)(f, c)) / 2
}

// told says whether a memory tells a kind of things.
func told(kind stating) func(*ranking, *candidate) float64 {
	return func(f *ranking, c *candidate) float64 {
		if c.slot != notIndexed {
			return oneIf(f.x.read(c.slot)&kind != 0)
		}
		return oneIf(!c.doc.memory.Kind.Traits().Timeless && tellingOf(c.doc.memory.Text)&kind != 0)
	}
}

// isMessage reports whether a candidate is a message of the index.
func (c *candidate) isMessage() bool {
	return c.slot != notIndexed && c.doc.memory.Kind == backends.KindEpisode
}

func (f *ranking) asksTime() bool {
	return hinted(f.asked, "when", "how long", " time", " date", " day", " month", " year", "什么时候", "何时", "哪", "几", "多久") && asksTime.MatchString(f.asked)
}

func (f *ranking) asksMany() bool {
	return hinted(f.asked, "how ", "多少", "多大", "几") && asksMany.MatchString(f.asked)
}

var (
	asksTime = regexp.MustCompile(`(?i)\bwhen(?:'s|’s| (?:did|do|does|is|was|were|will|are|am|have|has|had|can|should|must))\b|\bhow long\b|\b(?:what|which) (?:time|date|day|month|year)\b|什么时候|何时|哪[天年月]|几[点号月]|星期几|周几|多久`)
	asksMany = regexp.MustCompile(`(?i)\bhow (?:many|much|old|tall|often|far)\b|多少|多大|几`)
)

// Kinds of things that a text tells, as bits above the values of [stating].
const (
	tellsTime stating = 1 << (iota + 4)
	tellsNumber
	tellsSelf
	tellsYou
	tellsName
	tellsNames // two or more
)

// tellingWords are the English words that tell such things, in lower case.
var tellingWords = func() map[string]stating {
	words := map[string]stating{}
	for tells, list := range map[stating]string{
		tellsTime: "yesterday today tonight tomorrow ago last next since recently week weeks weekend month months year years days morning birthday monday tuesday wednesday thursday friday " +
			"saturday sunday january february march april june july august september october november december",
		tellsNumber: "one two three four five six seven eight nine ten couple dozen few several once twice",
		tellsSelf:   "i i'm i've i'll i'd me my mine we we're we've us our", tellsYou: "you you're you've you'll your yours",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] |= tells
		}
	}
	return words
}()

// tellingChars are the same in Chinese, for whole texts.
var tellingChars = map[stating]string{tellsTime: "年月日号周天点昨今明", tellsNumber: "一二三四五六七八九十百千两", tellsSelf: "我咱", tellsYou: "你您"}

// tellingOf reads a text word by word.
func tellingOf(text string) (has stating) {
	opens := true // the next word opens a sentence
	for at := 0; at < len(text); {
		first, size := utf8.DecodeRuneInString(text[at:])
		if !inWord(first) {
			opens = opens && !unicode.IsLetter(first) || strings.ContainsRune(".!?\n。！？", first)
			at += size
			continue
		}
		end := strings.IndexFunc(text[at:], func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text) - at
		}
		word := strings.ReplaceAll(text[at:at+end], "’", "'")
		known := tellingWords[strings.ToLower(strings.Trim(word, "'"))]
		has |= known
		switch {
		case unicode.IsDigit(first):
			has |= tellsNumber
			if end == 4 {
				has |= tellsTime // a year
			}
		case opens || len(word) == 1 || !unicode.IsUpper(first) || known != 0:
		case has&tellsName != 0:
			has |= tellsNames
		default:
			has |= tellsName
		}
		opens, at = false, at+end
	}
	for tells, chars := range tellingChars {
		if strings.ContainsAny(text, chars) {
			has |= tells
		}
	}
	return has
}

func inWord(r rune) bool {
	return r == '\'' || r == '’' || unicode.IsDigit(r) || unicode.IsLetter(r) && !unicode.Is(unicode.Han, r)
}

// Weight changes the order of hits by another reason than the query. It is a factor, 0 to 1, of a
// memory's value for the query, and leaves Score as it is. It must be quick, and safe for
// concurrent use.
type Weight func(m *backends.Memory, now time.Time) float64

// MemoryBank is the curve of that system (Zhong et al., AAAI 2024): exp(-t/S), with t in days
// and a strength S of one and one more for each use.
func MemoryBank(since time.Duration, uses int) float64 {
	return math.Exp(-since.Hours() / 24 / float64(1+uses))
}

// GenerativeAgents is the curve of that system (Park et al., UIST 2023): 0.995 to the power of the
// hours.
func GenerativeAgents(since time.Duration, _ int) float64 { return math.Pow(0.995, since.Hours()) }

// Recency weighs by a curve, such as [MemoryBank]: how well something is remembered, 0 to 1, after
// so many uses and so long after the last use. A memory without a use counts from when it was said.
// A share of a memory's value, 0 to 1, depends on the curve. A backend counts the uses: see its
// Config.CountUses.
func Recency(curve func(since time.Duration, uses int) float64, share float64) Weight {
	return func(m *backends.Memory, now time.Time) float64 {
		uses, last := m.Uses()
		if last.IsZero() {
			last = m.Since()
		}
		return 1 - share + share*curve(max(0, now.Sub(last)), uses)
	}
}

// Importance weighs by Quality. Half is usual, and the default of unjudged memories: see
// mem0.Config.Importance. A share of a memory's value, 0 to 1, depends on it.
func Importance(share float64) Weight {
	return func(m *backends.Memory, _ time.Time) float64 {
		quality := 0.5
		if m.Quality != nil {
			quality = *m.Quality
		}
		return 1 - share + share*quality
	}
}

// weigh returns the product of the weights of the configuration for a memory. They only lower its
// value for a query: a memory needs a good value before the weights.
func (f *ranking) weigh(m *backends.Memory) float64 {
	factor := 1.0
	for _, w := range f.weights {
		factor *= max(0, min(1, w(m, f.now)))
	}
	return factor
}
