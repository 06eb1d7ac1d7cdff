// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
)

// The keys of a task memory's Metadata: see the package comment.
const (
	metaTags       = "tags"
	metaConfidence = "confidence"
	metaStepType   = "step_type"
	metaToolsUsed  = "tools_used"
	metaTaskQuery  = "task_query"
	metaTaskID     = "task_id"
	metaSource     = "source"
	metaOutcome    = "outcome"
	metaHeldBack   = "held_back"
	metaExample    = "example"
)

// counts are the gains of a memory by being used and learnt again.
var counts = []string{keeper.MetaFreq, keeper.MetaUtility, keeper.MetaCorroborated}

// reserved are the keys that callers cannot set.
var reserved = append([]string{metaTags, metaConfidence, metaStepType, metaToolsUsed, metaTaskQuery, metaTaskID, metaSource, metaOutcome, metaHeldBack, metaExample}, counts...)

// memory returns a candidate in the form for the store: redacted, still to get its id and times.
func (s *summary) memory(c *backends.Memory) backends.Memory {
	k := s.m.keeper
	meta, _ := k.RedactJSON(c.Metadata).(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	for key, v := range s.metadata {
		if !slices.Contains(reserved, key) {
			meta[key] = k.RedactJSON(v)
		}
	}
	for _, key := range counts {
		delete(meta, key) // a new memory is unused, whatever a model writes
	}
	if s.m.config.HoldBack && s.scope.UserID+s.scope.AgentID != "" {
		meta[metaHeldBack] = true
	}
	out := backends.Memory{
		Kind: backends.KindTask, Scope: s.scope, Metadata: meta, Observed: c.Observed, Expires: s.expires,
		WhenToUse: s.m.redact(c.WhenToUse), Text: s.m.redact(c.Text),
		Origin: backends.Origin{Session: cmp.Or(c.Origin.Session, s.scope.SessionID), Turn: c.Origin.Turn, Author: k.Redact(s.author)},
	}
	if q := c.Quality; q != nil {
		quality := min(1, max(0, *q))
		out.Quality = &quality
	}
	return out
}

// keyOf is the key of a memory's words.
func keyOf(m *backends.Memory) string { return keeper.TextKey(m.Kind, m.WhenToUse, m.Text) }

// bothTexts are the texts for similarity.
func bothTexts(m *backends.Memory) string { return m.WhenToUse + "\n" + m.Text }

// merge adds to a what b knows beside its words: the union of tags and tools, the higher confidence
// and quality, the later time with its origin, and all that a lacks.
func merge(a, b *backends.Memory) {
	for key, v := range b.Clone().Metadata {
		mine, there := a.Metadata[key]
		switch {
		case !there:
			a.Metadata[key] = v
		case key == metaTags || key == metaToolsUsed:
			a.Metadata[key] = union(mine, v)
		case key == metaConfidence:
			a.Metadata[key] = max(keeper.Number(a, key), keeper.Number(b, key))
		}
	}
	keeper.Credit(a, append(b.Origin.Users, b.Scope.UserID)...)
	if b.Quality != nil && (a.Quality == nil || *a.Quality < *b.Quality) {
		q := *b.Quality
		a.Quality = &q
	}
	if a.Observed.Before(b.Observed) {
		a.Observed = b.Observed
	}
}

// union returns what two lists of metadata hold, each value once.
func union(a, b any) []any {
	var out []any
	for _, list := range []any{a, b} {
		values, _ := list.([]any)
		for _, v := range values {
			if !slices.ContainsFunc(out, func(o any) bool { return reflect.DeepEqual(o, v) }) {
				out = append(out, v)
			}
		}
	}
	return out
}

// outlasts reports whether a holds longer than b.
func outlasts(a, b *backends.Memory) bool {
	return !b.Expires.IsZero() && (a.Expires.IsZero() || a.Expires.After(b.Expires))
}
