// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// The rows M09 to M14, M20 and M21: what can be constructed, and what cannot.

// refused requires that New refuses cfg with an error that names the way out.
func refused(t *testing.T, cfg *middleware.Config, names ...string) {
	t.Helper()
	mem, err := middleware.New(context.Background(), cfg)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.Nil(t, mem)
	for _, name := range names {
		require.ErrorContains(t, err, name)
	}
}

// Upstream binds a user at construction; here the configured scope is a default,
// and may be absent, but never blank.
func TestM09_ABlankUserIsRefused(t *testing.T) {
	refused(t, &middleware.Config{Backend: &fake{}, Mode: modes.AgentControl, Scope: middleware.Scope{UserID: "   "}}, "user id", "blank")
	refused(t, &middleware.Config{Backend: &fake{}, Mode: modes.AgentControl, Scope: middleware.Scope{AgentID: "\t"}}, "agent id")
	refused(t, &middleware.Config{Backend: &fake{}, Mode: modes.AgentControl, Scope: middleware.Scope{UserID: "*"}}, "'*'")
}

// Without any user there is no memory rather than one that everybody shares.
func TestM09_NoUserNoMemory(t *testing.T) {
	f := &fake{memories: []string{"somebody's"}}
	var told []error
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true, OnError: func(_ context.Context, _ string, err error) { told = append(told, err) }})
	a := newAgent(t, mem, testkit.Call("1", "search_memory", `{"keywords":["x"],"user_id":"ann"}`), testkit.Call("2", "add_memory", `{"content":["x"]}`), testkit.Text("ok"))
	require.Equal(t, "ok", a.reply(context.Background(), "hi"))
	searches, adds := f.seen()
	require.Empty(t, searches)
	require.Empty(t, adds)
	require.NotEmpty(t, told)
	for _, err := range told {
		require.ErrorIs(t, err, backends.ErrNoScope)
	}
}

func TestM10_AnUnknownModeIsRefused(t *testing.T) {
	refused(t, &middleware.Config{Backend: &fake{}, Mode: "garbage"}, "garbage", "both", "static_control", "agent_control")
}

func TestM11_WithoutABackendNothingCanBeBuilt(t *testing.T) {
	refused(t, nil, "Config.Backend", "mem0.New", "a type of your own")
	refused(t, &middleware.Config{}, "Config.Backend")
}

// Upstream's client wins over models and configuration; here the backend is the
// only way in, and what is configured beside it wins over what it brings.
func TestM12_TheBackendIsUsedAsItIs(t *testing.T) {
	f := &withSessions{own: openStore(t)}
	own := openStore(t)
	mem, err := middleware.New(context.Background(), &middleware.Config{Backend: f, Sessions: own, AwaitWrite: true})
	require.NoError(t, err)
	require.Same(t, f, mem.Backend())
	newAgent(t, mem, testkit.Text("ok")).reply(asAnn(), "hi")
	require.NoError(t, mem.Close(context.Background()))
	p, err := ann.Partition(backends.PartitionUser)
	require.NoError(t, err)
	_, err = own.Session(context.Background(), p, ann.SessionID)
	require.NoError(t, err, "the configured log was used")
	_, err = f.own.Session(context.Background(), p, ann.SessionID)
	require.ErrorIs(t, err, backends.ErrNotFound, "the backend's own was not")
	require.Zero(t, f.closed, "the backend stays the caller's")
}

// withSessions is a backend with a log of its own.
type withSessions struct {
	fake
	own store.Store
}

func (w *withSessions) Sessions() store.Sessions { return w.own }

func TestM13_ABackendAloneIsEnough(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)

	f := &withSessions{own: openStore(t)}
	mem, err := middleware.New(context.Background(), &middleware.Config{Backend: f})
	require.NoError(t, err)
	newAgent(t, mem, testkit.Text("ok")).reply(asAnn(), "hi")
	require.NoError(t, mem.Flush(context.Background()))
	require.NoError(t, mem.Close(context.Background()))
	require.Empty(t, logged.String(), "nothing to warn of")
	_, adds := f.seen()
	require.Len(t, adds, 1)
}

// Upstream's two models need each other; ours need what keeps their results.
func TestM14_HalfABackendIsRefused(t *testing.T) {
	for name, cfg := range map[string]*mem0.Config{
		"a model without a store":         {Model: testkit.New()},
		"an embedder without its model's": {Store: openStore(t), Embedder: &testkit.Embedder{Dim: 8}},
	} {
		_, err := mem0.New(context.Background(), cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
}

// A backend that cannot do what is asked of it is named, with the way out. That
// it has the methods at all is checked by the compiler.
func TestM20_ABackendThatCannotRecordIsRefused(t *testing.T) {
	refused(t, &middleware.Config{Backend: &fake{}}, "*middleware_test.fake", "Config.Sessions", "agent_control")
	refused(t, &middleware.Config{Backend: &fake{}, Mode: modes.AgentControl, UpdateTool: true}, "*middleware_test.fake", "backends.Manager")
	refused(t, &middleware.Config{Backend: &withSessions{}}, "Config.Sessions")
}

// Upstream accepts a client whose methods are wrapped.
func TestM21_AWrappedBackendIsAccepted(t *testing.T) {
	f := &fake{memories: []string{"likes tea"}}
	mem := open(t, &middleware.Config{Backend: backends.Traced("Fake", f), AwaitWrite: true})
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "hi")
	require.Contains(t, a.note(t, 0).Content, "likes tea")
	searches, adds := f.seen()
	require.Len(t, searches, 1)
	require.Len(t, adds, 1)
}

func TestAConfigOutOfRangeIsRefused(t *testing.T) {
	for want, change := range map[string]func(*middleware.Config){
		"Config.TopK -1":          func(c *middleware.Config) { c.TopK = -1 },
		"Config.TopK 1001":        func(c *middleware.Config) { c.TopK = 1001 },
		"Config.Threshold NaN":    func(c *middleware.Config) { c.Threshold = math.NaN() },
		"Config.Threshold 1.5":    func(c *middleware.Config) { c.Threshold = 1.5 },
		"Config.Threshold -0.1":   func(c *middleware.Config) { c.Threshold = -0.1 },
		"Config.NoteTokens -1":    func(c *middleware.Config) { c.NoteTokens = -1 },
		`Config.Language "fr"`:    func(c *middleware.Config) { c.Language = "fr" },
		"braces":                  func(c *middleware.Config) { c.ToolInstructions = "call {tool}" },
		`Position "above"`:        func(c *middleware.Config) { c.NotePosition = "above" },
		`Role "tool"`:             func(c *middleware.Config) { c.NoteRole = "tool" },
		"Config.MaxTurns is -1":   func(c *middleware.Config) { c.Working = &working.Config{MaxTurns: -1} },
		"static_control":          func(c *middleware.Config) { c.Mode = "BOTH" },
		"has a control character": func(c *middleware.Config) { c.Scope.SessionID = "a\x00b" },
	} {
		cfg := &middleware.Config{Backend: &fake{}, Sessions: openStore(t)}
		change(cfg)
		refused(t, cfg, want)
	}
}

func TestTheConfigIsCopied(t *testing.T) {
	w := &working.Config{MaxTurns: 3}
	cfg := &middleware.Config{Backend: &fake{}, Sessions: openStore(t), Working: w}
	open(t, cfg)
	require.Equal(t, &working.Config{MaxTurns: 3}, w)
	require.Zero(t, cfg.TopK)
	require.Nil(t, cfg.ScopeSearchByAgent)
	require.Empty(t, cfg.Language)
}
