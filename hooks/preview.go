// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// Preview is the note that a message would get, and how it came about.
type Preview struct {
	Note
	Found        []backends.Hit // by the search for the note, which shows what of it has room
	Whole        bool           // these are all memories, whatever the message is: they are short
	Tokens, Room int            // estimated tokens of the text, and how many it may have

	least, threshold float64 // the bar of this message, and Config.Threshold
}

// Preview returns the note that a message would get at the begin of a session. It leaves no trace:
// no use is counted, and Config.OnNote is not called. ErrInvalid: the mode shows no notes.
func (h *Hooks) Preview(ctx context.Context, s backends.Scope, message string) (*Preview, error) {
	if !h.plan.Search {
		return nil, fmt.Errorf("preview of a note: %w: this mode shows none", backends.ErrInvalid)
	}
	found, least, err := h.answer(ctx, s, message, nil, visible{turns: map[string]bool{}})
	if err != nil {
		return nil, fmt.Errorf("preview of a note: %w", err)
	}
	n := h.note(ctx, s, message, found)
	return &Preview{n, found.Hits, found.Whole, text.Tokens(n.Text), h.cfg.NoteTokens, least, max(0, h.cfg.Threshold)}, nil
}

// Why returns the reason for which the note leaves a hit out that another search for the message
// gave, and what would let it in. That is a score for "delicate", "assistant" (its own words) and
// "score"; for "rank" (others answer better) the last place that the note looks at; for "room" how
// many tokens more the note would need. It is 0 for "greeting" and "question" (it states nothing).
func (p *Preview) Why(hit *backends.Hit) (reason string, needs float64) {
	if speech.Classify(p.Query) == speech.Filler {
		return "greeting", 0
	}
	if slices.ContainsFunc(p.Found, func(h backends.Hit) bool { return h.ID == hit.ID && h.Text == hit.Text }) {
		return "room", float64(max(1, p.Tokens+p.size(append(slices.Clone(p.Hits), *hit))-p.size(p.Hits)-p.Room))
	}
	if reason, needs = (visible{}).refuses(hit, p.Whole, p.threshold); reason != "" {
		return reason, needs
	}
	if needs = p.threshold / 2; !p.Whole && !reach(p.Found, p.least) {
		needs = p.least
	}
	switch {
	case hit.Score < needs:
		return "score", needs
	case statesNothing(hit):
		return "question", 0
	}
	return "rank", float64(len(p.Found))
}

// size returns the tokens of the lines of hits.
func (p *Preview) size(hits []backends.Hit) int {
	lines, _ := p.view.Lines(hits, 1<<30)
	return text.Tokens(strings.Join(lines, "\n"))
}
