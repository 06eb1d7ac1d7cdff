// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/internal/period"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// The limits of the material for a model, in characters.
const (
	earlierShown = 10   // earlier messages
	earlierRunes = 300  // of each of them
	asideRunes   = 1000 // of a message that is only shown
	memoryRunes  = 1000 // of a known statement

	// maxNumbered is how many messages one question is about: with more, models lose
	// count.
	maxNumbered = 50
	// smallNumbered is the same for a small model.
	smallNumbered = 8
	// lineTokens is the size of a line of material beside its text.
	lineTokens = 16
)

// passage is a message, or a part of a long one.
type passage struct {
	*Utterance
	text string
	part string // such as 2/3; empty for a whole message
}

// Line is the form in which a model is shown a message.
type Line struct {
	N     *int     `json:"n,omitempty"` // its number in answers; nil: the message is only shown
	Part  string   `json:"part,omitempty"`
	Time  string   `json:"time,omitempty"`
	Role  string   `json:"role"`
	Name  string   `json:"name,omitempty"`
	Dates []string `json:"dates,omitempty"` // the meaning of its words for times
	Text  string   `json:"text"`
}

// memoryLine is the form in which a model is shown a known statement.
type memoryLine struct {
	Index  int    `json:"index"`
	SaidBy string `json:"said_by,omitempty"`
	Since  string `json:"since,omitempty"` // from when it holds
	Said   string `json:"said,omitempty"`  // when it was said; ByTime
	Text   string `json:"text"`
}

// passages divides the messages for the questions.
func (c *Call) passages() []*passage {
	var out []*passage
	for _, u := range c.said {
		if !u.learn {
			out = append(out, &passage{Utterance: u, text: text.Middle(u.Text, min(asideRunes, c.engine.Prompt/4))})
			continue
		}
		parts := text.Divide(u.Text, c.engine.Prompt/2, text.Tokens)
		for i, s := range parts {
			p := &passage{Utterance: u, text: s}
			if len(parts) > 1 {
				p.part = fmt.Sprintf("%d/%d", i+1, len(parts))
			}
			out = append(out, p)
		}
	}
	return out
}

// stretch is the subject of one question: consecutive passages, and earlier messages.
type stretch struct {
	earlier  []*passage
	passages []*passage
}

// stretches divides the conversation into questions. Each passage to learn from is in one
// of them; passages behind the last question are skipped.
func (c *Call) stretches() []stretch {
	var before []*passage
	for _, u := range c.context {
		before = append(before, &passage{Utterance: u, text: u.Text})
	}
	context := len(before)
	all := append(before, c.passages()...)
	var out []stretch
	for from := context; from < len(all); {
		if !all[from].learn { // it is shown before the next passage
			from++
			continue
		}
		if most := c.engine.Questions; most > 0 && len(out) == most {
			c.Skip(all[from].Utterance, all[from].text, fmt.Errorf("it and all after it are behind the last of %d questions; send less at a time", most))
			break
		}
		to := c.fill(all, from)
		out = append(out, stretch{earlier: all[max(0, from-earlierShown):from], passages: all[from:to]})
		from = to
	}
	return out
}

// fill returns the end of the question that begins with the passage at from.
func (c *Call) fill(all []*passage, from int) int {
	room, numbered, most := c.engine.Prompt, 0, maxNumbered
	if c.engine.Model.Small() {
		most = smallNumbered
	}
	for to := from; to < len(all); to++ {
		room -= text.Tokens(all[to].text) + lineTokens
		if all[to].learn {
			numbered++
		}
		if to > from && (room < 0 || numbered > most) {
			return to
		}
	}
	return len(all)
}

// conversation renders the earlier and the new messages. It returns the messages that
// answers name by their place.
func (c *Call) conversation(s *stretch) (material string, numbered []*Utterance) {
	var earlier []Line
	room := c.engine.Prompt / 4
	for _, p := range slices.Backward(s.earlier) {
		said := text.Middle(p.text, earlierRunes)
		if room -= text.Tokens(said) + lineTokens; room < 0 {
			break
		}
		earlier = slices.Insert(earlier, 0, c.line(p, said))
	}
	said := make([]Line, len(s.passages))
	for i, p := range s.passages {
		said[i] = c.line(p, p.text)
		if p.learn {
			n := len(numbered)
			said[i].N, said[i].Dates = &n, period.Dates(p.text, p.Time.In(c.engine.Location))
			numbered = append(numbered, p.Utterance)
		}
	}
	if len(earlier) > 0 {
		material = ask.Section("earlier_messages", earlier)
	}
	material += ask.Section("new_messages", said)
	if !c.engine.ByTime { // a statement counts from when it was said, whenever it is learnt
		material += fmt.Sprintf(nowIs[c.Language], c.engine.Location) + " " + c.shownTime(c.Now)
	}
	return material, numbered
}

var nowIs = map[backends.Language]string{
	backends.English: "Time now (%s, as all times above):",
	backends.Chinese: "现在时间（%s，上面的时间也是）：",
}

func (c *Call) line(p *passage, s string) Line {
	return Line{Part: p.part, Time: c.shownTime(p.Time), Role: p.Role, Name: p.Speaker, Text: s}
}

func (c *Call) shownTime(t time.Time) string {
	return t.In(c.engine.Location).Format("2006-01-02 15:04 Mon")
}

// Existing renders the statements that the model may refer to by their index.
func (c *Call) Existing(memories []*backends.Memory) string {
	lines := make([]memoryLine, len(memories))
	for i, m := range memories {
		lines[i] = c.memoryLine(i, m)
	}
	return ask.Section("existing_memories", lines)
}

func (c *Call) memoryLine(index int, m *backends.Memory) memoryLine {
	line := memoryLine{Index: index, SaidBy: m.Origin.Role, Text: text.Middle(c.engine.Keeper.Redact(m.Text), memoryRunes)}
	if from := m.Since(); !from.IsZero() {
		line.Since = from.In(c.engine.Location).Format(time.DateOnly)
	}
	if c.engine.ByTime && !m.Observed.IsZero() {
		line.Said = m.Observed.In(c.engine.Location).Format(time.DateOnly)
	}
	return line
}

const (
	queriesPerCall = 12  // searches for one question, beside the one for all its messages
	queryBytes     = 600 // of a message, for a search
	hitsPerQuery   = 10
)

// statements returns the active memories of the engine's kind. They belong to the ranker.
func (c *Call) statements(ctx context.Context) ([]*backends.Memory, error) {
	all, err := c.engine.Keeper.All(ctx, c.Partition)
	if err != nil {
		return nil, err
	}
	var out []*backends.Memory
	for _, m := range all {
		if m.Kind == c.engine.Kind && m.Active() && !m.Expired(c.Now) {
			out = append(out, m)
		}
	}
	return out, nil
}

// Candidates returns the statements that the texts may be about: all active ones, if Config.Shown
// and Config.ShownTokens have room for them. Else it takes several lists in turn. They are the
// newest notes of the agent in this session, which the texts may repeat; the standing statements;
// and the ones that share a name or a topic with the texts. The last lists are the best of each
// search, so many similar ones leave room for others. The newest fill the rest of the room.
func (c *Call) Candidates(ctx context.Context, texts []string) ([]*backends.Memory, error) {
	known, err := c.statements(ctx)
	if err != nil {
		return nil, err
	}
	if c.seen == nil {
		c.seen = make(map[string]bool, len(known))
		for _, m := range known {
			c.seen[m.ID] = true
		}
	}
	slices.SortStableFunc(known, func(a, b *backends.Memory) int { return b.Updated.Compare(a.Updated) })
	if all := inTurn(c.room(), nil, known); len(all) == len(known) {
		return all, nil
	}
	lists, err := c.searches(ctx, texts)
	if err != nil {
		return nil, err
	}
	of := func(holds func(*backends.Memory) bool) []*backends.Memory {
		return slices.DeleteFunc(slices.Clone(known), func(m *backends.Memory) bool { return !holds(m) })
	}
	noted := of(func(m *backends.Memory) bool {
		return m.Origin.Author == backends.AuthorAgent && m.Origin.Session == c.Scope.SessionID
	})
	standing := of(func(m *backends.Memory) bool { return m.Standing })
	return inTurn(c.room(), slices.Insert(lists, 0, noted, standing, related(texts, known)), known), nil
}

