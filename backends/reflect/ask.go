// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/fields"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/text"
)

const (
	groupSize   = 50   // memories that one question shows
	shownRunes  = 500  // of each of them
	maxInsight  = 1000 // bytes of an insight
	leastBearer = 2    // memories that bear an insight out, at least
)

// answer is what a model answers.
type answer struct {
	Operations []entry `json:"operations" alias:"actions,plan,results" jsonschema_description:"empty if nothing is to be done"`
}

// entry is one operation of an answer.
type entry struct {
	Op       string       `json:"op" alias:"operation,action,type" jsonschema:"enum=merge,enum=supersede,enum=stale,enum=insight,enum=field,enum=block,enum=remove,enum=edit"`
	Memories []int        `json:"memories" alias:"indexes,ids,targets,evidence" jsonschema_description:"indexes"`
	Keep     *int         `json:"keep,omitempty" alias:"stays,by,survivor" jsonschema_description:"index"`
	Text     string       `json:"text,omitempty" alias:"insight,content"`
	Field    string       `json:"field,omitempty"`
	Value    fields.Value `json:"value,omitempty" jsonschema_description:"a text, or JSON"`
	Reason   string       `json:"reason,omitempty" alias:"why"`
}

// line is a memory as a model is shown it.
type line struct {
	Index   int    `json:"index"`
	Since   string `json:"since,omitempty"`
	SaidBy  string `json:"said_by,omitempty"`
	When    string `json:"when,omitempty"`
	Text    string `json:"text"`
	Insight bool   `json:"insight,omitempty"`
	Votes   *int   `json:"votes,omitempty"`
	Used    int    `json:"used,omitempty"`
	Helped  int    `json:"helped,omitempty"`
}

// ask asks the model about the memories that no rule took, in groups of those that are alike.
// One that did not change since the request's time is shown beside what is like it.
func (c *comparison) ask(ctx context.Context) error {
	lessons := c.memories[0].Kind == backends.KindTask
	if c.model == nil || c.task(lessons, backends.English) == "" {
		return nil
	}
	near := map[int]bool{}
	for _, n := range c.pairs {
		near[n.a], near[n.b] = near[n.a] || c.changed(c.memories[n.b]), near[n.b] || c.changed(c.memories[n.a])
	}
	wanted := func(i int) bool { return !c.taken[c.memories[i].ID] && (c.changed(c.memories[i]) || near[i]) }
	for _, group := range c.groups(groupSize, wanted) {
		if len(group) < 2 {
			continue
		}
		memories := make([]*backends.Memory, len(group))
		texts := make([]string, len(group))
		for at, i := range group {
			memories[at], texts[at] = c.memories[i], c.memories[i].Text
		}
		l := c.Language.For(texts...)
		got, err := ask.For(ctx, c.run, &ask.Question{
			System: c.task(lessons, l), User: c.shown(memories, lessons), Tool: "reflect", Purpose: prompts(l).purpose, Language: l,
		}, func(a *answer) error {
			if a.Operations == nil {
				return errors.New("the JSON holds no list of operations")
			}
			return nil
		})
		if errors.Is(err, ask.ErrLimit) {
			return nil // the rest has to wait
		}
		if err != nil {
			return err
		}
		for _, bad := range got.Bad {
			c.refuse("%s: %v", bad.Raw, bad.Err)
		}
		for i := range got.Value.Operations {
			e := &got.Value.Operations[i]
			if err := c.decide(e, memories, l); err != nil {
				c.refuse("%s %v: %v", e.Op, e.Memories, err)
			}
		}
	}
	return nil
}

// refuse notes what of an answer is left out.
func (d *draft) refuse(format string, args ...any) {
	d.plan.Refused = append(d.plan.Refused, fmt.Sprintf(format, args...))
}

