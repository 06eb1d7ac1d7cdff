// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// shape is how much a group's stand-in says.
type shape struct {
	rounds bool // it stands for rounds, else for steps of the running one
	lines  int  // of what was said or called
	before int  // tokens of what stood for older messages
}

// shapes are those that are tried in turn: each says less.
func (c *Context) shapes(rounds bool) [3]shape {
	room := c.config.target()
	return [3]shape{{rounds, maxLines, room / 4}, {rounds, maxLines / 2, room / 16}, {rounds, 2, 0}}
}

// groupStandIn returns the one message that takes the place of a group.
func (c *Context) groupStandIn(d *tale, s shape, ref string) *schema.Message {
	d = d.bounded(s.rounds, s.lines)
	d.Before = c.clipTokens(d.Before, s.before)
	m := schema.UserMessage(c.groupText(d, s.rounds, ref))
	einox.MarkSummary(m)
	return einox.MarkRef(withMark(m, standInKey, d.String()), ref)
}

func (c *Context) groupText(d *tale, rounds bool, ref string) string {
	p := phrases(c.language)
	headline, title, lines, more := fmt.Sprintf(p.current, d.calls(), d.Messages, d.Tokens, c.where(ref)), p.steps, d.Steps, d.Unlisted
	if rounds {
		headline, title, lines, more = fmt.Sprintf(p.rounds, d.Rounds, d.Messages, d.Tokens, c.where(ref)), p.asked, d.Asked, d.Unasked
	}
	out := []string{headline}
	if before := quote(d.Before, len(d.Before)); before != "" {
		out = append(out, p.before, before)
	}
	if len(lines) > 0 {
		out = append(out, title)
		if more > 0 {
			out = append(out, fmt.Sprintf(p.more, more))
		}
		out = append(out, "> "+strings.Join(lines, "\n> "))
	}
	if rounds && len(d.Tools) > 0 {
		out = append(out, fmt.Sprintf(p.calls, c.toolsText(d.Tools)))
	}
	return strings.Join(out, "\n")
}

func (c *Context) toolsText(tools []tally) string {
	out := make([]string, len(tools))
	for i, t := range tools {
		out[i] = fmt.Sprintf(phrases(c.language).times, t.Name, t.Calls)
	}
	return strings.Join(out, ", ")
}

// clipTokens returns the beginning of s that counts about n tokens at most.
func (c *Context) clipTokens(s string, n int) string {
	if n <= 0 {
		return ""
	}
	for s != "" {
		tokens := c.config.Budget.Counter.Text(s)
		if tokens <= n {
			return s
		}
		runes := []rune(strings.TrimSuffix(s, ellipsis))
		keep := min(len(runes)*n/tokens, len(runes)-2)
		if keep <= 0 {
			return ""
		}
		s = wholeWords(string(runes[:keep])) + ellipsis
	}
	return ""
}
