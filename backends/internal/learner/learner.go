// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package learner hands the parts of one backend what they learn with, so that exported
// signatures name the backend alone.
package learner

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
)

// Learner is what the parts of a backend share.
type Learner struct {
	Keeper   *keeper.Keeper
	Model    *ask.Model        // nil: nothing is learnt
	Limits   ask.Limits        // of one request
	Prompt   int               // the most tokens of material that one prompt shows
	Language backends.Language // of prompts and answers; defaults to the material's
	OnError  func(context.Context, error)
}

// Holder is embedded by a backend that has parts.
type Holder struct{ held Learner }

// Hold returns a holder.
func Hold(l Learner) *Holder { return &Holder{l} }

func (h *Holder) learner() *Learner { return &h.held }

// Of returns the learner of a backend, or ErrInvalid for one that embeds no [Holder].
func Of(b backends.Backend) (*Learner, error) {
	if h, ok := b.(interface{ learner() *Learner }); ok {
		return h.learner(), nil
	}
	return nil, fmt.Errorf("%T: %w: pass the backend that reme.New makes", b, backends.ErrInvalid)
}
