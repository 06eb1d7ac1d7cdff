// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

const (
	sameCosine = 0.97                 // from which on two statements with nearly the same words are duplicates
	unusedFor  = 180 * 24 * time.Hour // how long a memory stays after a model saw it last
)

// The votes for a lesson are ExpeL's (Zhao et al., AAAI 2024): a new one has two, one that agrees
// adds one, one that disagrees takes one, and at zero it falls.
const votesOfNew = 2

func votes(m *backends.Memory) int {
	return votesOfNew + int(keeper.Number(m, keeper.MetaCorroborated)-keeper.Number(m, keeper.MetaRefuted))
}

// A lesson with five uses that helped at most every second time is useless: the rule of ReMe's
// paper.
const (
	enoughUses = 5
	leastHelp  = 0.5
)

// comparison compares the memories of a draft by rules alone.
type comparison struct {
	*draft
	*pool
}

// duplicates merges equal statements: the same words in the same order, or, with nearly the same
// vector, words that contain all words of the other.
func (c *comparison) duplicates() {
	groups, words := map[string][]*backends.Memory{}, make([][]string, len(c.memories))
	var order []string
	for i, m := range c.memories {
		words[i] = wording(m)
		key := fmt.Sprint(m.Kind, words[i])
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], m)
	}
	for _, key := range order {
		c.merge(groups[key], "the same words")
	}
	for _, n := range c.pairs {
		a, b := c.memories[n.a], c.memories[n.b]
		if n.cosine >= sameCosine && (text.InOrder(words[n.a], words[n.b]) || text.InOrder(words[n.b], words[n.a])) && hedged(a) == hedged(b) {
			c.merge([]*backends.Memory{a, b}, fmt.Sprintf("nearly the same words, cosine %.3f", n.cosine))
		}
	}
}

// wording returns the words of a memory in their order, with the characters of scripts that write
// words together. It leaves out case, width, marks and articles.
func wording(m *backends.Memory) []string {
	var out []string
	said := text.Fold(m.WhenToUse) + " " + text.Fold(m.Text)
	for _, word := range strings.FieldsFunc(said, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`.,;:!"'“”‘’()…。、·《》「」`, r)
	}) {
		switch {
		case strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Han, r) }):
			out = append(out, strings.Split(word, "")...)
		case word != "A" && word != "AN" && word != "THE":
			out = append(out, word)
		}
	}
	return out
}

// hedged returns the words that qualify a statement: "may", "also", "used to".
func hedged(m *backends.Memory) string {
	return fmt.Sprint(several.FindAllString(strings.ToLower(m.Text), -1))
}

// merge replaces memories that say the same by the one that says most of them, of equals the
// latest.
func (c *comparison) merge(same []*backends.Memory, reason string) {
	same = slices.DeleteFunc(slices.Clone(same), func(m *backends.Memory) bool { return c.taken[m.ID] || !compatible(m, same[0]) })
	if len(same) < 2 {
		return
	}
	c.add(c.mergeInto(same, c.best(same), reason, Duplicates))
}

// best returns the memory that replaces the others: the one that fills a field of the profile, has
// the most votes, says most, or else was said last.
func (d *draft) best(same []*backends.Memory) *backends.Memory {
	return slices.MaxFunc(same, func(a, b *backends.Memory) int {
		return cmp.Or(
			len(fields.Filled(a))-len(fields.Filled(b)),
			votes(a)-votes(b),
			len(d.analysis.Of(a.Text))-len(d.analysis.Of(b.Text)),
			a.Since().Compare(b.Since()),
		)
	})
}

// compatible reports whether two memories may say the same at all.
func compatible(a, b *backends.Memory) bool {
	return a.Kind == b.Kind && sense(a) == sense(b) &&
		(a.Origin.Speaker == b.Origin.Speaker || a.Origin.Speaker == "" || b.Origin.Speaker == "")
}

// sense is the part of a text that must be equal in two that say the same: a denial, the subject,
// and the numbers.
func sense(m *backends.Memory) string {
	said := m.WhenToUse + "\n" + m.Text
	return fmt.Sprint(speech.Negates(said), speech.Subject(m.Text), numbers.FindAllString(said, -1))
}

var numbers = regexp.MustCompile(`\d+(?:[.,:/-]\d+)*`)

