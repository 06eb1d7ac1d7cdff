// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// depthKey is the mark of a summary that says how many archives are in one another
// below it.
const depthKey = einox.MarkerKey + "_depth"

// message is the summary as the context holds it.
func (s *summary) message(c *Context, ref string, g *group) *schema.Message {
	m := schema.UserMessage(s.text(prompts(c.language), ref))
	einox.MarkSummary(m)
	m = einox.MarkRef(m, ref)
	if strings.HasPrefix(ref, logPrefix) {
		return m
	}
	depth := 0
	for _, left := range g.messages {
		depth = max(depth, depthOf(left))
	}
	return withMark(m, depthKey, strconv.Itoa(depth+1))
}

// depthOf returns how many archives are in one another below m.
func depthOf(m *schema.Message) int {
	if t := taleOf(m); t != nil {
		return t.Depth
	}
	n, err := strconv.Atoi(markOf(m, depthKey))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// leaveNested leaves the summaries at the beginning where they are when their
// archives are nested as deep as they may be: the next summary begins beside them,
// as long as these are few.
func (s *stretch) leaveNested(c *Context) {
	n := 0
	for n < len(s.former) && c.messages[s.from+n] == s.former[n] && depthOf(s.former[n]) >= maxNested {
		n++
	}
	if n <= maxBeside {
		s.from += n
		s.former = s.former[n:]
	}
}
