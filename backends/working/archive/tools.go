// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/text"
)

// The names of the tools that [Archives.Tools] makes.
const (
	grepTool = "grep_working_memory"
	readTool = "read_working_memory"
)

// Tools returns the tools by which an agent searches and reads the messages that left its
// context, in the scope's session alone. They are grep_working_memory(pattern, regex, archives,
// context_lines, limit, case_sensitive) and read_working_memory(archive, line, lines, byte,
// bytes). Errors become text for the model. A setup that lacks a Scope is ErrInvalid.
func (a *Archives) Tools(_ context.Context, setup *backends.ToolSetup) ([]tool.BaseTool, error) {
	k := &readTools{Kit: agenttool.Kit{ToolSetup: *setup}, archives: a, text: phrasesIn[setup.Language.For()]}
	k.Texts, k.Advice = k.text.tools, k.text.advice
	if err := k.Init(); err != nil {
		return nil, fmt.Errorf("archive: tools: %w", err)
	}
	agenttool.Define(&k.Kit, agenttool.Spec{Name: grepTool, Defaults: map[string]any{"limit": 50, "context_lines": 0}}, k.grep)
	agenttool.Define(&k.Kit, agenttool.Spec{Name: readTool, Defaults: map[string]any{"line": 1, "lines": 200, "bytes": 6000}}, k.read)
	return k.Tools()
}

// readTools are the tools of one call of Tools.
type readTools struct {
	agenttool.Kit
	archives *Archives
	text     *phrases
}

type grepArguments struct {
	Pattern       string           `json:"pattern" jsonschema:"required"`
	Regex         bool             `json:"regex,omitempty"`
	Archives      agenttool.List   `json:"archives,omitempty" alias:"archive,ref"`
	ContextLines  agenttool.Number `json:"context_lines,omitempty" jsonschema:"minimum=0,maximum=10"`
	Limit         agenttool.Number `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200"`
	CaseSensitive bool             `json:"case_sensitive,omitempty"`
}

type readArguments struct {
	Archive string           `json:"archive" alias:"archives,ref" jsonschema:"required"`
	Line    agenttool.Number `json:"line,omitempty" jsonschema:"minimum=1"`
	Lines   agenttool.Number `json:"lines,omitempty" jsonschema:"minimum=1"`
	Byte    agenttool.Number `json:"byte,omitempty" jsonschema:"minimum=0"`
	Bytes   agenttool.Number `json:"bytes,omitempty" jsonschema:"minimum=1,maximum=65536"`
}

func (k *readTools) grep(ctx context.Context, scope backends.Scope, a *grepArguments) (string, error) {
	x, err := k.archives.Of(scope)
	if err != nil {
		return "", err
	}
	resp, err := x.Grep(ctx, &GrepRequest{
		Pattern: a.Pattern, Regexp: a.Regex, CaseSensitive: a.CaseSensitive,
		Refs: refs(a.Archives), Context: int(a.ContextLines), Limit: int(a.Limit),
		Skip: []string{grepTool, readTool},
	})
	if err != nil {
		return "", err
	}
	return k.showMatches(a.Pattern, resp), nil
}

// aroundID are characters that models copy together with an id.
const aroundID = " \t\r\n\"'`<>[](),.;:"

// refs returns the ids of a list, trimmed of characters that models copy around them; none for
// all.
func refs(ids []string) []string {
	var out []string
	for _, s := range ids {
		switch s = strings.Trim(s, aroundID); strings.ToLower(s) {
		case "":
		case "all", "*":
			return nil
		default:
			out = append(out, s)
		}
	}
	return out
}

// showMatches returns the answer of a search for the model, with a hint how to go on.
func (k *readTools) showMatches(pattern string, resp *GrepResponse) string {
	lines := []string{fmt.Sprintf(k.text.matches, len(resp.Matches), resp.Searched)}
	if len(resp.Matches) == 0 {
		lines[0] = fmt.Sprintf(k.text.noMatch, text.Truncate(pattern, 100), resp.Searched)
	}
	lines = append(lines, k.snippets(resp.Matches)...)
	if len(resp.Unreadable) > 0 {
		lines = append(lines, fmt.Sprintf(k.text.unreadables, text.Truncate(strings.Join(resp.Unreadable, ", "), agenttool.MaxErrorRunes)))
	}
	switch {
	case resp.TimedOut:
		lines = append(lines, k.text.cutShort)
	case resp.More:
		lines = append(lines, k.text.moreMatches)
	}
	if len(resp.Matches) > 0 {
		lines = append(lines, k.text.howToRead)
	}
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
}

// snippets shows matches with their context, each line once, as "12: a match" and "13- a line
// beside it", under the id of their message.
func (k *readTools) snippets(matches []Match) []string {
	var lines []string
	last := 0 // the line that was shown last
	show := func(n int, sign, s string) {
		lines = append(lines, text.Indent(fmt.Sprint(n)+sign+s, "  "))
		last = n
	}
	for i, m := range matches {
		if i == 0 || m.Ref != matches[i-1].Ref {
			lines, last = append(lines, "["+m.Ref+"]"), 0
		}
		for j, s := range m.Before {
			if n := m.Line - len(m.Before) + j; n > last {
				show(n, "- ", s)
			}
		}
		if m.Truncated {
			m.Text = fmt.Sprintf(k.text.atByte, m.Byte) + m.Text
		}
		show(m.Line, ": ", m.Text)
		for j, s := range m.After {
			if n := m.Line + 1 + j; i+1 == len(matches) || m.Ref != matches[i+1].Ref || n < matches[i+1].Line {
				show(n, "- ", s)
			}
		}
	}
	return lines
}

func (k *readTools) read(ctx context.Context, scope backends.Scope, a *readArguments) (string, error) {
	x, err := k.archives.Of(scope)
	if err != nil {
		return "", err
	}
	page, err := x.Read(ctx, a.request())
	if err != nil {
		return "", err
	}
	return k.showPage(page), nil
}

// request reads by byte if Byte is above 0: models fill in the first line for good measure.
func (a *readArguments) request() *ReadRequest {
	r := &ReadRequest{Ref: strings.Trim(a.Archive, aroundID), Line: int(a.Line), Lines: int(a.Lines), Byte: int(a.Byte), Bytes: int(a.Bytes)}
	switch {
	case r.Byte > 0:
		r.Line = 0
	case r.Line == 0 && r.Lines > 0:
		r.Line = 1
	}
	return r
}

// showPage puts the page between a line that describes it and a line that says how to go on.
func (k *readTools) showPage(p *Page) string {
	head := fmt.Sprintf(k.text.page, p.Ref, p.FirstLine, p.LastLine, p.TotalLines, p.Byte, p.NextByte-1, p.TotalBytes)
	foot := fmt.Sprintf(k.text.endOfArchive, p.Ref)
	switch {
	case p.Text == "":
		return fmt.Sprintf(k.text.emptyArchive, p.Ref)
	case p.NextLine > 0:
		foot = fmt.Sprintf(k.text.nextLine, p.NextLine)
	case p.More:
		foot = fmt.Sprintf(k.text.nextByte, p.NextByte)
	}
	return head + "\n" + strings.TrimSuffix(p.Text, "\n") + "\n" + foot
}
