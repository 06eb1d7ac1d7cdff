// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/budget"
)

// summary is a summary message in its parts. What the model wrote is in digest;
// all else is written by code: how many messages left, which tools were called,
// what was not summarised, and where the originals are.
type summary struct {
	work     bool // of the running round
	noTools  bool // the agent has no tools to read the archive with
	replaced int  // messages, those of former summaries included
	digest   digest
	body     string   // of a summary that was read: its digest as text
	calls    []string // oldest first
	earlier  map[string]int
	kept     []string // stand-ins that no model summarised
	older    int      // how many more of those there were
}

// How much code writes, at most.
const (
	callRunes = 200 // of a call
	keptRunes = 300 // of a stand-in that is carried along
	keptLines = 12
)

// text writes the summary. Every line of the model's is indented or begins with a
// dash, so that none can pass for code's.
func (s *summary) text(p *promptSet, ref string) string {
	var sb strings.Builder
	header := p.header
	if s.work {
		header = p.headerWork
	}
	fmt.Fprintf(&sb, header, s.replaced)
	for _, part := range parts {
		writeSection(&sb, p.titles[part], s.digest[part])
	}
	writeSection(&sb, p.kept, append(s.unlisted(p), s.kept...))
	writeSection(&sb, p.calls, append(s.more(p), s.calls...))
	source := p.source
	if s.noTools {
		source = p.sourceOnly
	}
	fmt.Fprintf(&sb, "\n"+source, ref)
	return sb.String()
}

func writeSection(sb *strings.Builder, title string, entries []string) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(sb, "\n## %s", title)
	for _, e := range entries {
		sb.WriteString("\n- " + e)
	}
}

// unlisted is the line about stand-ins that are too many to list.
func (s *summary) unlisted(p *promptSet) []string {
	if s.older == 0 {
		return nil
	}
	return []string{fmt.Sprintf(p.older, s.older)}
}

// more is the line about calls that are too many to list: those of the tools that
// were called most by name, of all others together.
func (s *summary) more(p *promptSet) []string {
	often := slices.SortedFunc(maps.Keys(s.earlier), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.earlier[b], s.earlier[a]), cmp.Compare(a, b))
	})
	shown, n := make(map[string]int), 0
	for _, name := range often {
		times := s.earlier[name]
		if times <= 0 {
			break
		}
		if n += times; len(shown) >= maxTools {
			name = ellipsis
		}
		shown[name] += times
	}
	if n == 0 {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		names = append(names, fmt.Sprintf("%s ×%d", name, shown[name]))
	}
	return []string{fmt.Sprintf(p.more, n, strings.Join(names, ", "))}
}

var (
	digits  = regexp.MustCompile(`\d+`)
	tallies = regexp.MustCompile(`(\S+) ×(\d+)`)
)

// readSummary takes apart what stands in for messages: a summary of ours, a
// stand-in with the tale of what no model has seen, or something else, which is
// kept as it is.
func readSummary(m *schema.Message) *summary {
	t := taleOf(m)
	if t == nil {
		return readText(m.Content)
	}
	s := &summary{earlier: map[string]int{}}
	if t.Before != "" {
		s = readText(t.Before)
	}
	headline, _, _ := strings.Cut(m.Content, "\n")
	s.body = m.Content
	s.replaced += t.Messages
	s.kept = append(s.kept, oneLine(headline, keptRunes))
	for _, tool := range t.Tools {
		s.earlier[tool.Name] += tool.Calls
	}
	for _, step := range t.Steps {
		s.calls = append(s.calls, step)
		name := nameOf(step)
		if s.earlier[name] == 0 { // counted with the others
			name = ellipsis
		}
		s.earlier[name]--
	}
	return s
}

func readText(text string) *summary {
	head, rest, _ := strings.Cut(text, "\n")
	for _, p := range []*promptSet{&english, &chinese} {
		for _, header := range []string{p.header, p.headerWork} {
			before, after, _ := strings.Cut(header, "%d")
			if strings.HasPrefix(head, before) && strings.HasSuffix(head, after) {
				s := p.read(rest)
				s.work = header == p.headerWork
				s.replaced, _ = strconv.Atoi(digits.FindString(head))
				return s
			}
		}
	}
	return &summary{body: text, kept: []string{oneLine(text, keptRunes)}, earlier: map[string]int{}}
}

// nameOf returns the tool's name of a line of the list of calls.
func nameOf(call string) string {
	name, _, _ := strings.Cut(call, "(")
	return name
}

func (p *promptSet) read(text string) *summary {
	s := &summary{earlier: map[string]int{}}
	source, _, _ := strings.Cut(p.source, "%s")
	var body []string
	title := ""
	for line := range strings.SplitSeq(text, "\n") {
		entry, listed := strings.CutPrefix(line, "- ")
		switch t, heading := strings.CutPrefix(line, "## "); {
		case heading:
			title = t
		case strings.HasPrefix(line, source):
			continue
		case title == p.calls && listed:
			s.call(entry)
			continue
		case title == p.kept && listed:
			s.keep(entry, p)
			continue
		}
		if title != p.calls && title != p.kept {
			body = append(body, line)
		}
	}
	s.body = strings.Join(body, "\n")
	return s
}

// keep adds a line of the list of stand-ins.
func (s *summary) keep(line string, p *promptSet) {
	before, after, _ := strings.Cut(p.older, "%d")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(line, before), after))
	if err == nil && strings.HasPrefix(line, before) && strings.HasSuffix(line, after) {
		s.older += n
		return
	}
	s.kept = append(s.kept, line)
}

// call adds a line of the list of calls.
func (s *summary) call(line string) {
	if strings.Contains(line, "(") || !digits.MatchString(line) {
		s.calls = append(s.calls, line)
		return
	}
	for _, m := range tallies.FindAllStringSubmatch(line, -1) {
		n, _ := strconv.Atoi(m[2])
		s.earlier[m[1]] += n
	}
}

// join adds what code keeps of a summary, or of a message, that left.
func (s *summary) join(m *schema.Message) {
	if !standsForMany(m) {
		s.replaced++
		for i := range m.ToolCalls {
			f := &m.ToolCalls[i].Function
			s.calls = append(s.calls, oneLine(f.Name+"("+f.Arguments+")", callRunes))
		}
		return
	}
	former := readSummary(m)
	s.replaced += former.replaced
	s.kept = append(s.kept, former.kept...)
	s.older += former.older
	s.calls = append(s.calls, former.calls...)
	for name, n := range former.earlier {
		s.earlier[name] += n
	}
}

// bound cuts the lists that code writes: the newest calls that fit into tokens
// keep their arguments, of the others the names are counted; of the stand-ins the
// newest stay, and the others are counted.
func (s *summary) bound(tokens int, count budget.Counter) {
	if n := len(s.kept) - keptLines; n > 0 {
		s.kept, s.older = s.kept[n:], s.older+n
	}
	first := len(s.calls)
	for first > 0 {
		if tokens -= count.Text(s.calls[first-1]) + 2; tokens < 0 {
			break
		}
		first--
	}
	for _, c := range s.calls[:first] {
		s.earlier[nameOf(c)]++
	}
	s.calls = s.calls[first:]
}
