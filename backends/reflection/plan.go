// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/text"
)

// Plan holds the changes that a [Reflector] proposes for one partition, with reasons. Print it,
// keep it as JSON, or shorten it after a review: each of its operations stands alone.
type Plan struct {
	ID         string             `json:"id"`
	Partition  backends.Partition `json:"partition"`
	Created    time.Time          `json:"created"`
	Operations []Operation        `json:"operations"`
	Memories   int                `json:"memories"` // number of compared memories
	Usage      backends.Usage     `json:"usage"`
	// Refused are refused parts of the model's answers, with the reasons.
	Refused []string `json:"refused,omitempty"`
}

// Op is the kind of an operation.
type Op string

// The operations.
const (
	Merge     Op = backends.OpMerge // Changes repeat Stays, and are hidden behind it
	Supersede Op = "supersede"      // Stays, or Text, replaced Changes
	Retract   Op = "retract"        // Changes are not true any more
	Expire    Op = "expire"         // the time of Changes is over
	Insight   Op = "insight"        // Text is new, on the strength of the Evidence
	Vote      Op = "vote"           // Votes go to a lesson, Changes
	Field     Op = "field"          // Changes fill the Field of the profile with Value
	EditBlock Op = "block"          // Text replaces the content of the core block Into
	Promote   Op = "promote"        // copies of Changes go to the workspace Into
)

// Operation is one change of a [Plan].
type Operation struct {
	Op     Op     `json:"op"`
	Rule   Rule   `json:"rule"`
	Reason string `json:"reason"`

	Changes  []Seen `json:"changes,omitempty"`  // memories to change
	Stays    *Seen  `json:"stays,omitempty"`    // the memory that replaces them
	Evidence []Seen `json:"evidence,omitempty"` // further sources

	Text  string `json:"text,omitempty"`
	Votes int    `json:"votes,omitempty"`
	Field string `json:"field,omitempty"`
	Value any    `json:"value,omitempty"`
	Into  string `json:"into,omitempty"`
}

// Seen is a memory as a draft saw it. An operation is ErrConflict once one of its memories changed.
// Counts of uses do not matter, because every search changes them.
type Seen struct {
	ID      string        `json:"id"`
	Version int64         `json:"version"` // 0: a core block that is still to be written
	Digest  string        `json:"digest"`  // of its content, except for version and counts
	Kind    backends.Kind `json:"kind"`
	Text    string        `json:"text"` // for the reader
}

func see(m *backends.Memory) Seen {
	return Seen{ID: m.ID, Version: m.Version, Digest: digest(m), Kind: m.Kind, Text: strings.TrimPrefix(m.WhenToUse+": "+m.Text, ": ")}
}

func seeAll(memories ...*backends.Memory) []Seen {
	out := make([]Seen, len(memories))
	for i, m := range memories {
		out[i] = see(m)
	}
	return out
}

// is reports whether a memory is still the same.
func (s *Seen) is(m *backends.Memory) bool {
	return m != nil && (m.Version == s.Version || digest(m) == s.Digest)
}

// counts are the keys of Metadata that change with every use of a memory.
var counts = []string{backends.MetaUses, backends.MetaLastUse, keeper.MetaFreq, keeper.MetaUtility}

// digest identifies the content of a memory, whatever its version and its counts.
func digest(m *backends.Memory) string {
	c := m.Clone()
	c.Version, c.Updated = 0, time.Time{}
	for _, key := range counts {
		delete(c.Metadata, key)
	}
	raw, _ := json.Marshal(&c) // it comes from JSON
	return text.HashID("digest", string(raw))
}

// seen lists all memories that an operation names.
func (o *Operation) seen() []Seen {
	out := slices.Concat(o.Changes, o.Evidence)
	if o.Stays != nil {
		out = append(out, *o.Stays)
	}
	return out
}

// String returns the operation for a reader: a line for its effect, and one for each memory that it
// changes or rests on.
func (o *Operation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", o.Op, o.Rule, o.Reason)
	line := func(sign string, s *Seen) { fmt.Fprintf(&b, "\n  %s [%s] %s", sign, s.ID, text.Line(s.Text, 160)) }
	for i := range o.Changes {
		line("-", &o.Changes[i])
	}
	if o.Stays != nil {
		line("=", o.Stays)
	}
	switch {
	case o.Text != "":
		fmt.Fprintf(&b, "\n  + %s", text.Line(o.Text, 400))
	case o.Field != "":
		fmt.Fprintf(&b, "\n  + %s: %v", o.Field, o.Value)
	case o.Votes != 0:
		fmt.Fprintf(&b, "\n  + votes: %+d", o.Votes)
	case o.Into != "":
		b.WriteString("\n  + " + o.Into)
	}
	for i := range o.Evidence {
		line("?", &o.Evidence[i])
	}
	return b.String()
}

// String returns the plan for a reader.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %s for %s\noperations: %d, memories: %d, model calls: %d, tokens: %d\n",
		p.ID, p.Partition, len(p.Operations), p.Memories, p.Usage.ModelCalls, p.Usage.PromptTokens+p.Usage.CompletionTokens)
	for i := range p.Operations {
		fmt.Fprintf(&b, "%d. %s\n", i+1, &p.Operations[i])
	}
	for _, refused := range p.Refused {
		b.WriteString("refused: " + refused + "\n")
	}
	return b.String()
}
