// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/config"
)

// Config configures a [Backend]. It is copied by [New]. Task, Personal and Tools
// configure the kinds of memory; of their fields ids are filled from here, and the language
// and OnError where they are not set.
type Config struct {
	Store store.Store // Keeps the memories and the log. Required. It stays the caller's to close.

	// Model learns: it extracts, judges, merges, writes guidelines. Optional: without
	// one personal memory keeps what was said as it is, guidelines follow from rules, and
	// trajectories cannot be learnt from. A model.ToolCallingChatModel is made to answer
	// by tool calls; any other is asked for JSON.
	Model model.BaseChatModel

	// Embedder adds vectors to the search. Optional: lexical search alone works.
	Embedder embedding.Embedder
	// EmbeddingModel is the name kept with the vectors, so that two models never mix.
	// Required with Embedder.
	EmbeddingModel string
	// Recall configures the ranking. Optional. Its Records, Embedder, EmbeddingModel,
	// Clock and Keys are filled from here.
	Recall *recall.Config

	Limits   Limits            // Optional. What one request of a flow may cost; an Add is up to two, of task and of personal memory. Zero fields have the defaults.
	Language backends.Language // Optional. Of prompts and answers. Defaults to that of the material.

	Task     task.Config    // Optional. How trajectories are learnt from.
	Personal PersonalConfig // Optional.
	Tools    tool.Config    // Optional. Also how calls are recorded while agents work.

	// NoPersonal learns nothing about users from turns: for agents that are to learn
	// from their work alone. It saves a model call a turn. What is asked for
	// (Verbatim, Personal().Summarize) is done all the same. Optional.
	NoPersonal bool

	// Outcome says how a turn of a conversation went, for task memory to learn from it
	// when the log is learnt from; nil says that it does not know. It is asked at the
	// turn's end, of all of it, as far as Store keeps the log. An error fails the Add, which
	// consolidation repeats later. Optional. It must be safe for concurrent use.
	Outcome func(ctx context.Context, t *Turn) (*Outcome, error)
	// Verdict reads how a turn went from a result of a tool, if it says so; see
	// [VerdictOf]. Asked where Outcome does not know, of the last result first.
	// Optional. It must be safe for concurrent use.
	Verdict func(m *schema.Message) (score float64, ok bool)

	// Redact is applied to every text before it is stored or shown to a model. Optional. It
	// must be safe for concurrent use. Defaults to redact.Text for a person's own memories, and
	// to redact.Shared for workspaces. redact.None turns both off, except for the keys and
	// passwords in calls of tools.
	Redact func(string) string
	// Allow returns an error for what a caller may not do to a workspace; the call then returns
	// it as [backends.ErrDenied]. m is the memory that is updated or deleted, as it is stored,
	// with the user that it came from; nil for what is added, and where a workspace is deleted
	// as a whole. Optional. By default all callers add, and only the author of a memory updates
	// or deletes it, and the program: a scope that names the workspace and neither user nor
	// agent. What turns teach is left out without an error where adding is denied, and only the user's own memory
	// learns. It must be safe for concurrent use, and return soon; an error that is
	// backends.ErrUnavailable says that it does not know.
	Allow func(ctx context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error
	// OnError reports what goes wrong outside of a call: what could not be recorded of
	// tools, or looked up for their descriptions, and what a Retention could not erase.
	// Optional.
	OnError func(ctx context.Context, err error)

	// Retention says what is erased when its time is over, and whether it is counted how
	// often a memory is shown to a model. Optional. Defaults to nothing.
	Retention *backends.Retention
	// CountUses counts how often a memory is shown to a model, which a Retention asks for by
	// itself: package reflect and recall.Config.Recency go by it. Optional.
	CountUses bool

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Makes ids of calls. Defaults to backends.NewID.
}

func (c *Config) withDefaults() (*Config, error) {
	if c == nil || c.Store == nil {
		return nil, fmt.Errorf("%w: Config.Store is required; sqlitestore.Open(ctx, \":memory:\", nil) gives one", backends.ErrInvalid)
	}
	n := *c
	var err error
	if n.Limits, err = c.Limits.withDefaults(); err != nil {
		return nil, err
	}
	return &n, n.Language.Validate()
}

// Limits bound what requests and model calls may cost. Zero fields have the defaults.
type Limits struct {
	Calls       int           // Model calls of one request, repeats included. Defaults to 64.
	Tokens      int           // Tokens of one request, of prompts and answers. Defaults to 400,000.
	Prompt      int           // Tokens of the material of one prompt: more is divided or shortened. At least 512. Defaults to 12,000.
	Concurrency int           // Model calls at the same time, of all requests together. Defaults to 4.
	Timeout     time.Duration // Of one model call. Defaults to a minute.
}

// minPrompt is the least Limits.Prompt: fewer tokens of a trajectory say nothing.
const minPrompt = 512

func (l Limits) withDefaults() (Limits, error) {
	switch {
	case min(l.Calls, l.Tokens, l.Prompt, l.Concurrency) < 0 || l.Timeout < 0:
		return l, fmt.Errorf("%w: Config.Limits %+v: each is above 0, or 0 for its default", backends.ErrInvalid, l)
	case l.Prompt != 0 && l.Prompt < minPrompt:
		return l, fmt.Errorf("%w: Config.Limits.Prompt %d: at least %d, or 0 for its default", backends.ErrInvalid, l.Prompt, minPrompt)
	}
	return Limits{
		Calls: cmp.Or(l.Calls, 64), Tokens: cmp.Or(l.Tokens, 400_000), Prompt: cmp.Or(l.Prompt, 12_000),
		Concurrency: cmp.Or(l.Concurrency, 4), Timeout: cmp.Or(l.Timeout, time.Minute),
	}, nil
}

// build makes the parts of a backend, from the bottom up.
func (c *Config) build(ctx context.Context) (*Backend, error) {
	b := &Backend{config: c}
	rc := recall.Config{}
	if c.Recall != nil {
		rc = *c.Recall
	}
	rc.Records, rc.Embedder, rc.EmbeddingModel, rc.Clock, rc.Keys = c.Store, c.Embedder, c.EmbeddingModel, c.Clock, keeper.Keys
	ranker, err := recall.New(ctx, &rc)
	if err != nil {
		return nil, err
	}
	b.keeper, err = keeper.New(&keeper.Config{
		Name: "reme", Store: c.Store, Ranker: ranker, Embeds: c.Embedder != nil, Redact: c.Redact, Sharing: c.sharing(), Clock: c.Clock,
		Retention: c.Retention, CountUses: c.CountUses, OnError: c.OnError,
	})
	if err != nil {
		return nil, err
	}
	if c.Model != nil {
		if b.model, err = ask.New(&ask.Config{Name: "reme", Model: c.Model, Timeout: c.Limits.Timeout, Limit: "reme.Config.Limits.Timeout", Small: c.Personal.Small, Concurrency: c.Limits.Concurrency}); err != nil {
			return nil, err
		}
	}
	return b, c.buildKinds(ctx, b)
}

// buildKinds makes the kinds of memory over the keeper and the model that they share.
func (c *Config) buildKinds(ctx context.Context, b *Backend) (err error) {
	shared, limits := b.keeper.For(backends.PartitionWorkspace), ask.Limits{Calls: c.Limits.Calls, Tokens: c.Limits.Tokens}
	t := c.Task
	t.Language = cmp.Or(t.Language, c.Language)
	if b.task, err = task.New(t, shared, b.model, limits, c.Limits.Prompt); err != nil {
		return err
	}
	p := c.Personal
	p.Language = cmp.Or(p.Language, c.Language)
	if b.personal, err = newPersonal(p, b.keeper, b.model, limits, c.Limits.Prompt); err != nil {
		return err
	}
	o := c.Tools
	o.Language, o.IDs = cmp.Or(o.Language, c.Language), c.IDs
	if o.OnError == nil {
		o.OnError = c.OnError
	}
	if b.tools, err = tool.New(o, shared, b.model, limits, c.Limits.Prompt); err != nil {
		return err
	}
	b.recorder, b.stop = b.tools.NewRecorder(ctx)
	b.library = &Library{zone: b.personal.config.Location, keep: b.keeper}
	return nil
}

// sharing returns how workspaces are shared: redacted, and changed by authors alone, unless the
// configuration says otherwise.
func (c *Config) sharing() *keeper.Sharing {
	s := &keeper.Sharing{Redact: c.Redact, Allow: c.Allow}
	config.Default(&s.Redact, redact.Shared)
	config.Default(&s.Allow, allowAuthors)
	return s
}

// allowAuthors is the default of Config.Allow.
func allowAuthors(_ context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error {
	switch {
	case op == backends.OpAdd, s.UserID+s.AgentID == "", m != nil && isAuthor(s, m):
		return nil
	case m == nil:
		return fmt.Errorf("%w: a workspace as a whole is the program's: use a scope that names it and no user", backends.ErrDenied)
	}
	return fmt.Errorf("%w: another user, or several, wrote it: its author may, and a scope that names the workspace and no user", backends.ErrDenied)
}

// isAuthor reports whether a memory is the caller's alone: their user's, or their agent's where
// neither has a user.
func isAuthor(s backends.Scope, m *backends.Memory) bool {
	return m.Scope.UserID == s.UserID && len(m.Origin.Users) == 0 && (s.UserID != "" || m.Scope.AgentID == s.AgentID)
}
