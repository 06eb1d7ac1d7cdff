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

// stretch is a part of a context that a step may summarise, oldest first: a
// summary takes its beginning's place, then the next one that of the summary and
// what follows it. It has nothing in it that stays, so that a summary stands
// exactly where its messages stood.
type stretch struct {
	from   int
	work   bool // of the running round
	former []*schema.Message
	units  []unit
}

// unit is what is never cut: an exchange.
type unit struct {
	exchange
	round  int // in which it is
	tokens int // of its messages as the model sees them
	said   int // of them as the context counts them
}

// stretches divides the exchanges of rounds between from and to at the messages
// that stay.
func (c *Context) stretches(from, to int, stays func(i int) bool, rounds ...round) []*stretch {
	var out []*stretch
	now := &stretch{from: from}
	for n, r := range rounds {
		for _, e := range r.exchanges {
			switch {
			case e.from < from || e.to > to:
			case e.to-e.from == 1 && stays(e.from):
				out = append(out, now)
				now = &stretch{from: e.to}
			case e.to-e.from == 1 && derived(c.messages[e.from]):
			case len(now.units) == 0 && c.isFormer(c.messages[e.from]):
				now.former = append(now.former, c.messages[e.from])
			default:
				now.units = append(now.units, c.unit(e, n))
			}
		}
	}
	out = append(out, now)
	for _, st := range out {
		st.leaveNested(c)
	}
	return out
}

func (c *Context) unit(e exchange, round int) unit {
	key := shownKey{c.messages[e.from], e.to - e.from}
	tokens, known := c.shown[key]
	if !known {
		p := prompts(c.language)
		var lines []inputLine
		for _, m := range c.messages[e.from:e.to] {
			lines = append(lines, p.line(m))
		}
		tokens = c.config.Budget.Counter.Text(inputOf("m", lines))
		c.shown[key] = tokens
	}
	return unit{exchange: e, round: round, tokens: tokens, said: c.sum(e.from, e.to)}
}

// shownKey is an exchange: the message with which it begins, and how many it has.
type shownKey struct {
	first *schema.Message
	n     int
}

// derived reports whether m was made of what memory holds anyway: nobody said it,
// and nothing is lost with it.
func derived(m *schema.Message) bool { return einox.IsRecalled(m) || einox.IsCore(m) }

// next returns how many units the next group has: as many as fit into most tokens,
// at least one, and whole rounds where these fit. A group too small to be worth a
// call goes on into the next exchange, as long as there is room for it.
func (s *stretch) next(most, room int) int {
	n, sum, said := 0, 0, 0
	for ; n < len(s.units); n++ {
		t := sum + s.units[n].tokens
		if t > most && said >= leastTokens || t > room && sum >= leastTokens {
			break
		}
		sum, said = t, said+s.units[n].said
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
		before += s.units[i].said
	}
	if before >= leastTokens && round <= most {
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
	for i := st.from; i < end; i++ {
		if !derived(c.messages[i]) { // what memory put in may count nothing: see [Context.Usage]
			g.tokens += c.tokens[i]
			g.messages = append(g.messages, c.messages[i])
		}
	}
	for _, m := range st.former {
		g.former += c.Count(m)
	}
	if g.tokens-g.former < leastTokens {
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
	m := sum.message(c, ref, g)
	if c.Count(m) >= g.tokens {
		return false, fmt.Errorf("%w: the summary is not smaller than what it takes the place of", backends.ErrModel)
	}
	if upto := reaches(ref); upto > 0 && !st.work {
		m = einox.MarkSeq(m, upto)
		c.Summarised(&Summary{Text: m.Content, Upto: upto})
	}
	c.Replace(st.from, end, m)
	return true, nil
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
