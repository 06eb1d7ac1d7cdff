// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"fmt"
	"unicode"
)

// Language is the language of built-in texts: prompts, notes, tool descriptions. Memories
// keep the language of the speaker.
type Language string

// The languages. The zero value means [LanguageAuto].
const (
	// LanguageAuto follows the text at hand: Chinese where three letters in ten are
	// Chinese characters, else English. Texts that are fixed beforehand, such as tool
	// descriptions, are English.
	LanguageAuto Language = "auto"
	English      Language = "en"
	Chinese      Language = "zh"
)

// Validate returns [ErrInvalid] for a language outside the constants. The empty one is
// [LanguageAuto].
func (l Language) Validate() error {
	switch l {
	case "", LanguageAuto, English, Chinese:
		return nil
	}
	return fmt.Errorf("language %q: %w: use auto, en or zh", string(l), ErrInvalid)
}

// For returns [English] or [Chinese]: l itself, or for [LanguageAuto] the language of the
// texts. The first 2,000 bytes of each text decide.
func (l Language) For(texts ...string) Language {
	if l == English || l == Chinese {
		return l
	}
	han, letters := 0, 0
	for _, s := range texts {
		for _, r := range s[:min(len(s), 2000)] {
			if unicode.IsLetter(r) {
				letters++
			}
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	if han > 0 && han*10 >= letters*3 {
		return Chinese
	}
	return English
}
