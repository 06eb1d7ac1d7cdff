// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcp serves memory to whatever speaks the Model Context Protocol, such as coding agents
// and chat clients: over HTTP, or over standard input and output.
//
//	s, err := mcp.New(&mcp.Config{Memory: mem, Guard: guard}) // a middleware.MemoryMiddleware
//	http.Handle("/mcp", s.Handler())
//
// A program that a client starts as a child serves one person:
//
//	s, err := mcp.New(&mcp.Config{Memory: mem, Scope: backends.Scope{UserID: "ann"}})
//	err = s.Run(ctx, nil) // standard input and output
//
// # Tools
//
// search_memory, add_memory, and, where the backend lists and changes single memories,
// list_memories, memory_history, update_memory and delete_memory. grep_working_memory and
// read_working_memory find and read again what was said in the connection's session. forget
// erases everything, once the user says so: clients that can ask are made to (elicitation);
// others must repeat whose memory it is. memory is package files, with Config.Files. With
// Config.Flows there are ReMe's flows under their own names, whose result is ReMe's answer, and
// as structured content also success and metadata. Every result has a text for models, and the
// same as structured content. What a model got wrong is an error of the tool, with a text that
// says what to do; what failed here goes to Config.OnError.
//
// Resources are the memories, as memory://memories/ID, and the sessions, as
// memory://sessions/ID. They are read-only.
//
// # Whose memory
//
// The connection says it: the headers of package access over HTTP, within what the key opens,
// and Config.Scope otherwise. Arguments never do: what a tool does not know, such as a user_id,
// is ignored, and an id of another partition is not found. ReMe's flows alone name a workspace or
// a user, which the key must open. A session of the protocol belongs to the key and the scope that
// began it. All that writes goes to the audit log of the [access.Guard], also what was refused.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/access"
	"github.com/einomem/einomem/toolkit/files"
	"github.com/einomem/einomem/toolkit/flows"
)

// idle is how long a session over HTTP may say nothing before it ends.
const idle = time.Hour

// Config says what is served, and to whom. It is copied by [New]. What it names stays the
// caller's.
type Config struct {
	Memory access.Memory // Required.
	Files  *files.Files  // Optional. Adds the tool memory.
	Flows  *flows.Flows  // Optional. Adds ReMe's flows.

	// Guard says who may connect over HTTP, and logs what is written. Optional. Defaults to one
	// without keys: this machine may do everything.
	Guard *access.Guard
	// Scope is whose memory Run serves. Over HTTP it holds for connections without a scope, if
	// their key opens it. Optional. By default such connections have ReMe's flows alone.
	Scope backends.Scope
	// ReadOnly refuses all that writes over Run. Over HTTP the key says it. Optional.
	ReadOnly bool

	// OnError is called with every failure of the memory; stage is the name of the tool. Must be
	// safe for concurrent use. Optional. Failures are logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// Server serves a memory. It is immutable and safe for concurrent use.
type Server struct {
	cfg     Config
	fixed   connection       // of Run
	manager backends.Manager // nil if the backend is none
	mcp     *sdk.Server
}

var private = sdk.Cacheable{CacheScope: "private"}

// New returns a server, or ErrInvalid for a configuration without Memory or with a scope that
// cannot be.
func New(cfg *Config) (*Server, error) {
	if cfg == nil || cfg.Memory == nil {
		return nil, fmt.Errorf("mcp: no Config.Memory: %w: pass one of middleware.New", backends.ErrInvalid)
	}
	s := &Server{cfg: *cfg}
	scope, err := cfg.Scope.Normalize()
	if s.cfg.Scope = scope; err == nil && cfg.Guard == nil {
		s.cfg.Guard, err = access.New(nil)
	}
	s.fixed = connection{scope: scope, key: &access.Key{
		Name: "run", Namespaces: []string{cmp.Or(scope.Namespace, backends.DefaultNamespace)},
		Users: []string{scope.UserID}, Agents: []string{scope.AgentID}, Workspaces: []string{scope.Workspace}, Write: !cfg.ReadOnly,
	}}
	s.manager, _ = access.Manager(cfg.Memory)
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "einomem", Title: "Memory", Version: "1"}, &sdk.ServerOptions{
		Instructions: "Long-term memory. Search it before you answer what may depend on earlier conversations; add lasting facts, preferences and decisions to it.",
		Capabilities: &sdk.ServerCapabilities{},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = private },
	})
	s.resources()
	if err = errors.Join(err, s.tools()); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return s, nil
}

// Run serves one client, by default over standard input and output, until it leaves or ctx ends.
// Config.Scope is required for it.
func (s *Server) Run(ctx context.Context, t sdk.Transport) error {
	if !named(s.cfg.Scope) {
		return fmt.Errorf("mcp: no Config.Scope: %w: it says whose memory is served", backends.ErrNoScope)
	}
	if t == nil {
		t = &sdk.StdioTransport{}
	}
	return s.mcp.Run(context.WithValue(ctx, connectionKey{}, &s.fixed), t)
}

