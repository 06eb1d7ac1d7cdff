// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

// The keys of a task memory's Metadata. Numbers that are absent count as 0.
const (
	MetaTags         = "tags"         // []string
	MetaConfidence   = "confidence"   // 0 to 1: of the model that extracted it
	MetaStepType     = "step_type"    // reasoning, action, observation or decision
	MetaToolsUsed    = "tools_used"   // []string
	MetaFreq         = "freq"         // how often it was used in a task: see Record
	MetaUtility      = "utility"      // how often such a task succeeded
	MetaTaskQuery    = "task_query"   // what the task was
	MetaTaskID       = "task_id"      // which task it was
	MetaSource       = "source"       // success, failure, comparative or simple
	MetaOutcome      = "outcome"      // the score of the trajectory that taught it
	MetaCorroborated = "corroborated" // how often it was learnt again in other words
	MetaSameAs       = "same_as"      // []string: marks of the wordings that were found to say the same, the newest 32
)

// maxSameAs is how many other wordings a memory remembers.
const maxSameAs = 32

// number returns a number of a memory's metadata, also one that is written as a text,
// as libraries of others have them; what is none is 0.
func number(m *backends.Memory, key string) float64 {
	var n float64
	switch x := m.Metadata[key].(type) {
	case float64:
		n = x
	case int:
		n = float64(x)
	case int64:
		n = float64(x)
	case json.Number:
		n, _ = x.Float64()
	case string:
		n, _ = strconv.ParseFloat(strings.TrimSpace(x), 64)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	return n
}

// countable reports whether the store can add to the counts of a memory.
func countable(m *backends.Memory) bool {
	for _, key := range counters {
		switch v, there := m.Metadata[key]; v.(type) {
		case float64, int, int64, json.Number:
		default:
			if there {
				return false
			}
		}
	}
	return true
}

// counters are what Record counts.
var counters = [...]string{MetaFreq, MetaUtility}

// texts returns a list of texts of a memory's metadata.
func texts(m *backends.Memory, key string) []string {
	switch x := m.Metadata[key].(type) {
	case []string:
		return x
	case []any:
		out := make([]string, 0, len(x))
		for _, e := range x {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// setTexts puts a list into metadata as JSON knows it, or removes an empty one.
func setTexts(meta map[string]any, key string, list []string) {
	if len(list) == 0 {
		delete(meta, key)
		return
	}
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	meta[key] = out
}

// united returns the texts of all lists, each once, in order.
func united(lists ...[]string) []string {
	var out []string
	for _, list := range lists {
		for _, s := range list {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// ratio is how often a memory helped when it was used; NaN where it never was.
func ratio(freq, utility float64) float64 {
	if freq <= 0 {
		return math.NaN()
	}
	return utility / freq
}

// Rule says which memories are forgotten: those that were used often enough to
// judge them, and helped too seldom.
type Rule struct {
	MinUses    int     // Memories that were used less often stay; at least 0.
	MaxUtility float64 // Of the others those leave that helped in at most this share of their uses, 0 to 1.
	Strict     bool    // Less than this share, as ReMe's code has it, instead of at most, as its paper does.
}

// DefaultRule is that of ReMe's paper: five uses, helpful in at most half of them.
func DefaultRule() Rule { return Rule{MinUses: 5, MaxUtility: 0.5} }

// Validate returns ErrInvalid for a rule that cannot be meant.
func (r Rule) Validate() error {
	switch {
	case r.MinUses < 0:
		return fmt.Errorf("rule: MinUses %d: %w: at least 0", r.MinUses, backends.ErrInvalid)
	case !(r.MaxUtility >= 0 && r.MaxUtility <= 1):
		return fmt.Errorf("rule: MaxUtility %v: %w: a share from 0 to 1", r.MaxUtility, backends.ErrInvalid)
	}
	return nil
}

// Forgets reports whether the rule forgets a memory with these counts. One that
// was never used stays, whatever the rule: nothing speaks against it.
func (r Rule) Forgets(freq, utility float64) bool {
	if freq <= 0 || freq < float64(r.MinUses) {
		return false
	}
	share := utility / freq
	if r.Strict {
		return share < r.MaxUtility
	}
	return share <= r.MaxUtility
}
