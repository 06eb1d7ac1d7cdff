// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// withoutRepeat returns the history without its last message when that is the
// question: it was written to the log before the prompt was built.
func withoutRepeat(history []*schema.Message, question *schema.Message) []*schema.Message {
	last := len(history) - 1
	if last < 0 || !asks(history[last]) || !sameWords(history[last], question) {
		return history
	}
	return history[:last]
}

func sameWords(a, b *schema.Message) bool {
	return strings.TrimSpace(a.Content) == strings.TrimSpace(b.Content) &&
		reflect.DeepEqual(a.UserInputMultiContent, b.UserInputMultiContent) &&
		reflect.DeepEqual(a.MultiContent, b.MultiContent)
}

// shown is the text of a prompt, to look whether it says something already.
type shown string

func shownBy(messages []*schema.Message) shown {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(oneLine(einox.Text(m)))
		b.WriteByte('\n')
	}
	return shown(b.String())
}

// says reports whether the text is there word for word, whatever the spaces and
// lines: not as a part of longer words.
func (s shown) says(text string) bool {
	text = oneLine(text)
	if text == "" {
		return false
	}
	for rest := string(s); ; {
		i := strings.Index(rest, text)
		if i < 0 {
			return false
		}
		end := i + len(text)
		if !joins(rest[:i], text) && !joins(text, rest[end:]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(rest[i:])
		rest = rest[i+size:]
	}
}

// joins reports whether a word goes on from a to b. Scripts without spaces between
// their words are not looked at.
func joins(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	return inWord(last) && inWord(first)
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