// room returns a function that reports for statement after statement whether there is
// room to show it.
func (c *Call) room() func(*backends.Memory) bool {
	n, tokens := c.engine.Shown, c.engine.ShownTokens
	return func(m *backends.Memory) bool {
		if n == 0 || tokens < lineTokens {
			return false
		}
		line, _ := json.Marshal(c.memoryLine(0, m)) // plain texts and numbers
		size := text.Tokens(string(line))
		if size > tokens {
			return false
		}
		n, tokens = n-1, tokens-size
		return true
	}
}

// related returns the statements that share a name or a topic with the texts, the ones that share
// most first.
func related(texts []string, known []*backends.Memory) []*backends.Memory {
	said := text.Fold(strings.Join(texts, "\n"))
	meets, shared := speech.Meets(said), map[*backends.Memory]int{}
	var out []*backends.Memory
	for _, m := range known {
		if n := meets(m.Text+" "+m.WhenToUse) + len(stillNamed(m, said)); n > 0 {
			shared[m] = n
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *backends.Memory) int { return shared[b] - shared[a] })
	return out
}

// searches returns the memories that the sentences of the texts find, a list each. If there are
// many sentences, the last texts are the queries instead. One request embeds all of them.
func (c *Call) searches(ctx context.Context, texts []string) ([][]*backends.Memory, error) {
	var queries []string
	for _, t := range texts {
		queries = append(queries, sentences.Split(strings.ReplaceAll(t, "\n", ". "), -1)...)
	}
	queries = slices.DeleteFunc(queries, func(q string) bool { return !text.HasWords(q) })
	if len(queries) > queriesPerCall {
		queries = slices.Clone(texts[max(0, len(texts)-queriesPerCall):])
	}
	for i, q := range queries {
		queries[i] = text.TruncateBytes(q, queryBytes)
	}
	if len(queries) > 1 {
		queries = append(queries, text.TruncateBytes(strings.Join(queries, "\n"), 4*queryBytes))
	}
	ctx = recall.WithVectors(ctx, &c.vectors)
	_, _, err := c.engine.Keeper.Ranker().Embed(ctx, queries)
	c.Run.Embedded(int(c.vectors.Made.Swap(0)))
	if errors.Is(err, backends.ErrUnavailable) { // before a model is asked
		return nil, c.engine.errorf("looking for known memories: %w", err)
	}
	lists := make([][]*backends.Memory, len(queries))
	for i, q := range queries {
		resp, err := c.engine.Keeper.Search(ctx, c.Partition, &backends.SearchRequest{
			Query: q, TopK: hitsPerQuery, Kinds: []backends.Kind{c.engine.Kind},
		})
		if err != nil {
			return nil, err
		}
		for k := range resp.Hits {
			lists[i] = append(lists[i], &resp.Hits[k].Memory)
		}
	}
	return lists, nil
}

// inTurn returns as many memories of the lists as there is room for: the first of each, the second
// of each, and so on, and then the rest. Each appears once, as a copy that stays valid while the
// store changes.
func inTurn(room func(*backends.Memory) bool, lists [][]*backends.Memory, rest []*backends.Memory) []*backends.Memory {
	var out []*backends.Memory
	seen, most := map[string]bool{}, 0
	add := func(m *backends.Memory) {
		if !seen[m.ID] {
			seen[m.ID] = true
			if room(m) {
				copied := m.Clone()
				out = append(out, &copied)
			}
		}
	}
	for _, list := range lists {
		most = max(most, len(list))
	}
	for place := range most {
		for _, list := range lists {
			if place < len(list) {
				add(list[place])
			}
		}
	}
	for _, m := range rest {
		add(m)
	}
	return out
}
