// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends/reme/flow"
)

// question puts a prompt together: what to do, how to write, that the material is
// data, and the form of the answer. most is how many entries it may have; 0 where it
// is no list of experiences.
func (e *Extractor) question(lang flow.Language, prompt func(*Prompts) string, tool string, most int, material string) *flow.Question {
	p := phrasesIn(lang)
	parts := []string{e.prompt(lang, prompt)}
	if most > 0 {
		parts = append(parts, p.writing+" "+fmt.Sprintf(p.most, most))
	}
	parts = append(parts, p.data)
	if e.config.Models.ByTool() {
		parts = append(parts, p.byTool+" "+tool+p.end)
	} else {
		parts = append(parts, p.byJSON+" "+p.forms[tool])
	}
	return &flow.Question{
		System: strings.Join(parts, "\n\n"), User: material, Tool: tool,
		Complaint: func(err error) string { return p.badAnswer + " " + err.Error() },
	}
}

// prompt returns the caller's prompt, or the default one.
func (e *Extractor) prompt(lang flow.Language, of func(*Prompts) string) string {
	if given := e.config.Prompts; given != nil {
		if text := strings.TrimSpace(of(given)); text != "" {
			return text
		}
	}
	defaults := DefaultPrompts(lang)
	return of(&defaults)
}
