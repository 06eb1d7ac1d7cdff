// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"fmt"

	"github.com/einomem/einomem/backends"
)

// authorVerbatim is the author of memories that no model wrote.
const authorVerbatim = "verbatim"

// verbatim plans to store what was said as it was said, one memory a message. It
// is an episode unless the request asks for facts or names an author: what
// somebody wrote down on purpose is a statement, and not something that was said.
func (b *Backend) verbatim(in *intake) (*plan, error) {
	kind := in.req.Kind
	switch kind {
	case "":
		kind = backends.KindEpisode
		if in.req.Author != "" {
			kind = backends.KindFact
		}
	case backends.KindEpisode, backends.KindFact:
	case backends.KindProcedure:
		return b.verbatimProcedure(in)
	default:
		return nil, fmt.Errorf("mem0: kind %q: %w: verbatim messages are of kind episode, fact or procedure", kind, backends.ErrInvalid)
	}
	pl := &plan{author: in.author(authorVerbatim)}
	for i := range in.said {
		m := in.episode(&in.said[i])
		m.Kind = kind
		pl.decisions = append(pl.decisions, decision{outcome: backends.OutcomeAdded, memory: m})
	}
	return pl, nil
}
