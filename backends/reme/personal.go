// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/internal/work"
)

// defaultTarget is the name of a nameless user.
const defaultTarget = "user"

var (
	// ErrLimit is the error of a request that would cost more than its Limits allow. It is also
	// backends.ErrInvalid: a repeat spends as much again.
	ErrLimit = ask.ErrLimit
	// ErrNoModel is the error of a call that needs Config.Model if it is nil. It is also
	// backends.ErrInvalid.
	ErrNoModel = fmt.Errorf("%w: this needs Config.Model", backends.ErrInvalid)
)

// PersonalConfig configures [Personal].
type PersonalConfig struct {
	// Location is the zone in which "yesterday" is meant and days begin, and the zone of the times
	// in ReMe's libraries, which lack one. Optional. Defaults to UTC.
	Location *time.Location

	// Small says that Config.Model is a small one: see mem0.Config.Small. Optional.
	Small bool
	// MaxKnown is how many known memories the model sees. Optional. Defaults to 50.
	MaxKnown int
	// TopK is the default number of memories that a retrieval returns. Optional. Defaults to 5; at
	// most 1000.
	TopK int
	// Confirm is for requests without a Confirm of their own; a middleware with Config.Confirm sets
	// one. It is called before a request retracts anything or supersedes more than three memories
	// by one message. If it returns false, the memories stay, which comes back as
	// [backends.OutcomeSkipped]. Optional. Without it one message ends three memories, and the
	// others stay.
	Confirm backends.Confirm
}

func (c PersonalConfig) withDefaults() (PersonalConfig, error) {
	work.Default(&c.Location, time.UTC)
	c.TopK, c.MaxKnown = cmp.Or(c.TopK, 5), cmp.Or(c.MaxKnown, 50)
	if c.TopK < 0 || c.TopK > maxTopK || c.MaxKnown < 0 {
		return c, fmt.Errorf("Personal: %w: TopK %d is from 1 to %d and MaxKnown %d above 0, or 0 for the defaults", backends.ErrInvalid, c.TopK, maxTopK, c.MaxKnown)
	}
	return c, nil
}

// Personal learns about people from their words, and finds the facts: ReMe's personal memory. It is
// safe for concurrent use.
//
// # Learning
//
// A request is one model call for as much of the conversation as Limits.Prompt has room for; long
// messages are divided between sentences, never cut. The model sees the known memories and the
// messages, each with its time. It also sees words such as "last week" with the days that they
// mean, computed by rules. So an import of old messages gets the same dates as if it had been
// learnt at the time. The model answers with statements and with the memories that they supersede.
// Each statement has keywords and a score of 0 to 3; the ones below 2 are
// dropped.
//
// Of two contradicting statements the one that was said later holds. It supersedes the other, which
// stays as its history. The time of saying decides, and not the time of learning: an old log's
// statement that is older than its contradiction is stored as superseded. A known statement, word
// for word or contained in another, changes nothing.
//
// Memory.Observed is the time at which it was said. Memory.Valid is the time that it is about,
// unless that lies ahead: a plan holds since it was made. Metadata["event_time"] has either.
//
// # Whose memory it is
//
// Memories live in the partition of the user, else of the agent. Metadata["target"] is the user's
// name in the statements.
type Personal struct {
	config   PersonalConfig
	language backends.Language // as configured
	keep     *keeper.Keeper
	engine   *reconcile.Engine
}

// newPersonal returns personal memory. Without a model it only stores statements.
func newPersonal(c PersonalConfig, l *learner.Learner) (*Personal, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Personal{config: c, language: l.Language, keep: l.Keeper}
	p.engine = reconcile.New(&reconcile.Config{
		Learner: *l, Kind: backends.KindPersonal, Author: "model", Shown: c.MaxKnown, ShownTokens: l.Prompt / 4, Confirm: c.Confirm,
		UsersOnly: true, ByTime: true, Location: c.Location, Complete: p.complete,
	})
	return p, nil
}

// PersonalSummaryRequest asks to learn about a person from the words of users in Messages. The
// words of assistants only help to understand them. With Verbatim each message is stored as it is,
// without a model: for deliberate notes.
type PersonalSummaryRequest struct {
	backends.AddRequest        // Kind is ignored.
	Target              string // Optional. The user's name. Defaults to "user".
}