// task returns what the model is told: of statements the rules that are wanted; nothing where
// none is.
func (d *draft) task(lessons bool, l backends.Language) string {
	p := prompts(l)
	if lessons {
		if d.wants(Lessons) {
			return p.lessons
		}
		return ""
	}
	var rules []string
	for _, rule := range Rules() {
		if d.wants(rule) && p.rules[rule] != "" && (rule != Profile || d.Profile != nil) && (rule != Block || d.block != nil) {
			rules = append(rules, p.rules[rule])
		}
	}
	if len(rules) == 0 {
		return ""
	}
	if d.wants(Profile) && d.Profile != nil {
		rules = append(rules, p.field, d.Profile.Fields().Prompt())
	}
	return p.data + "\n" + cmp.Or(d.Prompt, strings.Join(rules, "\n"))
}

// shown renders memories for a model.
func (d *draft) shown(memories []*backends.Memory, lessons bool) string {
	lines := make([]line, len(memories))
	for i, m := range memories {
		lines[i] = line{Index: i, SaidBy: m.Origin.Speaker, When: m.WhenToUse, Text: text.Middle(d.keep.Redact(m.Text), shownRunes), Insight: m.Kind.Traits().Inferred}
		if since := m.Since(); !since.IsZero() && !lessons {
			lines[i].Since = since.Format(time.DateOnly)
		}
		if lessons {
			n := votes(m)
			lines[i].Votes, lines[i].Used, lines[i].Helped = &n, int(keeper.Number(m, keeper.MetaFreq)), int(keeper.Number(m, keeper.MetaUtility))
		}
	}
	material := ask.Section("memories", lines)
	if d.block != nil && !lessons {
		for _, m := range memories { // what it may repeat from now on
			d.block.Evidence = append(d.block.Evidence, see(m))
		}
		material += ask.Section("block", []map[string]any{{"limit": d.limit, "text": d.block.Text}})
	}
	return material
}

// ruleOf is the rule that an operation of an answer belongs to.
var ruleOf = map[string]Rule{"merge": Duplicates, "supersede": Contradictions, "stale": Stale, "insight": Insights, "field": Profile, "remove": Lessons, "edit": Lessons}

// decide puts an operation of an answer into the plan, or says why it cannot be.
func (d *draft) decide(e *entry, shown []*backends.Memory, l backends.Language) error {
	if e.Op = strings.ToLower(e.Op); e.Op == "block" {
		return d.writeBlock(e)
	}
	rule, ok := ruleOf[e.Op]
	about, err := pick(e.Memories, shown)
	switch {
	case !ok:
		return errors.New("there is no such operation")
	case err != nil:
		return err
	case len(about) == 0:
		return errors.New("it names no memory")
	}
	if about[0].Kind == backends.KindTask {
		rule = Lessons
	}
	if !d.wants(rule) {
		return errors.New("its rule was not asked for")
	}
	var stays *backends.Memory
	if e.Keep != nil {
		found, err := pick([]int{*e.Keep}, shown)
		if err != nil {
			return err
		}
		stays = found[0]
	}
	o, err := d.operation(e, rule, about, stays)
	if err != nil {
		return err
	}
	o.Rule, o.Reason = rule, cmp.Or(text.Line(d.keep.Redact(e.Reason), 200), prompts(l).followed)
	if !d.add(o) {
		return errors.New("another operation is about one of them")
	}
	return nil
}

// pick returns the memories that an answer names.
func pick(indexes []int, shown []*backends.Memory) ([]*backends.Memory, error) {
	var out []*backends.Memory
	for _, i := range indexes {
		if i < 0 || i >= len(shown) {
			return nil, fmt.Errorf("there is no memory %d", i)
		}
		if !slices.Contains(out, shown[i]) {
			out = append(out, shown[i])
		}
	}
	return out, nil
}

