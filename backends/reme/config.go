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
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Backend]. [New] copies it. Task, Personal and Tools configure the kinds of
// memory.
type Config struct {
	Store store.Store // Keeps the memories and the log. Required. It stays the caller's to close.

	// Model learns: it extracts, judges, merges, writes guidelines. Optional. Without one personal
	// memory stores messages as they are, guidelines follow from rules, and learning from
	// trajectories is ErrInvalid. A model.ToolCallingChatModel answers by tool calls; any other
	// answers in JSON.
	Model model.BaseChatModel

	// Embedder adds vectors to the search. Optional: lexical search alone works.
	Embedder embedding.Embedder
	// EmbeddingModel is the name that the store keeps with the vectors, so that two models never
	// mix. Required with Embedder.
	EmbeddingModel string
	// Recall configures the ranking. Optional. Its Records, Embedder, EmbeddingModel, Clock and
	// Keys come from here.
	Recall *recall.Config

	Limits   Limits            // Optional. The budget of one request of a flow; an Add is up to two requests, one of task and one of personal memory. Zero fields have the defaults.
	Language backends.Language // Optional. Of prompts and answers. Defaults to the language of the material.

	Task     task.Config    // Optional. How task memory learns from trajectories.
	Personal PersonalConfig // Optional.
	Tools    tool.Config    // Optional. Also how the backend records calls while agents work.

	// NoPersonal learns nothing about users from turns, for agents that learn from their work
	// alone. It saves a model call a turn. Explicit requests (Verbatim, Personal().Summarize) still
	// store. Optional.
	NoPersonal bool

	// Outcome says how a turn of a conversation went, so that task memory learns from it with the
	// log; nil means unknown. The backend asks at the turn's end, with the whole turn, as far as
	// Store keeps the log. An error fails the Add; consolidation repeats it later. Optional. It
	// must be safe for concurrent use.
	Outcome func(ctx context.Context, t *Turn) (*Outcome, error)
	// Verdict reads how a turn went from a result of a tool, if it says so; see [VerdictOf]. The
	// backend asks it where Outcome returns nil, with the last result first. Optional. It must be
	// safe for concurrent use.
	Verdict func(m *schema.Message) (score float64, ok bool)

	// Redact changes every text before it is stored or shown to a model. Optional. It must be safe
	// for concurrent use. Defaults to redact.Text for a person's own memories, and to redact.Shared
	// for workspaces. redact.None turns both off, except for the keys and passwords in calls of
	// tools.
	Redact func(string) string
	// Allow decides what a caller may do to a workspace. The call returns its error as
	// [backends.ErrDenied]. m is the stored memory to update or delete, with its user; m is nil for
	// an addition and for the deletion of a whole workspace. Optional. By default all callers add.
	// Only a memory's author updates or deletes it, and the program: a scope that names the
	// workspace and neither user nor agent. If Allow denies the addition, a turn teaches only the
	// user's own memory, without an error. Allow must be safe for concurrent use, and return soon.
	// An error that is backends.ErrUnavailable means that it cannot decide.
	Allow func(ctx context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error
	// OnError reports errors outside of a call: lost records of tools, failed look-ups for their
	// descriptions, and memories that a Retention could not erase. Optional.
	OnError func(ctx context.Context, err error)

	// Retention says when memories are erased. Some of its rules also count how often a model sees
	// a memory. Optional. By default memories stay.
	Retention *backends.Retention
	// CountUses counts how often a memory is shown to a model; a Retention whose rules need the
	// counts turns it on. Package reflection and recall.Config.Recency use the counts. Optional.
	CountUses bool

	Clock backends.Clock // Optional. Defaults to backends.SystemClock.
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
	Prompt      int           // Tokens of the material of one prompt. Longer material is divided or shortened. At least 512. Defaults to 12,000.
	Concurrency int           // Model calls at the same time, of all requests together. Defaults to 4.
	Timeout     time.Duration // Of one model call. Defaults to a minute.
}

// minPrompt is the least Limits.Prompt: fewer tokens of a trajectory are useless.
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
	rc := *cmp.Or(c.Recall, &recall.Config{})
	rc.Records, rc.Embedder, rc.EmbeddingModel, rc.Clock, rc.Keys = c.Store, c.Embedder, c.EmbeddingModel, c.Clock, keeper.Keys
	ranker, err := recall.New(ctx, &rc)
	if err != nil {
		return nil, err
	}
	b.keeper, err = keeper.New(&keeper.Config{
		Name: "reme", Store: c.Store, Ranker: ranker, Redact: c.Redact, Sharing: c.sharing(), Clock: c.Clock,
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
	l := learner.Learner{
		Keeper: b.keeper, Model: b.model, Limits: ask.Limits{Calls: c.Limits.Calls, Tokens: c.Limits.Tokens},
		Prompt: c.Limits.Prompt, Language: c.Language, OnError: c.OnError,
	}
	b.learning = learner.Hold(l)
	if b.task, err = task.New(c.Task, b); err != nil {
		return err
	}
	if b.personal, err = newPersonal(c.Personal, &l); err != nil {
		return err
	}
	if b.tools, err = tool.New(c.Tools, b); err != nil {
		return err
	}
	b.recorder, b.stop = b.tools.NewRecorder(ctx)
	b.library = &Library{zone: b.personal.config.Location, keep: b.keeper}
	return nil
}

// sharing returns the rules of workspaces: redacted, with changes by authors alone, unless the
// configuration says otherwise.
func (c *Config) sharing() *keeper.Sharing {
	s := &keeper.Sharing{Redact: c.Redact, Allow: c.Allow}
	work.Default(&s.Redact, redact.Shared)
	work.Default(&s.Allow, allowAuthors)
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

// isAuthor reports whether a memory belongs to the caller alone: to their user, or to their agent
// if both lack a user.
func isAuthor(s backends.Scope, m *backends.Memory) bool {
	return m.Scope.UserID == s.UserID && len(m.Origin.Users) == 0 && (s.UserID != "" || m.Scope.AgentID == s.AgentID)
}
