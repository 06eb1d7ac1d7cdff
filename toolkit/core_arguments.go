// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"encoding/json"
	"strings"
)

// The parameters as a model is told of them.
type (
	coreAppendParams struct {
		Block string `json:"block" jsonschema:"required"`
		Text  string `json:"text" jsonschema:"required"`
	}
	coreReplaceParams struct {
		Block   string `json:"block" jsonschema:"required"`
		OldText string `json:"old_text" jsonschema:"required"`
		NewText string `json:"new_text" jsonschema:"required"`
	}
)

// coreArguments are what models really send: also under the names that the same
// tools have elsewhere.
type coreArguments struct {
	Block, Label, Name  passage
	Text, Content       passage
	OldText, OldContent passage
	NewText, NewContent passage
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *coreArguments) UnmarshalJSON(b []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	for name, into := range map[string]*passage{
		"block": &a.Block, "label": &a.Label, "name": &a.Name,
		"text": &a.Text, "content": &a.Content,
		"old_text": &a.OldText, "old_content": &a.OldContent,
		"new_text": &a.NewText, "new_content": &a.NewContent,
	} {
		if value, ok := raw[name]; ok {
			if err := json.Unmarshal(value, into); err != nil {
				return err
			}
		}
	}
	return nil
}

// block returns the name of the block that is meant.
func (a *coreArguments) block() string {
	name := a.Block.or(a.Label).or(a.Name).text
	return strings.ToLower(strings.Trim(name, " \t\r\n\"'`<>[]"))
}

// passage is a text to the letter, or what models write for one: a number, a truth
// value, a list of lines.
type passage struct {
	text string
	set  bool // it was given, and not as null
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *passage) UnmarshalJSON(b []byte) error {
	var lines []json.RawMessage
	if json.Unmarshal(b, &lines) != nil {
		lines = []json.RawMessage{b}
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		var err error
		if texts[i], err = scalar(l); err != nil {
			return err
		}
	}
	*p = passage{text: strings.Join(texts, "\n"), set: string(b) != "null"}
	return nil
}

// or returns p, or what stands for it where it was not given.
func (p passage) or(other passage) passage {
	if p.set {
		return p
	}
	return other
}
