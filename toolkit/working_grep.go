// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends/working/archive"
)

func (k *workingKit) grep(ctx context.Context, arguments string) (string, error) {
	var args grepArguments
	if err := decode(arguments, &args); err != nil {
		return "", k.unreadable(GrepWorkingMemory, err)
	}
	if args.Pattern == "" {
		return "", refusal(k.text.NoPattern)
	}
	x, ctx, cancel, err := k.open(ctx)
	if err != nil {
		return "", err
	}
	defer cancel()
	found, err := x.Grep(ctx, &archive.GrepRequest{
		Pattern: string(args.Pattern), Regexp: bool(args.Regex), CaseSensitive: bool(args.CaseSensitive),
		Refs: refs(args.Archives, args.Archive, args.Ref), Context: int(args.ContextLines), Limit: int(args.Limit),
		Skip: []string{GrepWorkingMemory, ReadWorkingMemory},
	})
	if err != nil {
		return "", k.slip(k.text.Grep, err)
	}
	return k.showFound(string(args.Pattern), found), nil
}

// showFound words what a search found, and how to go on.
func (k *workingKit) showFound(pattern string, found *archive.GrepResponse) string {
	if len(found.Matches) == 0 {
		out := fmt.Sprintf(k.text.NoMatch, clip(pattern, 100), found.Searched)
		return strings.Join(append([]string{out}, k.unreadables(found)...), "\n")
	}
	lines := []string{fmt.Sprintf(k.text.Matches, len(found.Matches), found.Searched)}
	for rest := found.Matches; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Ref == rest[0].Ref {
			n++
		}
		lines = append(lines, "["+rest[0].Ref+"]")
		lines = append(lines, k.excerpt(rest[:n])...)
		rest = rest[n:]
	}
	lines = append(lines, k.unreadables(found)...)
	if found.More {
		lines = append(lines, k.text.MoreMatches)
	}
	return strings.Join(append(lines, k.text.HowToRead), "\n")
}

func (k *workingKit) unreadables(found *archive.GrepResponse) []string {
	if len(found.Unreadable) == 0 {
		return nil
	}
	return []string{fmt.Sprintf(k.text.Unreadables, clip(strings.Join(found.Unreadable, ", "), maxErrorRunes))}
}

// shown is a line of an excerpt.
type shown struct {
	line  int
	match bool
	text  string
}

// excerpt shows the matches in one message with what is around them, each line
// once, as "12: a match" and "13- a line beside it".
func (k *workingKit) excerpt(matches []archive.Match) []string {
	var all []shown
	for _, m := range matches {
		for len(all) > 0 && !all[len(all)-1].match && all[len(all)-1].line >= m.Line {
			all = all[:len(all)-1] // was shown as what follows the match before
		}
		last := 0
		if len(all) > 0 {
			last = all[len(all)-1].line
		}
		for i, s := range m.Before {
			if n := m.Line - len(m.Before) + i; n > last {
				all = append(all, shown{line: n, text: s})
			}
		}
		text := m.Text
		if m.Truncated {
			text = fmt.Sprintf(k.text.AtByte, m.Byte) + text
		}
		all = append(all, shown{line: m.Line, match: true, text: text})
		for i, s := range m.After {
			all = append(all, shown{line: m.Line + 1 + i, text: s})
		}
	}
	lines := make([]string, len(all))
	for i, s := range all {
		sign := "- "
		if s.match {
			sign = ": "
		}
		lines[i] = fmt.Sprint(s.line) + sign + indent(s.text)
	}
	return lines
}
