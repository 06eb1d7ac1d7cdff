// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/fault"
)

// A provider may refuse a request for something that memory added: tools, if a server takes none,
// or a note, if a filter dislikes a word of it. The reply survives that.

// ask calls a model. It repeats a refused request once: if the refusal is about tools, it leaves
// out memory's tools, else everything that memory added. A refusal of tools holds for the rest of
// the process: the model is offered memory's tools no more.
func (h *Hooks) ask(ctx context.Context, c *einox.ModelCall, model string) (*einox.ModelAnswer, error) {
	answer, err := c.Ask(ctx)
	if err == nil {
		return answer, nil
	}
	refused, tools := fault.Refused(err)
	offers := slices.ContainsFunc(c.Offered(), h.isOwn)
	if !refused || !offers && !slices.ContainsFunc(einox.Unfold(c.Messages), einox.Marked.Added) {
		return nil, err
	}
	less, what := h.withoutTools(c), "memory's tools: it is offered them no more"
	if !tools || !offers {
		less.Messages = einox.Fold(slices.DeleteFunc(einox.Unfold(less.Messages), einox.Marked.Added))
		tools, what = false, "what memory added"
	}
	again, failed := less.Ask(ctx)
	if failed != nil {
		return nil, err
	}
	if tools {
		h.mu.Lock()
		h.toolless[model] = true
		h.mu.Unlock()
	}
	h.report(ctx, StageReply, fmt.Errorf("the model refused a request, and took it without %s: %w", what, fault.Quiet(err)))
	return again, nil
}
