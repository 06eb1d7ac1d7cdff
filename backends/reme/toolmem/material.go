// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"encoding/json"
	"fmt"
	"strings"
)

// material returns what a guideline is written from, in fences: the tool's name, the
// guideline so far, statistics, and the calls with their inputs and outputs, as much
// as a prompt may hold. Calls that do not fit are left out, the oldest first, with a
// word on it.
func (m *Memory) material(t *drafted, calls []Call, old *card) string {
	count, room := m.cfg.Models.Counter(), m.cfg.Models.Limits().Prompt
	statistics := t.Statistics
	head := fence("tool", quoted(t.Tool)) +
		fence("guideline_so_far", quoted(clip(m.redact(old.guideline()), 4*maxGuideline))) +
		fence("statistics", quoted(statistics))
	room -= count.Text(head)
	// Half of the prompt may go to the newest call, half of the rest to the next …; but
	// each may have an even share.
	share := max(room/max(len(calls), 1), 48)
	var lines []string
	for i := len(calls) - 1; i >= 0; i-- {
		line := m.shown(i, &calls[i], max(share, room/2))
		cost := count.Text(line) + 1
		if cost > room && len(lines) > 0 {
			break
		}
		room -= cost
		lines = append(lines, line)
	}
	body := ""
	for i := len(lines) - 1; i >= 0; i-- {
		body += lines[i] + "\n"
	}
	if out := len(calls) - len(lines); out > 0 {
		body = fmt.Sprintf("[%d older calls are left out]\n", out) + body
	}
	return head + fence("calls", strings.TrimSuffix(body, "\n"))
}

func fence(name, body string) string { return "<" + name + ">\n" + body + "\n</" + name + ">\n" }

// quoted returns a value as one line of JSON without angle brackets, so that nothing in
// it can close a fence.
func quoted(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(raw)
}
