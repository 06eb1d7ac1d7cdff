// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// stretch is the part of a context that a step summarises, oldest first: a summary
// takes its beginning's place, then the next one that of the summary and what
// follows it.
type stretch struct {
	from, to int
	work     bool
	stays    func(i int) bool // message i does not leave
	former   []*schema.Message
	units    []unit
}

// unit is what is never cut: an exchange.
type unit struct {
	from, to int
	round    int // in which it is
	tokens   int // of its messages as the model sees them
}

// stretch divides the exchanges of rounds between from and to.
func (c *Context) stretch(s *stretch, rounds ...round) *stretch {
	p := prompts(c.language)
	begun := false
	for n, r := range rounds {
		for _, e := range r.exchanges {
			if e.from < s.from || e.to > s.to || e.to-e.from == 1 && (s.stays(e.from) || derived(c.messages[e.from])) {
				continue
			}
			if !begun && einox.IsSummary(c.messages[e.from]) {
				s.former = append(s.former, c.messages[e.from])
				continue
			}
			begun = true
			u := unit{from: e.from, to: e.to, round: n}
			var lines []inputLine
			for _, m := range c.messages[e.from:e.to] {
				lines = append(lines, p.line(m))
			}
			u.tokens = c.config.Budget.Counter.Text(inputOf("m", lines))
			s.units = append(s.units, u)
		}
	}
	return s
}

// derived reports whether m was made of what memory holds anyway: nobody said it,
// and nothing is lost with it.
func derived(m *schema.Message) bool { return einox.IsRecalled(m) || einox.IsCore(m) }

// next returns how many units the next group has: as many as fit into most tokens,
// at least one, and whole rounds where these fit. A group too small to be worth
// a call goes on into the next exchange as long as room allows.
func (s *stretch) next(most, room int) int {
	n, sum := 0, 0
	for ; n < len(s.units); n++ {
		if t := sum + s.units[n].tokens; n > 0 && (t > room || t > most && sum >= leastTokens) {
			break
		}
		sum += s.units[n].tokens
	}
	if n == len(s.units) {
		return n
	}
	first, round := n, 0
	for first > 0 && s.units[first-1].round == s.units[n].round {
		first--
	}
	for i := first; i < len(s.units) && s.units[i].round == s.units[n].round; i++ {
		round += s.units[i].tokens
	}
	before := 0
	for i := range first {
		before += s.units[i].tokens
	}
	if before >= leastTokens && round <= min(most, room) {
		return first
	}
	return n
}

// fold summarises the next group of the stretch and puts the summary in its place.
// It reports whether there was anything to do.
func (s *summarizer) fold(ctx context.Context, c *Context, st *stretch, most int) (bool, error) {
	if len(st.units) == 0 {
		return false, nil
	}
	room := s.room(c, st.former, st.work)
	if room < leastTokens {
		return false, fmt.Errorf("%w: the summarising model's window is too small for the prompt and the former summary: raise SummaryWindow", backends.ErrInvalid)
	}
	if most <= 0 {
		most = room
	}
	end := st.units[st.next(min(most, room), room)-1].to
	g := &group{work: st.work}
	var stay []*schema.Message
	for i := st.from; i < end; i++ {
		switch m := c.messages[i]; {
		case st.stays(i):
			stay = append(stay, m)
		case derived(m):
			g.tokens += c.tokens[i]
		default:
			g.tokens += c.tokens[i]
			g.messages = append(g.messages, m)
		}
	}
	if s.wanted(c, g) < leastTokens/4 {
		return false, nil
	}
	sum, err := s.summarise(ctx, c, g)
	if err != nil {
		return false, err
	}
	ref, err := c.Put(ctx, g.messages...)
	if err != nil {
		return false, err
	}
	m := sum.message(c, ref)
	if c.Count(m) >= g.tokens {
		return false, fmt.Errorf("%w: the summary is not smaller than what it takes the place of", backends.ErrModel)
	}
	if upto := reaches(ref); upto > 0 && !st.work {
		m = einox.MarkSeq(m, upto)
		c.Summarised(&Summary{Text: m.Content, Upto: upto})
	}
	c.Replace(st.from, end, append(stay, m)...)
	return true, nil
}

// message is the summary as the context holds it.
func (s *summary) message(c *Context, ref string) *schema.Message {
	m := schema.UserMessage(s.text(prompts(c.language), ref))
	einox.MarkSummary(m)
	return einox.MarkRef(m, ref)
}

// reaches returns the last sequence number of a stretch of the session's log that
// begins with the log's first entry; 0 of any other reference.
func reaches(ref string) int64 {
	if ref == "log-1" {
		return 1
	}
	last, ok := strings.CutPrefix(ref, "log-1-")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil || n < 1 {
		return 0
	}
	return n
}
