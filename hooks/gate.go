// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"regexp"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
)

// gate returns the hits for the note of a request: all of them if the request asks memory, else
// nil. The best score has to reach the bar. Experience and documents are for every request.
func (h *Hooks) gate(request string, hits []backends.Hit) []backends.Hit {
	if reach(hits, h.bar(request, hits)) {
		return hits
	}
	hits = slices.DeleteFunc(hits, func(hit backends.Hit) bool {
		return !hit.Kind.Traits().Timeless && hit.Kind != backends.KindDocument
	})
	if reach(hits, h.cfg.Threshold) {
		return hits
	}
	return nil
}

// bar returns the score that the best hit has to reach: Config.Threshold for a personal request and
// for one with a name that a hit has. Another one has to reach twice as much. Where speakers have
// names, a request that names strangers alone has to reach twice as much again.
func (h *Hooks) bar(request string, hits []backends.Hit) float64 {
	names, least := speech.Names(request), h.cfg.Threshold
	if len(names) == 0 || !mention(hits, names) {
		if !speech.Personal(request) {
			least *= 2
		}
		if len(names) > 0 && slices.ContainsFunc(hits, func(hit backends.Hit) bool { return backends.SpeakerName(hit.Origin.Speaker) != "" }) {
			least *= 2
		}
	}
	return least
}

// mention reports whether a hit has one of some names, in its text or as its speaker.
func mention(hits []backends.Hit, names []string) bool {
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	named := regexp.MustCompile(`(?i)(?:^|\PL)(?:` + strings.Join(names, "|") + `)(?:\PL|$)`)
	return slices.ContainsFunc(hits, func(hit backends.Hit) bool {
		return named.MatchString(hit.Text) || named.MatchString(backends.SpeakerName(hit.Origin.Speaker))
	})
}

// reach reports whether a hit scores so much, or has no score from its backend.
func reach(hits []backends.Hit, least float64) bool {
	return slices.ContainsFunc(hits, func(hit backends.Hit) bool { return hit.Score == 0 || hit.Score >= least })
}
