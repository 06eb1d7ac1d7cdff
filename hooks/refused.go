// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/fault"
)

// A provider may refuse a request for what memory added to it: tools, where a server takes none,
// or a note, where a filter dislikes a word of it. No reply is lost by that.

// ask calls a model. A request that is refused is repeated once: without memory's tools where
// the refusal is about tools, else without all that memory added. From a refusal of tools on, the
// model is offered none in this process.
func (h *Hooks) ask(ctx context.Context, c *einox.ModelCall, model string) (*einox.ModelAnswer, error) {
	answer, err := c.Ask(ctx)
	if err == nil {
		return answer, nil
	}
	refused, tools := fault.Refused(err)
	offers := slices.ContainsFunc(c.Offered(), h.isOwn)
	if !refused || !offers && !slices.ContainsFunc(einox.Unfold(c.Messages), added) {
		return nil, err
	}
	less, what := h.withoutTools(c), "memory's tools: it is offered them no more"
	if !tools || !offers {
		less.Messages = einox.Fold(slices.DeleteFunc(slices.Clone(einox.Unfold(less.Messages)), added))
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

// added reports whether a message is a note or the core blocks of a memory.
func added(m *schema.Message) bool { return einox.IsRecalled(m) || einox.IsCore(m) }
