// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"unicode"

	"github.com/einomem/einomem/backends"
)

// IndexText returns the text of a memory that the lexical part searches: who
// said it, when it was said (in UTC, and in Chinese order too where the text
// holds Han characters; not of what tasks and tools taught, which nobody looks for by
// the day), when it helps, and what it says. When it helps stands
// there twice: a question tells of the situation that somebody is in, and what was
// written about the situation is more like it than the advice is.
func IndexText(m *backends.Memory) string {
	var b strings.Builder
	line := func(s string) {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	line(m.Origin.Speaker)
	line(spokenDate(m))
	line(m.WhenToUse)
	line(m.WhenToUse)
	b.WriteString(m.Text)
	return b.String()
}

// spokenDate returns when a memory was observed, as people say it; empty where
// that is not known, or does not matter.
func spokenDate(m *backends.Memory) string {
	switch m.Kind {
	case backends.KindTask, backends.KindTool, backends.KindProcedure:
		return "" // the numbers of a date would match those of a task
	}
	if m.Observed.IsZero() {
		return ""
	}
	at := m.Observed.UTC()
	date := at.Format("3:04 pm on 2 January, 2006")
	if !isASCII(m.Text) && strings.ContainsFunc(m.Text, isHan) {
		date += "\n" + at.Format("2006年1月2日")
	}
	return date
}

// EmbedText returns the text of a memory that is embedded: the situation in which
// it helps where that is known, since a question resembles it more than it
// resembles the advice; else what it says, after the name of who said it. WhenToUse of
// a tool is its name, and of what is known of a person keywords: of the first both are
// embedded, of the second what it says. A core block has none: nobody looks for it.
func EmbedText(m *backends.Memory) string {
	switch {
	case m.Kind == backends.KindCore:
		return ""
	case m.Kind == backends.KindTool && m.WhenToUse != "" && m.Text != "":
		return m.WhenToUse + ": " + m.Text
	case m.Kind == backends.KindPersonal && m.Text != "":
		return m.Text
	case m.WhenToUse != "":
		return m.WhenToUse
	case m.Origin.Speaker != "" && m.Text != "":
		return m.Origin.Speaker + ": " + m.Text
	}
	return m.Text
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }
