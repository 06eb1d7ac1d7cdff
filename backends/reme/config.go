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
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/keeper"
)

// Config configures a [Backend]. It is copied by [New]. What the kinds of memory have
// of their own stands in Task, Personal, Tools and Library: there the fields
// that this Config has, too (keeper, models, language where it is unset, clock, ids),
// are filled from here.
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
	Library  LibraryConfig  // Optional.

	// NoPersonal learns nothing about users from turns: for agents that are to learn
	// from their work alone. It saves a model call a turn. What is asked for
	// (Verbatim, Personal().Summarize) is done all the same. Optional.
	NoPersonal bool

	// Outcome says how a turn of a conversation went, for task memory to learn from it
	// when the log is learnt from; nil says that it does not know. It is asked at the
	// turn's end, of all of it, as far as Store keeps the log. An error is one of the learning, which is tried again later. Optional. It must be safe for concurrent
	// use.
	Outcome func(ctx context.Context, t *Turn) (*Outcome, error)
	// Verdict reads how a turn went from a result of a tool, if it says so; see
	// [VerdictOf]. Asked where Outcome does not know, of the last result first.
	// Optional. It must be safe for concurrent use.
	Verdict func(m *schema.Message) (score float64, ok bool)

	// Redact is applied to every text before it is stored or shown to a model.
	// Optional. It must be safe for concurrent use.
	Redact func(string) string
	// OnError reports what goes wrong outside of a call: what could not be recorded of
	// tools, or looked up for their descriptions. Optional.
	OnError func(ctx context.Context, err error)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Makes ids of calls. Defaults to backends.NewID.
}

func (c *Config) withDefaults() (*Config, error) {
	if c == nil || c.Store == nil {
		return nil, fmt.Errorf("%w: Config.Store is required; sqlitestore.Open(ctx, \":memory:\", nil) gives one", backends.ErrInvalid)
	}
	n := *c
	if n.Clock == nil {
		n.Clock = backends.SystemClock
	}
	if n.IDs == nil {
		n.IDs = backends.NewID
	}
	if n.Redact == nil {
		n.Redact = func(s string) string { return s }
	}
	if err := fillLimits(&n.Limits); err != nil {
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

func fillLimits(l *Limits) error {
	standard := Limits{Calls: 64, Tokens: 400_000, Prompt: 12_000, Concurrency: 4, Timeout: time.Minute}
	for _, n := range []struct {
		name            string
		value, fallback *int
	}{
		{"Calls", &l.Calls, &standard.Calls},
		{"Tokens", &l.Tokens, &standard.Tokens},
		{"Prompt", &l.Prompt, &standard.Prompt},
		{"Concurrency", &l.Concurrency, &standard.Concurrency},
	} {
		if *n.value < 0 {
			return fmt.Errorf("Config.Limits.%s %d: %w: above 0, or 0 for %d", n.name, *n.value, backends.ErrInvalid, *n.fallback)
		}
		*n.value = cmp.Or(*n.value, *n.fallback)
	}
	if l.Timeout < 0 {
		return fmt.Errorf("Config.Limits.Timeout %v: %w: above 0, or 0 for %v", l.Timeout, backends.ErrInvalid, standard.Timeout)
	}
	l.Timeout = cmp.Or(l.Timeout, standard.Timeout)
	return nil
}

// build makes the parts of a backend, from the bottom up.
func (c *Config) build(ctx context.Context) (*Backend, error) {
	b := &Backend{config: c, store: c.Store}
	rc := recall.Config{}
	if c.Recall != nil {
		rc = *c.Recall
	}
	rc.Records, rc.Embedder, rc.EmbeddingModel, rc.Clock, rc.Keys = c.Store, c.Embedder, c.EmbeddingModel, c.Clock, keeper.Keys
	var err error
	if b.ranker, err = recall.New(ctx, &rc); err != nil {
		return nil, err
	}
	embeds := c.Embedder != nil
	b.keeper, err = keeper.New(&keeper.Config{Name: "reme", Store: c.Store, Ranker: b.ranker, Embeds: embeds, Redact: c.Redact, Clock: c.Clock})
	if err != nil {
		return nil, err
	}
	if c.Model != nil {
		b.model, err = ask.New(&ask.Config{Name: "reme", Model: c.Model, Timeout: c.Limits.Timeout, Concurrency: c.Limits.Concurrency})
		if err != nil {
			return nil, err
		}
	}
	if err := c.buildTask(b, embeds); err != nil {
		return nil, err
	}
	return b, c.buildOthers(ctx, b)
}

// limits returns what one request may cost.
func (c *Config) limits() ask.Limits {
	return ask.Limits{Calls: c.Limits.Calls, Tokens: c.Limits.Tokens}
}

func (c *Config) buildTask(b *Backend, embeds bool) error {
	tc := c.Task
	tc.Keeper, tc.Language = b.keeper, cmp.Or(tc.Language, c.Language)
	tc.Model, tc.Limits, tc.PromptTokens = b.model, c.limits(), c.Limits.Prompt
	var err error
	b.task, err = task.New(&tc)
	return err
}

func (c *Config) buildOthers(ctx context.Context, b *Backend) error {
	pc := c.Personal
	pc.Language = cmp.Or(pc.Language, c.Language)
	var err error
	if b.personal, err = newPersonal(pc, b.keeper, b.model, c.limits(), c.Limits.Prompt); err != nil {
		return err
	}
	b.library = newLibrary(c.Library, b.keeper, c.Personal.InWorkspace)
	oc := c.Tools
	oc.Keeper, oc.IDs, oc.Language = b.keeper, c.IDs, cmp.Or(oc.Language, c.Language)
	oc.Model, oc.Limits, oc.PromptTokens = b.model, c.limits(), c.Limits.Prompt
	if oc.OnError == nil {
		oc.OnError = c.OnError
	}
	if b.tools, err = tool.New(&oc); err != nil {
		return err
	}
	b.recorder = b.tools.NewRecorder(ctx)
	return nil
}
