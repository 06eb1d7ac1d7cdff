// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
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
)

// Candidate is an experience that may be stored.
type Candidate struct {
	WhenToUse  string         // The situation in which it helps. Required.
	Content    string         // The experience. Required.
	Tags       []string       // Keywords. Optional.
	Confidence float64        // Of the model that extracted it, 0 to 1. Optional.
	StepType   string         // Where it helps: reasoning, action, observation or decision. Optional.
	ToolsUsed  []string       // Names of tools. Optional.
	Quality    *float64       // The judge's score, 0 to 1. Optional. Nil: it was not judged.
	Extra      map[string]any // Further metadata, as JSON values. Optional.

	// Source is what taught it: a success, a failure, a comparative look at two attempts
	// (then of the better one), or a simple one. Optional, as is what follows: of the
	// trajectory that taught it.
	Source   string
	TaskID   string
	Query    string // the task in words
	Score    float64
	Session  string
	Turn     string
	Observed time.Time
}

// memory returns a candidate as it is stored: redacted, without id and times.
func (s *summary) memory(c *Candidate) backends.Memory {
	k := s.m.keeper
	meta := map[string]any{}
	for key, v := range c.Extra { // the model's own, which replaces nothing
		meta[k.Redact(key)] = k.RedactJSON(v)
	}
	for key, v := range s.metadata {
		meta[key] = k.RedactJSON(v)
	}
	for _, key := range []string{MetaFreq, MetaUtility, MetaCorroborated} {
		delete(meta, key) // it was not used yet, whatever a model writes
	}
	setTexts(meta, MetaTags, redacted(k, c.Tags))
	setTexts(meta, MetaToolsUsed, redacted(k, c.ToolsUsed))
	for key, s := range map[string]string{MetaStepType: c.StepType, MetaSource: c.Source, MetaTaskID: c.TaskID, MetaTaskQuery: c.Query} {
		if s != "" {
			meta[key] = k.Redact(s)
		}
	}
	if c.Confidence > 0 {
		meta[MetaConfidence] = c.Confidence
	}
	if c.Source != "" {
		meta[MetaOutcome] = c.Score
	}
	out := backends.Memory{
		Kind: backends.KindTask, Scope: s.scope, Metadata: meta, Observed: c.Observed, Expires: s.expires,
		WhenToUse: strings.TrimSpace(k.Redact(c.WhenToUse)), Text: strings.TrimSpace(k.Redact(c.Content)),
		Origin: backends.Origin{Session: c.Session, Turn: c.Turn, Author: k.Redact(s.author)},
	}
	if q := c.Quality; q != nil {
		quality := min(1, max(0, *q))
		out.Quality = &quality
	}
	return out
}

func redacted(k *keeper.Keeper, list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(k.Redact(s)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// keyOf is the key of a memory's words.
func keyOf(m *backends.Memory) string { return keeper.TextKey(m.Kind, m.WhenToUse, m.Text) }

// bothTexts are what similarity is measured on.
func bothTexts(m *backends.Memory) string { return m.WhenToUse + "\n" + m.Text }

// number returns a number of a memory's metadata, also one that is written as a text, as
// foreign libraries have them; anything else is 0.
func number(m *backends.Memory, key string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(m.Metadata[key])), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	return n
}

// texts returns a list of texts of a memory's metadata.
func texts(m *backends.Memory, key string) []string {
	switch x := m.Metadata[key].(type) {
	case []string:
		return x
	case []any:
		var out []string
		for _, e := range x {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// setTexts puts the texts of all lists into metadata, each once. None removes the key.
func setTexts(meta map[string]any, key string, lists ...[]string) {
	delete(meta, key)
	var out []any
	for _, s := range slices.Concat(lists...) {
		if !slices.Contains(out, any(s)) {
			out = append(out, s)
		}
	}
	if len(out) > 0 {
		meta[key] = out
	}
}

// merge puts into a what b knows beside its words: the union of tags and tools, the
// higher confidence and quality, the later time. Counts stay those of a.
func merge(a, b *backends.Memory) {
	for _, key := range []string{MetaTags, MetaToolsUsed} {
		setTexts(a.Metadata, key, texts(a, key), texts(b, key))
	}
	if c := max(number(a, MetaConfidence), number(b, MetaConfidence)); c > 0 {
		a.Metadata[MetaConfidence] = c
	}
	for key, v := range b.Metadata {
		if _, there := a.Metadata[key]; !there && key != MetaFreq && key != MetaUtility && key != MetaCorroborated {
			a.Metadata[key] = backends.CloneJSON(v)
		}
	}
	if b.Quality != nil && (a.Quality == nil || *a.Quality < *b.Quality) {
		q := *b.Quality
		a.Quality = &q
	}
	if a.Observed.Before(b.Observed) {
		a.Observed = b.Observed
	}
}

// corroborate counts that a memory was learnt again.
func corroborate(m *backends.Memory) {
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	m.Metadata[MetaCorroborated] = number(m, MetaCorroborated) + 1
}

// outlasts reports whether a holds longer than b.
func outlasts(a, b *backends.Memory) bool {
	return !b.Expires.IsZero() && (a.Expires.IsZero() || a.Expires.After(b.Expires))
}
