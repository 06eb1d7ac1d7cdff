// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

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
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/text"
)

const (
	groupSize   = 50   // memories that one question shows
	shownRunes  = 500  // of each of them
	maxInsight  = 1000 // bytes of an insight
	leastBearer = 2    // memories that bear an insight out, at least
)

// answer is the answer of a model.
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

// line is a memory in the form for a model.
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

// ask asks the model about the memories that the rules left, in groups of similar ones. A memory
// that stayed the same since the request's time is shown beside similar ones that changed.
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
			System: c.task(lessons, l), User: c.shown(memories, lessons), Tool: "reflect", Purpose: promptsIn[l].purpose, Language: l,
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

// refuse notes a refused part of an answer.
func (d *draft) refuse(format string, args ...any) {
	d.plan.Refused = append(d.plan.Refused, fmt.Sprintf(format, args...))
}

// task returns the task for the model: for statements, the texts of the wanted rules. It is empty
// without any.
func (d *draft) task(lessons bool, l backends.Language) string {
	p := promptsIn[l]
	if lessons {
		if d.wants(Lessons) {
			return p.lessons
		}
		return ""
	}
	var rules []string
	for _, rule := range allRules {
		if d.wants(rule) && p.rules[rule] != "" && (rule != Profile || d.Profile != nil) && (rule != Block || d.block != nil) {
			rules = append(rules, p.rules[rule])
		}
	}
	if len(rules) == 0 {
		return ""
	}
	if d.wants(Profile) && d.Profile != nil {
		rules = append(rules, p.field, fields.Of(d.Profile).Prompt())
	}
	return p.data + "\n" + strings.Join(rules, "\n")
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

// decide puts an operation of an answer into the plan. The error gives the reason against it.
func (d *draft) decide(e *entry, shown []*backends.Memory, l backends.Language) error {
	about, err := pick(e.Memories, shown)
	var kept []*backends.Memory
	if err == nil && e.Keep != nil {
		kept, err = pick([]int{*e.Keep}, shown)
	}
	if err != nil {
		return err
	}
	o, err := d.operation(strings.ToLower(e.Op), e, about, kept)
	if err != nil {
		return err
	}
	if o.Reason = cmp.Or(text.Line(d.keep.Redact(e.Reason), 200), promptsIn[l].followed); shown[0].Kind == backends.KindTask {
		o.Rule = Lessons
	}
	switch {
	case !d.wants(o.Rule):
		return errors.New("its rule was not asked for")
	case o.Op == EditBlock: // a later group goes on from there
		d.block.Text = o.Text
	case !d.add(o):
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

// operation returns the operation of an entry, if that can be right.
func (d *draft) operation(op string, e *entry, about, kept []*backends.Memory) (*Operation, error) {
	written := strings.TrimSpace(d.keep.Redact(e.Text))
	if op == "block" {
		if d.block == nil || !text.HasWords(written) || utf8.RuneCountInString(written) > d.limit {
			return nil, fmt.Errorf("the block is missing, or its text is not of 1 to %d characters", d.limit)
		}
		return &Operation{Op: EditBlock, Rule: Block, Text: written}, nil
	}
	if len(about) == 0 {
		return nil, errors.New("it names no memory")
	}
	without := slices.DeleteFunc(slices.Clone(about), func(m *backends.Memory) bool { return slices.Contains(kept, m) })
	switch op {
	case "merge":
		about = slices.Concat(without, kept)
		for _, m := range about {
			if !compatible(m, about[0]) {
				return nil, errors.New("they differ in a number, a denial, or in who says it")
			}
		}
		if len(about) < 2 {
			return nil, errors.New("it takes two to merge")
		}
		stays := d.best(about)
		if len(kept) > 0 && len(fields.Filled(stays)) == len(fields.Filled(kept[0])) {
			stays = kept[0]
		}
		return d.mergeInto(about, stays, "", Duplicates), nil
	case "supersede":
		if len(kept) == 0 || len(without) == 0 {
			return nil, errors.New("it names no memory to replace them")
		}
		if slices.ContainsFunc(without, func(m *backends.Memory) bool {
			return m.Kind != kept[0].Kind || m.Kind.Traits().Inferred || kept[0].Since().Before(m.Since())
		}) {
			return nil, errors.New("the memory to replace them is of another kind, or older")
		}
		return &Operation{Op: Supersede, Rule: Contradictions, Changes: seeAll(without...), Stays: ref(kept[0])}, nil
	case "stale":
		return &Operation{Op: Retract, Rule: Stale, Changes: seeAll(about...)}, nil
	case "insight":
		return d.insight(written, about)
	case "field":
		if d.Profile == nil || about[0].Kind != backends.KindFact || len(about) > 1 {
			return nil, errors.New("one fact fills a field of a profile")
		}
		value, err := fields.Of(d.Profile).Read(e.Field, e.Value)
		if _, filled := fields.Filled(about[0])[e.Field]; filled && err == nil {
			err = errors.New("the fact fills it already")
		}
		return &Operation{Op: Field, Rule: Profile, Changes: seeAll(about...), Field: e.Field, Value: value}, err
	case "remove":
		if len(kept) == 0 || len(without) != 1 || helps(kept[0]) < helps(without[0]) {
			return nil, errors.New("it names no lesson that did at least as well and disagrees")
		}
		return &Operation{Op: Vote, Rule: Lessons, Changes: seeAll(without...), Evidence: seeAll(kept...), Votes: -1}, nil
	case "edit":
		if len(about) != 1 || !text.HasWords(written) || written == about[0].Text {
			return nil, errors.New("it names no single lesson and its new text")
		}
		return &Operation{Op: Supersede, Rule: Lessons, Changes: seeAll(about...), Text: written, Votes: 1}, nil
	}
	return nil, errors.New("there is no such operation")
}

// helps is the share of a lesson's uses that helped.
func helps(m *backends.Memory) float64 {
	return keeper.Number(m, keeper.MetaUtility) / max(1, keeper.Number(m, keeper.MetaFreq))
}

// insight returns the operation that adds a conclusion of several memories.
func (d *draft) insight(written string, about []*backends.Memory) (*Operation, error) {
	key := keeper.TextKey(backends.KindInsight, "", written)
	switch {
	case len(about) < leastBearer:
		return nil, fmt.Errorf("an insight rests on %d memories at least", leastBearer)
	case !text.HasWords(written) || len(written) > maxInsight || strings.ContainsAny(written[:1], "{["):
		return nil, fmt.Errorf("its text must be a sentence of at most %d bytes", maxInsight)
	}
	o := &Operation{Op: Insight, Rule: Insights, Text: written, Evidence: seeAll(about...)}
	if d.byID[o.insightID(d.partition)] != nil || d.said[key] { // it may be withdrawn by now
		return nil, errors.New("it is known")
	}
	d.said[key] = true
	return o, nil
}

// insightID follows from the text of an insight and its evidence.
func (o *Operation) insightID(p backends.Partition) string {
	parts := []string{keeper.TextKey(backends.KindInsight, "", o.Text)}
	for _, s := range o.Evidence {
		parts = append(parts, s.ID)
	}
	slices.Sort(parts)
	return keeper.ContentID(p, backends.KindInsight, parts...)
}