// operation returns what an entry asks for, if that can be right.
func (d *draft) operation(e *entry, rule Rule, about []*backends.Memory, stays *backends.Memory) (*Operation, error) {
	without := slices.DeleteFunc(slices.Clone(about), func(m *backends.Memory) bool { return m == stays })
	switch e.Op {
	case "merge":
		if stays != nil && len(without) == len(about) {
			about = append(about, stays)
		}
		for _, m := range about {
			if !compatible(m, about[0]) {
				return nil, errors.New("they differ in a number, a denial, or in who says it")
			}
		}
		if len(about) < 2 {
			return nil, errors.New("it takes two to merge")
		}
		best := d.best(about)
		if stays == nil || len(fields.Filled(best)) > len(fields.Filled(stays)) {
			stays = best
		}
		return d.mergeInto(about, stays, "", rule), nil
	case "supersede":
		switch {
		case stays == nil || len(without) == 0:
			return nil, errors.New("it does not say what holds in their place")
		case slices.ContainsFunc(without, func(m *backends.Memory) bool {
			return m.Kind != stays.Kind || m.Kind.Traits().Inferred || stays.Since().Before(m.Since())
		}):
			return nil, errors.New("what holds in their place is of another kind, or older")
		}
		return &Operation{Op: Supersede, Changes: seeAll(without...), Stays: ref(stays)}, nil
	case "stale":
		return &Operation{Op: Retract, Changes: seeAll(about...)}, nil
	case "insight":
		return d.insight(e, about)
	case "field":
		if d.Profile == nil || about[0].Kind != backends.KindFact || len(about) > 1 {
			return nil, errors.New("one fact fills a field of a profile")
		}
		value, err := d.Profile.Fields().Read(e.Field, e.Value)
		if err != nil {
			return nil, err
		}
		if _, filled := fields.Filled(about[0])[e.Field]; filled {
			return nil, errors.New("the fact fills it already")
		}
		return &Operation{Op: Field, Changes: seeAll(about...), Field: e.Field, Value: value}, nil
	case "remove":
		if stays == nil || len(without) != 1 || helps(stays) < helps(without[0]) {
			return nil, errors.New("it names no lesson that did at least as well and disagrees")
		}
		return &Operation{Op: Vote, Changes: seeAll(without...), Evidence: seeAll(stays), Votes: -1}, nil
	}
	written := strings.TrimSpace(d.keep.Redact(e.Text)) // edit
	if len(about) != 1 || !text.HasWords(written) || written == about[0].Text {
		return nil, errors.New("it names no single lesson and its new text")
	}
	return &Operation{Op: Supersede, Changes: seeAll(about...), Text: written, Votes: 1}, nil
}

// writeBlock has the core block hold a text. A later group goes on from there.
func (d *draft) writeBlock(e *entry) error {
	written := strings.TrimSpace(d.keep.Redact(e.Text))
	if d.block == nil || !text.HasWords(written) || utf8.RuneCountInString(written) > d.limit {
		return fmt.Errorf("there is no block, or its text is not of 1 to %d characters", d.limit)
	}
	d.block.Text = written
	return nil
}

// helps is how often a lesson helped, of those times that it was used.
func helps(m *backends.Memory) float64 {
	return keeper.Number(m, keeper.MetaUtility) / max(1, keeper.Number(m, keeper.MetaFreq))
}

// insight returns the operation that adds what several memories show.
func (d *draft) insight(e *entry, about []*backends.Memory) (*Operation, error) {
	written := strings.TrimSpace(d.keep.Redact(e.Text))
	key := keeper.TextKey(backends.KindInsight, "", written)
	switch {
	case len(about) < leastBearer:
		return nil, fmt.Errorf("an insight rests on %d memories at least", leastBearer)
	case !text.HasWords(written) || len(written) > maxInsight || strings.ContainsAny(written[:1], "{["):
		return nil, fmt.Errorf("its text is no sentence of at most %d bytes", maxInsight)
	}
	o := &Operation{Op: Insight, Text: written, Evidence: seeAll(about...)}
	if d.byID[o.insightID(d.partition)] != nil || d.said[key] { // it may have been withdrawn
		return nil, errors.New("it is known")
	}
	d.said[key] = true
	return o, nil
}

// insightID follows from what an insight says, and what it rests on.
func (o *Operation) insightID(p backends.Partition) string {
	parts := []string{keeper.TextKey(backends.KindInsight, "", o.Text)}
	for _, s := range o.Evidence {
		parts = append(parts, s.ID)
	}
	slices.Sort(parts)
	return keeper.ContentID(p, backends.KindInsight, parts...)
}
