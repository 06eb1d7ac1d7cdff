// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/store"
)

// The stages of a [Flows.Summarize]. One that had nothing to do is not in the report.
const (
	StageFilter    = "filter"    // which messages say something about the user
	StageObserve   = "observe"   // what they say
	StageReconcile = "reconcile" // how it relates to what is known
	StageStore     = "store"     // one batch
)

// SummaryRequest asks to learn about a person from what was said.
type SummaryRequest struct {
	Scope backends.Scope // Required. Whose memory it is; zero: the context's.
	// Messages are learnt from, oldest first: what users say in them. What assistants
	// say is there to be understood. Each has the time at which it was said; zero: now.
	Messages []backends.Message // Required.
	Context  []backends.Message // Optional. What was said before them; never learnt from.
	Target   string             // Optional. The user's name. Defaults to DefaultTarget.

	Metadata     map[string]any // Optional. Kept with each memory, under the keys that are set here. JSON values.
	Expires      time.Time      // Optional. When the memories end. Defaults to never.
	Instructions string         // Optional. What to look for; goes before the prompts.
	Author       string         // Optional. The Origin.Author. Defaults to Config.Author, or "verbatim".

	// IdempotencyKey makes a repeated request harmless and cheap: the first response
	// is given again, and no model is asked. Optional.
	IdempotencyKey string
	// Checkpoint is written in the same batch as the memories, when they live in the
	// partition of the session that it names. Optional.
	Checkpoint *backends.Checkpoint
	// KeepPartial stores what succeeded where a part failed, and returns the error
	// beside it; neither the Checkpoint nor the key is written then, so that a repeat
	// learns the rest. Optional. Defaults to all or nothing.
	KeepPartial bool
}

// SummaryResponse tells what became of a [SummaryRequest].
type SummaryResponse struct {
	// Items are what became of each memory:
	//
	//	added       new; one that is not Active is older than what it contradicts, and
	//	            was stored as the history of that
	//	superseded  new, and took the place of Previous
	//	retracted   contradicted, beside the Previous of another item
	//	unchanged   known already: Memory says it
	//	failed      not stored, Err says why: the message, or the answer to it
	Items        []backends.Item
	Report       flow.Report
	Checkpointed bool // the Checkpoint was written with the memories
	Replayed     bool // the IdempotencyKey was known, and nothing was done
}

// Summarize is [Flows.Draft] and [Flows.Store]. Beside an error of a stage it returns
// the response with its Report.
func (f *Flows) Summarize(ctx context.Context, r *SummaryRequest) (*SummaryResponse, error) {
	d, err := f.Draft(ctx, r)
	if err != nil && (d == nil || !r.KeepPartial) {
		return d.unstored(), err
	}
	return f.Store(ctx, d)
}

// Draft is what was learnt from a request, before it is stored. It is for one
// goroutine.
type Draft struct {
	flows   *Flows
	request SummaryRequest
	place   place
	now     time.Time
	lang    flow.Language
	run     *flow.Run
	session *store.SessionUpdate

	statements []*statement
	seen       map[string]bool // what held when the statements were compared; nil: they were not
	failed     []backends.Item
	replayed   *store.Applied // of an earlier request with the same key
	err        error          // of the stages
}

// Draft does what models do for a request, and writes nothing. Errors: ErrNoScope,
// ErrInvalid for a request that is not legal, flow.ErrNoModel without a model (which
// Verbatim does without), ErrConflict for a lease that is lost, ErrUnavailable,
// ErrModel and flow.ErrLimit of the stages, for which there is a draft beside the
// error: its Report tells which stage failed.
func (f *Flows) Draft(ctx context.Context, r *SummaryRequest) (*Draft, error) {
	if !f.config.Models.HasModel() {
		return nil, fmt.Errorf("personal: %w; Verbatim stores statements as they are without one", flow.ErrNoModel)
	}
	d, in, err := f.begin(ctx, r)
	if err != nil || d.replayed != nil {
		return d, err
	}
	kept := f.filter(ctx, d, in)
	f.observe(ctx, d, in, kept)
	d.settle()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("personal: %w", context.Cause(ctx))
	}
	if d.err == nil || r.KeepPartial {
		if err := f.reconcile(ctx, d); err != nil {
			return nil, err
		}
		d.settle()
	}
	return d, d.err
}

// begin checks a request and looks whether it was carried out before.
func (f *Flows) begin(ctx context.Context, r *SummaryRequest) (*Draft, *intake, error) {
	if r == nil {
		return nil, nil, fmt.Errorf("personal: %w: no request", backends.ErrInvalid)
	}
	target := r.Target
	if target == "" {
		target = DefaultTarget
	}
	at, err := f.place(ctx, r.Scope, target)
	if err != nil {
		return nil, nil, err
	}
	d := &Draft{flows: f, request: *r, place: at, now: f.config.Clock(), run: f.config.Models.Begin()}
	if !r.Expires.IsZero() && !r.Expires.After(d.now) {
		return nil, nil, fmt.Errorf("personal: %w: Expires %s is over already", backends.ErrInvalid, r.Expires.Format(time.RFC3339))
	}
	if d.session, err = f.checkpoint(ctx, at.partition, r.Checkpoint); err != nil {
		return nil, nil, err
	}
	if d.replayed, err = f.config.Keeper.Replayed(ctx, at.partition, d.key(), d.session); err != nil {
		return nil, nil, fmt.Errorf("personal: %w", err)
	}
	in, err := f.take(d)
	if err != nil {
		return nil, nil, err
	}
	return d, in, nil
}

// key returns the idempotency key of the batch, empty for none.
func (d *Draft) key() string {
	if d.request.IdempotencyKey == "" {
		return ""
	}
	return "personal/" + d.request.IdempotencyKey
}

// checkpoint returns the session update that goes into the batch, or nil when the
// session is not one of the memories' partition.
func (f *Flows) checkpoint(ctx context.Context, p backends.Partition, c *backends.Checkpoint) (*store.SessionUpdate, error) {
	if c == nil {
		return nil, nil
	}
	s, err := f.config.Keeper.Store().Session(ctx, p, c.Session)
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("personal: reading session %q: %w", c.Session, err)
	}
	if c.Token != 0 && s.Lease.Token != c.Token {
		return nil, fmt.Errorf("personal: session %q: %w: its lease was taken over; learn from it under a new one", c.Session, backends.ErrConflict)
	}
	upto := c.Upto
	return &store.SessionUpdate{Session: c.Session, Token: c.Token, Watermark: &upto}, nil
}

// settle takes over what the stages failed at.
func (d *Draft) settle() {
	if err := d.run.Report().Err(); err != nil {
		d.err = fmt.Errorf("personal: %w", err)
	}
}

// Report tells what became of the stages so far.
func (d *Draft) Report() flow.Report { return d.run.Report() }

// Memories returns what was learnt, without ids; what is known already is among it.
func (d *Draft) Memories() []backends.Memory {
	out := make([]backends.Memory, len(d.statements))
	for i, s := range d.statements {
		out[i] = s.copy()
	}
	return out
}

// unstored is the response of a request of which nothing was stored.
func (d *Draft) unstored() *SummaryResponse {
	if d == nil {
		return nil
	}
	return &SummaryResponse{Items: d.failed, Report: d.run.Report()}
}
