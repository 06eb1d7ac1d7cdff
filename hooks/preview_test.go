// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
)

// The reasons are those of the search for the note: where one of them says that a score is missing,
// a hit that has it is in the note.
func TestAPreviewSaysWhyAHitIsLeftOut(t *testing.T) {
	hit := func(text string, score float64) backends.Hit {
		return backends.Hit{Score: score, Memory: backends.Memory{ID: text, Kind: backends.KindFact, Text: text}}
	}
	states := func(h backends.Hit) backends.Hit {
		h.Parts.Signals, h.Origin.Role = map[string]float64{backends.SignalStates: -0.1}, "user"
		return h
	}
	delicate := func(h backends.Hit) backends.Hit { h.Delicate = true; return h }
	own := func(h backends.Hit) backends.Hit {
		h.Origin.Role, h.Kind = "assistant", backends.KindEpisode
		return h
	}
	best := hit("Drinks tea.", 0.5)
	for name, c := range map[string]struct {
		request string
		whole   bool
		found   []backends.Hit
		of      backends.Hit
		reason  string
		needs   float64
	}{
		"nobody reaches the bar":            {"Which drink do I like?", false, []backends.Hit{hit("Drinks tea.", 0.08)}, hit("Drinks tea.", 0.08), "score", 0.1},
		"a request that is about nobody":    {"How is green tea made?", false, []backends.Hit{hit("Drinks tea.", 0.15)}, hit("Drinks tea.", 0.15), "score", 0.2},
		"below one that reaches the bar":    {"Which drink do I like?", false, []backends.Hit{best}, hit("Has a cat.", 0.04), "score", 0.05},
		"behind the others":                 {"Which drink do I like?", false, []backends.Hit{best}, hit("Has a cat.", 0.3), "rank", 1},
		"a question":                        {"Which drink do I like?", false, []backends.Hit{best, states(hit("What is tea?", 0.3))}, states(hit("What is tea?", 0.3)), "question", 0},
		"delicate":                          {"Which drink do I like?", false, []backends.Hit{best, delicate(hit("Has gout.", 0.15))}, delicate(hit("Has gout.", 0.15)), "delicate", 0.2},
		"what the agent said":               {"Which drink do I like?", true, []backends.Hit{best, own(hit("Tea is fine.", 0.05))}, own(hit("Tea is fine.", 0.05)), "assistant", 0.1},
		"a greeting":                        {"Hello!", false, []backends.Hit{best}, best, "greeting", 0},
		"what the note has is not left out": {"Which drink do I like?", false, []backends.Hit{best}, best, "", 0},
	} {
		m := newMemory(t, func(s *setup) { s.NoteTokens = 150 })
		m.backend.OnSearch = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			return &backends.SearchResponse{Hits: c.found, Whole: c.whole}, nil
		}
		p, err := m.Preview(t.Context(), ann, c.request)
		require.NoError(t, err)
		if c.reason == "" {
			require.Contains(t, p.Text, c.of.Text)
			continue
		}
		require.NotContains(t, p.Text, c.of.Text, name)
		reason, needs := p.Why(&c.of)
		require.Equal(t, c.reason, reason, name)
		require.InDelta(t, c.needs, needs, 1e-9, name)
	}
}

// A note with as many more tokens as the preview names has the hit, and with five less, which is how
// near an estimate is, it lacks the hit.
func TestAPreviewSaysHowMuchRoomALineLacks(t *testing.T) {
	hit := func(kind backends.Kind, text string) backends.Hit {
		return backends.Hit{Score: 0.5, Memory: backends.Memory{ID: text, Kind: kind, Text: text}}
	}
	long := strings.Repeat("Drinks tea with milk and sugar every day. ", 20)
	for name, of := range map[string]backends.Hit{
		"a line beside others":              hit(backends.KindFact, long),
		"a line that begins a part":         hit(backends.KindEpisode, long),
		"a line that lacks hardly anything": hit(backends.KindFact, long[:420]),
	} {
		t.Run(name, func(t *testing.T) {
			preview := func(room int) *hooks.Preview {
				m := newMemory(t, func(s *setup) { s.NoteTokens = room })
				m.backend.OnSearch = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
					return &backends.SearchResponse{Hits: []backends.Hit{hit(backends.KindFact, "Drinks tea."), of}}, nil
				}
				p, err := m.Preview(t.Context(), ann, "Which drink do I like?")
				require.NoError(t, err)
				return p
			}
			small := preview(110)
			require.NotContains(t, small.Text, "sugar")
			reason, lacks := small.Why(&of)
			require.Equal(t, "room", reason)
			require.Positive(t, lacks)
			require.Contains(t, preview(110+int(lacks)).Text, strings.TrimSpace(of.Text))
			require.NotContains(t, preview(105+int(lacks)).Text, strings.TrimSpace(of.Text))
		})
	}
}
