// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/toolkit/access"
)

type grepIn struct {
	Pattern string   `json:"pattern" jsonschema:"the text to look for, within one line"`
	Regex   bool     `json:"regex,omitempty" jsonschema:"pattern is a regular expression in RE2 syntax"`
	Refs    []string `json:"archives,omitempty" jsonschema:"only these, such as log-12 or log-12-40"`
	Context int      `json:"context_lines,omitempty" jsonschema:"lines to show around each match, 0 to 10"`
	Limit   int      `json:"limit,omitempty" jsonschema:"the most matches, 1 to 200; 50 by default"`
}

// archive returns the archive of the connection's session.
func (c *call) archive() (*archive.Archive, error) {
	if c.scope.SessionID == "" {
		return nil, fmt.Errorf("%w: this connection names no session: send the header %s", backends.ErrNoScope, access.HeaderSession)
	}
	return c.cfg.Memory.Window().Archives().Of(c.scope)
}

func grep(c *call, in *grepIn) (says string, out any, err error) {
	a, err := c.archive()
	if err != nil {
		return "", nil, err
	}
	resp, err := a.Grep(c, &archive.GrepRequest{
		Pattern: in.Pattern, Regexp: in.Regex, Refs: in.Refs, Context: in.Context, Limit: in.Limit, Skip: []string{grepTool, readTool},
	})
	if err != nil {
		return "", nil, err
	}
	for _, m := range resp.Matches {
		says += fmt.Sprintf("[%s] line %d: %s\n", m.Ref, m.Line, text.Indent(strings.Join(append(append(m.Before, m.Text), m.After...), "\n"), "  "))
	}
	if resp.More || resp.TimedOut {
		says += "(there is more: use a narrower pattern)"
	}
	return cmp.Or(says, "(no line matches)"), resp, nil
}

type readIn struct {
	Ref   string `json:"archive" jsonschema:"what a match or a message names, such as log-12 or log-12-40"`
	Line  int    `json:"line,omitempty" jsonschema:"the first line, from 1 on"`
	Lines int    `json:"lines,omitempty" jsonschema:"how many lines at most; 200 by default"`
	Byte  int    `json:"byte,omitempty" jsonschema:"the first byte, in place of line"`
}

func read(c *call, in *readIn) (says string, out any, err error) {
	a, err := c.archive()
	if err != nil {
		return "", nil, err
	}
	p, err := a.Read(c, &archive.ReadRequest{Ref: in.Ref, Line: in.Line, Lines: in.Lines, Byte: in.Byte})
	if err != nil {
		return "", nil, err
	}
	if says = p.Text; p.More {
		says += fmt.Sprintf("\n(there is more: read on with byte %d)", p.NextByte)
	}
	return says, p, nil
}
