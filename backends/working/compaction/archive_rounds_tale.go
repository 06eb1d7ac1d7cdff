// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"encoding/json"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// tale is what is told of messages that left together. It is kept as a mark of
// their stand-in, so that it can be added to when that leaves too.
type tale struct {
	Rounds   int      `json:"rounds,omitempty"`
	Messages int      `json:"messages,omitempty"`
	Tokens   int      `json:"tokens,omitempty"`
	Before   string   `json:"before,omitempty"` // the text of what stood for older messages, not made here
	Asked    []string `json:"asked,omitempty"`  // what users said
	Steps    []string `json:"steps,omitempty"`  // calls
	Tools    []tally  `json:"tools,omitempty"`
	Unasked  int      `json:"unasked,omitempty"`  // older ones that Asked has not
	Unlisted int      `json:"unlisted,omitempty"` // older ones that Steps has not
	Depth    int      `json:"depth,omitempty"`    // how many archives are in one another
}

// tally says how often a tool was called.
type tally struct {
	Name  string `json:"name"`
	Calls int    `json:"calls"`
}

// What a tale holds at most; what is shown of it may be less.
const (
	maxLines = 12
	maxTools = 12
	lineLong = 100 // runes of a line
)

// taleOf returns the tale of a stand-in that this package made, or nil.
func taleOf(m *schema.Message) *tale {
	mark := markOf(m, standInKey)
	if mark == "" || mark[0] != '{' {
		return nil
	}
	var d tale
	if json.Unmarshal([]byte(mark), &d) != nil {
		return nil
	}
	return &d
}

// String is the mark. It is empty for what JSON cannot express, which no text is.
func (d *tale) String() string {
	out, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	return string(out)
}

// add tells of one more message. old says that it is the oldest of all.
func (d *tale) add(m *schema.Message, tokens int, old bool) {
	if former := taleOf(m); former != nil {
		d.merge(former, old)
		return
	}
	if standsForMany(m) {
		d.Depth = max(d.Depth, depthOf(m))
		if old {
			d.Before = m.Content
		}
		return
	}
	d.Messages++
	d.Tokens += tokens
	if asks(m) {
		d.Rounds++
		if said := oneLine(einox.Text(m), lineLong); said != "" {
			d.Asked = append(d.Asked, said)
		}
	}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i].Function
		d.called(call.Name, 1)
		d.Steps = append(d.Steps, oneLine(oneLine(call.Name, maxName)+"("+call.Arguments+")", lineLong))
	}
}

// merge adds what a former stand-in told.
func (d *tale) merge(f *tale, old bool) {
	d.Rounds += f.Rounds
	d.Messages += f.Messages
	d.Tokens += f.Tokens
	d.Unasked += f.Unasked
	d.Unlisted += f.Unlisted
	d.Depth = max(d.Depth, f.Depth)
	d.Asked = append(d.Asked, f.Asked...)
	d.Steps = append(d.Steps, f.Steps...)
	for _, t := range f.Tools {
		d.called(t.Name, t.Calls)
	}
	if old {
		d.Before = f.Before
	}
}

func (d *tale) called(tool string, times int) {
	tool = oneLine(tool, maxName)
	find := func(t tally) bool { return t.Name == tool }
	at := slices.IndexFunc(d.Tools, find)
	if at < 0 && len(d.Tools) >= maxTools { // one line for all others
		tool = ellipsis
		at = slices.IndexFunc(d.Tools, find)
	}
	if at < 0 {
		d.Tools = append(d.Tools, tally{Name: tool})
		at = len(d.Tools) - 1
	}
	d.Tools[at].Calls += times
}

func (d *tale) calls() int {
	n := 0
	for _, t := range d.Tools {
		n += t.Calls
	}
	return n
}

// bounded returns a copy with the newest lines only, of one sort: what users said
// for rounds, else calls.
func (d *tale) bounded(rounds bool, lines int) *tale {
	b := *d
	if rounds {
		b.Steps, b.Unlisted = nil, 0
		b.Asked, b.Unasked = newest(d.Asked, lines, d.Unasked)
	} else {
		b.Asked, b.Unasked = nil, 0
		b.Steps, b.Unlisted = newest(d.Steps, lines, d.Unlisted)
	}
	return &b
}

func newest(lines []string, n, more int) ([]string, int) {
	if drop := len(lines) - n; drop > 0 {
		return slices.Clone(lines[drop:]), more + drop
	}
	return slices.Clone(lines), more
}