// connection is who is connected, and whose memory it is.
type connection struct {
	key   *access.Key
	scope backends.Scope
}

type connectionKey struct{}

// Handler serves clients over streamable HTTP, with sessions: clients of the protocol of 2026-07-28,
// which has none, fall back to the one before. It answers 401 without a valid key, and 403 for what
// the key does not open.
func (s *Server) Handler() http.Handler {
	streams := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, &sdk.StreamableHTTPOptions{SessionTimeout: idle})
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		c := ctx.Value(connectionKey{}).(*connection)
		return &auth.TokenInfo{UserID: fmt.Sprintf("%q %q", c.key.Name, c.scope), Extra: map[string]any{"connection": c}}, nil
	}
	bound := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(streams)
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.connect(r)
		if err != nil {
			http.Error(w, err.Error(), status(err))
			return
		}
		r = r.Clone(context.WithValue(r.Context(), connectionKey{}, c))
		r.Header.Del("X-API-Key")
		r.Header.Set("Authorization", "Bearer known") // the SDK binds a session to the UserID of its token, which verify makes
		bound.ServeHTTP(w, r)
	}))
}

// connect finds the key and the scope of a request.
func (s *Server) connect(r *http.Request) (*connection, error) {
	key, err := s.cfg.Guard.Key(r)
	if err != nil {
		return nil, err
	}
	c := &connection{key: key}
	if c.scope, err = key.Scope(r.Header); errors.Is(err, backends.ErrNoScope) {
		err = nil
		if scope := c.scope.Or(s.cfg.Scope); key.Allow(scope, false) == nil {
			c.scope = scope
		}
	}
	return c, err
}

func status(err error) int {
	switch {
	case errors.Is(err, access.ErrNoKey):
		return http.StatusUnauthorized
	case errors.Is(err, access.ErrRate):
		return http.StatusTooManyRequests
	case errors.Is(err, backends.ErrInvalid):
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// call is one request of a connection.
type call struct {
	context.Context
	*Server
	*connection
	name    string               // of the tool, or of the method
	request *sdk.CallToolRequest // nil for resources
}

// call returns the call of a request. It fails closed: a request over HTTP without a connection
// has none of Run's.
func (s *Server) call(ctx context.Context, extra *sdk.RequestExtra, name string) (*call, error) {
	c := &call{Context: ctx, Server: s, name: name}
	if extra != nil && extra.TokenInfo != nil {
		c.connection, _ = extra.TokenInfo.Extra["connection"].(*connection)
	} else if extra == nil || extra.Header == nil {
		c.connection, _ = ctx.Value(connectionKey{}).(*connection)
	}
	if c.connection == nil {
		return nil, backends.ErrDenied
	}
	return c, nil
}

// named reports whether a scope names anybody's memory.
func named(s backends.Scope) bool { return s.UserID != "" || s.AgentID != "" || s.Workspace != "" }

// owner returns ErrNoScope if the connection has no scope.
func (c *call) owner() error {
	if !named(c.scope) {
		return fmt.Errorf("%w: this connection does not say whose memory it is about: send the header %s, %s or %s", backends.ErrNoScope, access.HeaderUser, access.HeaderAgent, access.HeaderWorkspace)
	}
	return nil
}

// write carries out what changes something, if the key may, and logs it.
func (c *call) write(run func() error) error {
	err := c.key.Allow(c.scope, true)
	if err == nil {
		err = run()
	}
	c.cfg.Guard.Audit(c, c.key, "mcp "+c.name, c.scope, err)
	return err
}

// explain returns an error as the client reads it. Failures of the memory are reported, and
// nothing of them is shown.
func (c *call) explain(err error) error {
	says := func(s string) error { return errors.New(s) }
	switch {
	case c.Err() != nil:
		return context.Cause(c)
	case errors.Is(err, backends.ErrDenied):
		return says("Denied: this key does not open that, or may only read it. Nothing was done.")
	case errors.Is(err, backends.ErrDeclined):
		return says("The user declined: nothing was changed. Do not try again.")
	case errors.Is(err, backends.ErrForgotten):
		return says("What this is about was forgotten meanwhile: nothing was stored.")
	case errors.Is(err, backends.ErrUnavailable), errors.Is(err, backends.ErrModel):
	case errors.Is(err, backends.ErrConflict):
		return says("It was changed meanwhile. Look at it again, and then decide.")
	case errors.Is(err, backends.ErrNotFound), errors.Is(err, backends.ErrInvalid), errors.Is(err, backends.ErrNoScope):
		return says(text.Truncate(err.Error(), 1000))
	}
	work.Report(c, c.cfg.OnError, c.name, err)
	return says("Memory is not available now. Continue without it, and do not claim to have remembered or recorded anything.")
}