// contradictions lets the later statement about an attribute supersede the earlier ones.
func (c *comparison) contradictions() {
	type key struct{ subject, attribute string }
	stated := map[key][]*backends.Memory{}
	var order []key
	of := map[string]statement{}
	for _, m := range c.memories {
		s, ok := parse(m)
		if !ok || m.Kind.Traits().Inferred || c.taken[m.ID] {
			continue
		}
		k := key{s.subject, s.attribute}
		if of[m.ID] = s; stated[k] == nil {
			order = append(order, k)
		}
		stated[k] = append(stated[k], m)
	}
	for _, k := range order {
		all := stated[k]
		slices.SortStableFunc(all, func(a, b *backends.Memory) int { return a.Since().Compare(b.Since()) })
		last := all[len(all)-1]
		var before []*backends.Memory
		for _, m := range all {
			if m.Since().Before(last.Since()) && of[last.ID].ends(of[m.ID]) {
				before = append(before, m)
			}
		}
		if len(before) > 0 {
			c.add(&Operation{Op: Supersede, Rule: Contradictions, Changes: seeAll(before...), Stays: ref(last),
				Reason: fmt.Sprintf("%s: said later, on %s", k.attribute, last.Since().Format(time.DateOnly))})
		}
	}
}

// stale expires memories unused for long, if uses are counted.
func (c *comparison) stale(ctx context.Context) error {
	since, err := c.keep.CountedSince(ctx, c.partition)
	if err != nil || since.IsZero() {
		return err
	}
	for _, m := range c.memories {
		_, used := m.Uses()
		from := slices.MaxFunc([]time.Time{m.Created, m.Updated, used, since}, time.Time.Compare)
		if !m.Kind.Traits().Experience && c.now.Sub(from) >= unusedFor {
			c.add(&Operation{Op: Expire, Rule: Stale, Changes: seeAll(m), Reason: fmt.Sprintf("no model was shown it for %d days", int(unusedFor.Hours()/24))})
		}
	}
	return nil
}

// lessons retracts lessons that helped too little, and ones that lost their votes.
func (c *comparison) lessons() {
	for _, m := range c.memories {
		freq, utility := keeper.Number(m, keeper.MetaFreq), keeper.Number(m, keeper.MetaUtility)
		switch {
		case m.Kind != backends.KindTask:
		case freq >= enoughUses && utility/freq <= leastHelp:
			c.add(&Operation{Op: Retract, Rule: Lessons, Changes: seeAll(m), Reason: fmt.Sprintf("used %v times, and helped %v times", freq, utility)})
		case votes(m) <= 0:
			c.add(&Operation{Op: Retract, Rule: Lessons, Changes: seeAll(m), Reason: "no votes are left for it"})
		}
	}
}

// fallen retracts insights that lost their evidence.
func (d *draft) fallen(all []*backends.Memory) {
	held := func(id string) *backends.Memory { return d.byID[id] }
	for _, m := range all {
		if m.Kind.Traits().Inferred && m.Active() && !m.Expired(d.now) && !m.Stands(d.now, held) {
			d.add(&Operation{Op: Retract, Rule: Insights, Changes: seeAll(m), Reason: "what it was inferred from holds no more"})
		}
	}
}

// usefulHeat is the least heat of a promoted memory: MemoryOS's threshold (Kang et al., EMNLP
// 2025).
const usefulHeat = 5

// heat is MemoryOS's: visits, length of its source, and recency of its use.
func heat(m *backends.Memory, now time.Time) float64 {
	uses, last := m.Uses()
	if last.IsZero() {
		last = m.Updated
	}
	return float64(uses+len(m.Origin.MessageIDs)) + math.Exp(-now.Sub(last).Hours()/24)
}

// promotions copies useful facts to the workspace of the request.
func (c *comparison) promotions(ctx context.Context) error {
	if _, ok := backends.As[promoter](c.Backend); !ok || c.Share == nil || c.scope.Workspace == "" || c.partition.Kind != backends.PartitionUser {
		return nil
	}
	team, err := keeper.Workspace(c.scope)
	if err != nil {
		return err
	}
	shared, err := copies(ctx, c.keep, c.partition, team)
	for _, m := range c.memories {
		clone := m.Clone()
		if h := heat(m, c.now); m.Kind == backends.KindFact && h >= usefulHeat && shared[m.ID] == nil && c.Share(&clone) {
			c.add(&Operation{Op: Promote, Rule: Promotion, Changes: seeAll(m), Into: team.ID, Reason: fmt.Sprintf("its heat is %.1f", h)})
		}
	}
	return err
}

func ref(m *backends.Memory) *Seen {
	s := see(m)
	return &s
}
