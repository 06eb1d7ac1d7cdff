// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import "strings"

// The parameters as a model is told of them.
type (
	grepParams struct {
		Pattern       string   `json:"pattern" jsonschema:"required"`
		Regex         bool     `json:"regex,omitempty"`
		Archives      []string `json:"archives,omitempty"`
		ContextLines  int      `json:"context_lines,omitempty" jsonschema:"minimum=0,maximum=10"`
		Limit         int      `json:"limit,omitempty" jsonschema:"minimum=1,maximum=200"`
		CaseSensitive bool     `json:"case_sensitive,omitempty"`
	}
	readParams struct {
		Archive string `json:"archive" jsonschema:"required"`
		Line    int    `json:"line,omitempty" jsonschema:"minimum=1"`
		Lines   int    `json:"lines,omitempty" jsonschema:"minimum=1"`
		Byte    int    `json:"byte,omitempty" jsonschema:"minimum=0"`
		Bytes   int    `json:"bytes,omitempty" jsonschema:"minimum=1,maximum=65536"`
	}
)

// What models really send.
type (
	grepArguments struct {
		Pattern       text  `json:"pattern"`
		Regex         flag  `json:"regex"`
		Archives      list  `json:"archives"`
		Archive       list  `json:"archive"` // as the other tool calls it
		Ref           list  `json:"ref"`     // as a message may call it
		ContextLines  whole `json:"context_lines"`
		Limit         whole `json:"limit"`
		CaseSensitive flag  `json:"case_sensitive"`
	}
	readArguments struct {
		Archive  list  `json:"archive"`
		Archives list  `json:"archives"` // as the other tool calls it
		Ref      list  `json:"ref"`      // as a message may call it
		Line     whole `json:"line"`
		Lines    whole `json:"lines"`
		Byte     whole `json:"byte"`
		Bytes    whole `json:"bytes"`
	}
)

// refs returns the ids that lists name, without what models copy around them. None
// are all.
func refs(lists ...list) []string {
	var out []string
	for _, l := range lists {
		for _, s := range l {
			switch s = strings.Trim(s, " \t\r\n\"'`<>[](),.;:"); strings.ToLower(s) {
			case "":
			case "all", "*":
				return nil
			default:
				out = append(out, s)
			}
		}
	}
	return out
}
