// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

// draft is a prompt that is being made, without its memories.
type draft struct {
	*Builder
	scope  backends.Scope
	prompt *Prompt

	head     []*schema.Message // system prompt and core blocks
	context  *schema.Message   // or nil
	history  []*schema.Message
	question *schema.Message
}

// messages returns them in their order.
func (d *draft) messages() []*schema.Message {
	out := slices.Clone(d.head)
	if d.context != nil {
		out = append(out, d.context)
	}
	return append(append(out, d.history...), d.question)
}

// compact has the compactor make the history fit. The context goes through it as a
// system message, because these stay as they are.
func (d *draft) compact(ctx context.Context) {
	if d.cfg.Compactor == nil || len(d.history) == 0 {
		return
	}
	shown := d.context
	if shown != nil {
		d.context = schema.SystemMessage(shown.Content)
	}
	fixed := append(slices.Clone(d.head), d.context, d.question)
	result, err := d.cfg.Compactor.Compact(ctx, &compaction.Request{Messages: d.messages(), Archive: d.archive()})
	d.context = shown
	if over := (*compaction.OverError)(nil); err != nil && !errors.As(err, &over) {
		d.failed(err)
	}
	if result == nil {
		return
	}
	d.prompt.Compacted = result
	for _, step := range result.Steps {
		d.failed(step.Err)
	}
	d.history = slices.DeleteFunc(slices.Clone(result.Messages), func(m *schema.Message) bool { return slices.Contains(fixed, m) })
	d.keep(ctx, result.Summary)
}

// archive returns where the compactor keeps what leaves, or nil.
func (d *draft) archive() compaction.Archive {
	if d.cfg.Archives == nil {
		return nil
	}
	a, err := d.cfg.Archives.Of(d.scope)
	if err != nil {
		d.failed(err)
		return nil
	}
	return a
}

// failed adds to what went wrong with the compaction.
func (d *draft) failed(err error) {
	if err != nil {
		d.prompt.Failed.Compaction = errors.Join(d.prompt.Failed.Compaction, fmt.Errorf("compaction: %w", err))
	}
}

// keepTimeout bounds a write that outlives the cancellation of its caller.
const keepTimeout = 2 * time.Second

// keep writes a summary that models were asked for to the session, so that the
// next prompt begins with it.
func (d *draft) keep(ctx context.Context, sum *compaction.Summary) {
	if sum == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout) // the model was paid
	defer cancel()
	if _, err := d.cfg.Sessions.KeepSummary(ctx, d.scope, sum.Upto, sum.Text); err != nil {
		d.prompt.Failed.Summary = fmt.Errorf("keeping the summary up to message %d: %w", sum.Upto, err)
	}
}

// trim leaves out the oldest turns of the history while the prompt is too large,
// and then what stands in for those before them, the summary last.
func (d *draft) trim() {
	over := d.cfg.Budget.Usage(d.messages()).Over()
	standIns := 0
	for standIns < len(d.history) && einox.IsNote(d.history[standIns]) {
		standIns++
	}
	from := standIns
	for over > 0 && from < len(d.history) {
		next := from + 1
		for next < len(d.history) && !asks(d.history[next]) {
			next++
		}
		over -= d.count(d.history[from:next])
		from = next
	}
	kept := standIns
	for ; over > 0 && kept > 0; kept-- {
		over -= d.count(d.history[kept-1 : kept])
	}
	d.prompt.LeftOut = from - kept
	d.history = slices.Concat(d.history[:kept], d.history[from:])
}

func (d *draft) count(messages []*schema.Message) int {
	n := 0
	for _, m := range messages {
		n += d.cfg.Budget.Counter.Message(m)
	}
	return n
}

// asks reports whether m begins a turn.
func asks(m *schema.Message) bool {
	return m.Role == schema.User && !einox.IsNote(m) && !einox.IsRetold(m)
}
