// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/internal/keeper"
)

// fate is what is to become of a lesson.
type fate int

const (
	fateAdd   fate = iota // it is stored
	fateKnown             // it is there already: nothing is written, unless it would end too soon
	fateSame              // it says what something else says in other words: that is counted
	fateMerge             // it is joined with what is there
)

// lesson is an experience on its way into the workspace.
type lesson struct {
	memory backends.Memory // as it is to be stored, without id and times
	key    string          // its words

	fate  fate
	known *backends.Memory // the memory of the workspace that it is, or is joined with
	twin  *lesson          // the earlier lesson of the request that it is, or is joined with
	pairs []*pair          // what it resembles, the nearest first
}

// outlasts reports whether a memory ends while the lesson still holds.
func (l *lesson) outlasts(m *backends.Memory) bool {
	return !m.Expires.IsZero() && (l.memory.Expires.IsZero() || l.memory.Expires.After(m.Expires))
}

// changes reports whether a memory of the workspace becomes another one by the lesson.
func (l *lesson) changes() bool {
	return l.known != nil && (l.fate == fateSame || l.fate == fateMerge || l.fate == fateKnown && l.outlasts(l.known))
}

// lesson returns a candidate as a memory.
func (t *try) lesson(c *extract.Candidate) *lesson {
	k, d := t.m.keeper, t.draft
	meta := map[string]any{}
	for key, v := range c.Extra { // the model's own words, which take nobody's place
		meta[k.Redact(key)] = k.RedactJSON(v)
	}
	for key, v := range d.metadata {
		meta[key] = k.RedactJSON(v)
	}
	put := func(key string, v any, there bool) {
		if there {
			meta[key] = v
		}
	}
	setTexts(meta, MetaTags, redacted(k, c.Tags))
	setTexts(meta, MetaToolsUsed, redacted(k, c.ToolsUsed))
	put(MetaConfidence, c.Confidence, c.Confidence > 0)
	put(MetaStepType, k.Redact(string(c.StepType)), c.StepType != "")
	put(MetaSource, k.Redact(string(c.Source)), c.Source != "")
	put(MetaTaskID, k.Redact(c.TaskID), c.TaskID != "")
	put(MetaTaskQuery, k.Redact(c.Query), c.Query != "")
	put(MetaOutcome, c.Score, c.Source != "")
	for _, own := range []string{MetaFreq, MetaUtility, MetaCorroborated, MetaSameAs} {
		delete(meta, own) // a new memory was not used yet, whatever a model says
	}
	l := &lesson{memory: backends.Memory{
		Kind: backends.KindTask, Scope: d.scope, Metadata: meta, Observed: c.Observed, Expires: d.expires,
		WhenToUse: strings.TrimSpace(k.Redact(c.WhenToUse)), Text: strings.TrimSpace(k.Redact(c.Content)),
		Origin: backends.Origin{Session: c.Session, Turn: c.Turn, Author: k.Redact(d.author)},
	}}
	if q := c.Quality; q != nil {
		score := min(1, max(0, *q))
		l.memory.Quality = &score
	}
	l.key = keyOf(&l.memory)
	return l
}

func redacted(k *keeper.Keeper, list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = strings.TrimSpace(k.Redact(s)); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// keyOf is the key of the same words.
func keyOf(m *backends.Memory) string { return keeper.TextKey(m.Kind, m.WhenToUse, m.Text) }

// markOf is the key of a wording as a memory's metadata keeps it.
func markOf(key string) string { return hex.EncodeToString([]byte(key)[:min(8, len(key))]) }

// textOfBoth is what likeness is measured on, of what is new and of what is known
// alike.
func textOfBoth(m *backends.Memory) string { return m.WhenToUse + "\n" + m.Text }

// corroborate counts in a memory's metadata that the lessons say the same.
func corroborate(m *backends.Memory, keys ...string) {
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	m.Metadata[MetaCorroborated] = number(m, MetaCorroborated) + float64(len(keys))
	mark(m, keys...)
}

// mark remembers wordings that say what the memory says.
func mark(m *backends.Memory, keys ...string) {
	marks := make([]string, len(keys))
	for i, key := range keys {
		marks[i] = markOf(key)
	}
	remember(m, marks)
}

// remember puts marks of wordings into a memory's metadata, which keep the newest.
func remember(m *backends.Memory, marks []string) {
	marks = united(texts(m, MetaSameAs), marks)
	setTexts(m.Metadata, MetaSameAs, marks[max(0, len(marks)-maxSameAs):])
}

// bears reports whether the wording is one that the memory is known to say.
func bears(m *backends.Memory, key string) bool {
	return slices.Contains(texts(m, MetaSameAs), markOf(key))
}
