// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxSpeaker is the longest name of a speaker, in characters.
const maxSpeaker = 64

// reserved are the words by which notes say who speaks. A name begins with another word.
var reserved = map[string]bool{
	"assistant": true, "system": true, "developer": true, "tool": true, "function": true, "user": true, "human": true, "ai": true, "agent": true,
	"memory": true, "memories": true, "document": true, "documents": true, "experience": true, "noted": true, "pasted": true, "known": true, "inferred": true,
	"助手": true, "系统": true, "工具": true, "用户": true, "记忆": true, "文档": true, "经验": true, "已知事实": true, "助手的笔记": true, "粘贴的文字": true,
}

// SpeakerName returns the name of a message as notes may show it beside the words. The name is
// in NFKC, on one line, and free of colons, brackets, control characters and marks of
// direction. It is empty for more than 64 characters, and for letters of several alphabets
// that look alike. It is also empty for a word that says who speaks, such as "assistant",
// "system" or "memory", in any case, width and spacing.
func SpeakerName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == ':', unicode.In(r, unicode.Ps, unicode.Pe):
			return ' '
		case !unicode.IsPrint(r), unicode.In(r, unicode.Cf, unicode.Variation_Selector):
			return -1
		}
		return r
	}, norm.NFKC.String(strings.ToValidUTF8(name, "")))
	words := strings.Fields(name)
	name = strings.Join(words, " ")
	letters := strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, name))
	alphabets := 0
	for _, of := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian} {
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(of, r) }) {
			alphabets++
		}
	}
	if len(words) == 0 || len([]rune(name)) > maxSpeaker || alphabets > 1 || reserved[letters] || reserved[strings.ToLower(strings.Trim(words[0], ".,;-_*#\"'"))] {
		return ""
	}
	return name
}