// PersonalSummaryResponse says how a [PersonalSummaryRequest] ended. An added item that is not
// Active is older than its contradiction.
type PersonalSummaryResponse struct {
	backends.AddResponse
	Report backends.Report // stages learn and store
}

// Summarize learns about a person, all or nothing. A model that answers nonsense twice is an item
// that failed with ErrModel; the statements are then stored as they were said. Beside an error of
// the model it returns the response with its Report. Errors: ErrNoScope, ErrInvalid for an illegal
// request, [ErrNoModel], [ErrLimit], ErrUnavailable, and ErrConflict if the race against other
// processes was lost again and again, or the lease of the checkpoint with it. After an error
// nothing is stored.
func (p *Personal) Summarize(ctx context.Context, r *PersonalSummaryRequest) (_ *PersonalSummaryResponse, err error) {
	defer work.Recover("reme", &err)
	d, err := p.draft(ctx, r)
	if err != nil && d == nil {
		return nil, err
	}
	resp := &PersonalSummaryResponse{}
	if err == nil {
		var stored *backends.AddResponse
		if stored, err = d.Store(ctx); err == nil {
			resp.AddResponse = *stored
			p.keep.ShowItems(d.Scope, d.Partition, resp.Items)
		}
	}
	resp.Report = d.Run.Report()
	return resp, err
}

// draft makes the model calls of a request, and writes nothing. The caller stores or releases the
// draft.
func (p *Personal) draft(ctx context.Context, r *PersonalSummaryRequest) (*reconcile.Call, error) {
	if r == nil {
		return nil, errNoRequest
	}
	target := cmp.Or(r.Target, defaultTarget)
	add := r.AddRequest
	add.Metadata = maps.Clone(add.Metadata)
	if add.Metadata == nil {
		add.Metadata = map[string]any{}
	}
	add.Metadata[metaTarget] = target
	request, err := p.place(ctx, &add, target)
	if err != nil {
		return nil, err
	}
	if !r.Verbatim && p.engine.Model == nil {
		return nil, fmt.Errorf("reme: %w; Verbatim stores statements as they are without one", ErrNoModel)
	}
	if err := p.keep.Allow(ctx, backends.OpAdd, request.Scope, request.Partition, nil); err != nil {
		return nil, err
	}
	call, err := p.engine.Begin(ctx, request)
	if err != nil {
		return nil, err
	}
	if r.Verbatim {
		var said []backends.Memory
		for _, u := range call.Said() {
			said = append(said, call.Verbatim(backends.KindPersonal, u, authorVerbatim))
		}
		p.state(call, said)
		return call, nil
	}
	return call, call.Draft(ctx, func(ctx context.Context) error { return p.reconcile(ctx, call, target) })
}

// maxTarget is the longest name of a target, in bytes.
const maxTarget = 512

// place returns a request with its place: the partition is one person's, whatever the name.
func (p *Personal) place(ctx context.Context, r *backends.AddRequest, target string) (reconcile.Request, error) {
	if len(target) > maxTarget || !utf8.ValidString(target) {
		return reconcile.Request{}, fmt.Errorf("reme: %w: the target's name is UTF-8 of at most %d bytes", backends.ErrInvalid, maxTarget)
	}
	scope, partition, err := p.keep.Resolve(ctx, r.Scope, backends.Scope.Speaker)
	return reconcile.Request{AddRequest: r, Scope: scope, Partition: partition}, err
}

// The keys of Metadata.
const (
	metaTarget   = "target"           // the name of its subject
	metaKeywords = "keywords"         // as WhenToUse
	metaType     = "observation_type" // one of the types below
	metaScore    = "info_score"       // the score of the statement, 1 to 3
	metaEvent    = "event_time"       // when it happens, as Period writes it
	metaTimeInfo = "time_info"        // when it happens, in the words of the model
)

// The observation types.
const (
	typePlain  = "personal_info"
	typeTimed  = "personal_info_with_time"
	typeStated = "personal_statement" // stored as it was said

	authorVerbatim = "verbatim" // of these
)
