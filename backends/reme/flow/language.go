// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"unicode"

	"github.com/einomem/einomem/backends"
)

// Language is the language of prompts and of texts made of memories. What is
// remembered stays in the language of its material.
type Language string

// The languages.
const (
	LanguageAuto Language = "" // follows the material: Chinese when it is mostly Chinese
	English      Language = "en"
	Chinese      Language = "zh"
)

// Validate returns ErrInvalid for a language that there is not.
func (l Language) Validate() error {
	switch l {
	case LanguageAuto, English, Chinese:
		return nil
	}
	return fmt.Errorf("language %q: %w: use en, zh or nothing", string(l), backends.ErrInvalid)
}

// For returns the language itself, or for LanguageAuto that of the material. A Han
// character says about as much as three letters.
func (l Language) For(material ...string) Language {
	if l != LanguageAuto {
		return l
	}
	var han, other int
	for _, text := range material {
		for _, r := range text {
			switch {
			case unicode.Is(unicode.Han, r):
				han++
			case unicode.IsLetter(r):
				other++
			}
		}
	}
	if 3*han > other {
		return Chinese
	}
	return English
}
