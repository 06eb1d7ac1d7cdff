// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcp serves memory to clients of the Model Context Protocol, such as coding agents and
// chat clients: over HTTP, streamable or with server-sent events, or over standard input and output.
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
// Config.Tools names the groups that clients see, by default the first alone: each tool costs
// tokens in every prompt.
//
//	memory   search_memory, add_memory, forget, and where the backend lists and changes single
//	         memories list_memories, memory_history, update_memory, delete_memory
//	session  grep_working_memory and read_working_memory: what was said in the connection's session
//	files    memory, the tool of package files
//	reme     ReMe's flows under their own names; its two tools above only without session
//
// search_memory, add_memory and update_memory are the tools that an agent gets from package toolkit:
// the same arguments, descriptions, leniency and result, a text. search_memory also takes query for
// keywords.
//
// forget erases everything, once the user agrees: the client has to ask them (elicitation). Clients
// that cannot ask are refused, unless Config.AllowForget says otherwise. The result of a flow is
// ReMe's answer, and as structured content also success and metadata. Every other result is
// structured content, too, and a text for models: a line for each memory, the text of files, else
// the same JSON. A mistake of a model is an error of the tool, with a text that says what to do.
// Failures of the server go to Config.OnError.
//
// Resources are memory://memories and memory://sessions, which list memories and sessions, and each
// of them as memory://memories/ID and memory://sessions/ID. They are JSON, and read-only.
//
// # Scopes
//
// The connection names the scope: by the headers of package access over HTTP, within the scopes
// that the key opens, and by Config.Scope otherwise. The address may name a part in place of its
// header, for clients without headers, as in /mcp?user_id=ann&session_id=s1 and /sse?user_id=ann.
// Arguments never do: a tool ignores unknown
// ones, such as a user_id, and an id of another partition is not found. ReMe's flows alone name a
// workspace or a user, which the key must open. In a workspace the connection acts as its user. A
// session of the protocol belongs to the key and the scope that began it. All writes go to the
// audit log of the [access.Guard], refused ones too.
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
	"github.com/einomem/einomem/internal/agenttool"
	"github.com/einomem/einomem/internal/build"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/files"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// idle is how long a session over HTTP may be silent before it ends.
const idle = time.Hour

// Config names the memory to serve, and its clients. [New] copies it. Its values stay the caller's.
type Config struct {
	Memory access.Memory // Required.
	Files  *files.Files  // Optional. Required for the group files.
	Flows  *flows.Flows  // Optional. Required for the group reme.

	// Tools are the groups of tools that clients see: memory, session, files, reme. Optional.
	// Defaults to memory.
	Tools []string

	// Guard decides who may connect over HTTP, and logs writes. Optional. Defaults to a guard
	// without keys: this machine may do everything.
	Guard *access.Guard
	// Scope is the scope that Run serves. With a user the client acts as that user. Without one it
	// acts as the program, since whoever started it holds the store. Over HTTP it is the default of
	// connections, if their key opens it. Optional. By default connections without a scope have
	// ReMe's flows alone.
	Scope backends.Scope
	// Workspaces are more workspaces that ReMe's flows may name over Run, or [access.Any] for all.
	// In them the client acts as the user of Scope, and as the program on a workspace as a whole, such
	// as for a dump. Optional.
	Workspaces []string
	// AllowForget lets forget, and flows that change a whole workspace, go ahead for clients that
	// cannot ask their user. The word of the model is then enough. Optional. Defaults to false.
	AllowForget bool
	// ReadOnly refuses all writes over Run. Over HTTP the key decides. Optional.
	ReadOnly bool

	// OnError gets every failure of the memory; stage is the name of the tool. It must be safe for
	// concurrent use. Optional. slog logs failures in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// Server serves a memory. It is immutable and safe for concurrent use.
type Server struct {
	cfg  Config // without Memory, which the door holds
	door *access.Door
	mcp  *sdk.Server
}

// New returns a server. It returns ErrInvalid if Memory is nil, the scope is invalid, a group of tools
// is unknown, or what a group needs is missing.
func New(cfg *Config) (*Server, error) {
	if cfg == nil || cfg.Memory == nil {
		return nil, fmt.Errorf("mcp: no Config.Memory: %w: pass one of middleware.New", backends.ErrInvalid)
	}
	s := &Server{cfg: *cfg, door: access.NewDoor(cfg.Memory, nil)}
	if len(cfg.Tools) == 0 {
		s.cfg.Tools = groups[:1]
	}
	var err error
	if s.cfg.Scope, err = cfg.Scope.Normalize(); err == nil && cfg.Guard == nil {
		s.cfg.Guard, err = access.New(nil)
	}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "einomem", Title: "Memory", Version: build.Version()}, &sdk.ServerOptions{
		Instructions: "Long-term memory. Search it before you answer what may depend on earlier conversations; add lasting facts, preferences and decisions to it.",
		Capabilities: &sdk.ServerCapabilities{}, // logging is off
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	if cfg.Flows != nil {
		cfg.Memory.ForgetsAlso(cfg.Flows.Place())
	}
	s.resources()
	if err = errors.Join(err, s.tools()); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	s.cfg.Memory = nil
	return s, nil
}

// Run serves one client, by default over standard input and output, until it leaves or ctx ends.
// Config.Scope is required for it.
func (s *Server) Run(ctx context.Context, t sdk.Transport) error {
	scope := s.cfg.Scope
	if _, err := scope.Owner(); err != nil {
		return fmt.Errorf("mcp: no Config.Scope: %w: it names the owner of the memory to serve", backends.ErrNoScope)
	}
	if t == nil {
		t = &sdk.StdioTransport{}
	}
	c := &connection{run: true, scope: scope, key: &access.Key{
		Name: "run", Namespaces: []string{cmp.Or(scope.Namespace, backends.DefaultNamespace)},
		Users: []string{scope.UserID}, Agents: []string{scope.AgentID}, Workspaces: append([]string{scope.Workspace}, s.cfg.Workspaces...),
		As: scope.UserID, Write: !s.cfg.ReadOnly, Admin: scope.UserID == "" || len(s.cfg.Workspaces) > 0,
	}}
	return s.mcp.Run(context.WithValue(ctx, connectionKey{}, c), t)
}

// connection is a client, with its scope.
type connection struct {
	key   *access.Key
	scope backends.Scope
	run   bool // over Run: who started the program says whose memory it is
}

// String names the key and the scope, to which a session belongs.
func (c *connection) String() string { return fmt.Sprintf("%q %q", c.key.Name, c.scope) }

type connectionKey struct{}

// Handler serves clients over streamable HTTP, with sessions: clients of the protocol of
// 2026-07-28, which lacks sessions, fall back to the one before. It answers 401 without a valid
// key, and 403 for scopes that are closed to the key.
func (s *Server) Handler() http.Handler {
	streams := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, &sdk.StreamableHTTPOptions{SessionTimeout: idle})
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: ctx.Value(connectionKey{}).(*connection).String()}, nil
	}
	bound := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(streams)
	return s.guarded(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("X-API-Key")
		r.Header.Set("Authorization", "Bearer known") // the SDK binds a session to the UserID of its token, which verify makes
		bound.ServeHTTP(w, r)
	})
}

// guarded returns a handler of the requests that the guard lets through, with their connection.
func (s *Server) guarded(serve http.HandlerFunc) http.Handler {
	return http.NewCrossOriginProtection().Handler(access.Paced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := s.connect(r)
		if err != nil {
			http.Error(w, err.Error(), status(err))
			return
		}
		serve(w, r.Clone(context.WithValue(r.Context(), connectionKey{}, c)))
	})))
}

// connect finds the key and the scope of a request.
func (s *Server) connect(r *http.Request) (*connection, error) {
	key, err := s.cfg.Guard.Key(r)
	if err != nil {
		return nil, err
	}
	c := &connection{key: key}
	named, err := scopeHeaders(r)
	if err != nil {
		return nil, err
	}
	if c.scope, err = key.Scope(named); errors.Is(err, backends.ErrNoScope) {
		err = nil
		if scope, no := key.Open(c.scope.Or(s.cfg.Scope), access.Read); no == nil {
			c.scope = scope
		}
	}
	return c, err
}

// scopeHeaders returns the headers of a request, with the parts of the scope that its address names.
func scopeHeaders(r *http.Request) (http.Header, error) {
	named, query := r.Header.Clone(), r.URL.Query()
	for part, header := range map[string]string{"namespace": access.HeaderNamespace, "user_id": access.HeaderUser,
		"agent_id": access.HeaderAgent, "workspace": access.HeaderWorkspace, "session_id": access.HeaderSession} {
		asked, sent := query.Get(part), named.Get(header)
		switch {
		case asked != "" && sent != "" && asked != sent:
			return nil, fmt.Errorf("%w: the address names %s %q, and the header %s %q: send one of them", backends.ErrInvalid, part, asked, header, sent)
		case asked != "":
			named.Set(header, asked)
		}
	}
	return named, nil
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
	*access.Opened                      // nil outside of do
	name           string               // of the tool, or of the method
	request        *sdk.CallToolRequest // nil for resources
	ask            *sdk.ElicitParams    // a question to the user before the call goes on
}

// call returns the call of a request. Its context is the one in which the session began; the SDK
// keeps other connections out of it.
func (s *Server) call(ctx context.Context, name string) (*call, error) {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return nil, backends.ErrDenied
	}
	return &call{Context: ctx, Server: s, connection: c, name: name}, nil
}

// do works on the connection's own scope. Writes need a key that may write, and are logged.
func (c *call) do(m access.Mode, run func() error) (err error) {
	if c.Opened, err = c.door.Open(c.key, c.scope, m); err == nil {
		err = run()
	}
	if m&access.Write != 0 && c.ask == nil {
		c.audit(c.scope, err)
	}
	return err
}

func (c *call) audit(s backends.Scope, err error) {
	c.cfg.Guard.Audit(c, c.key, "mcp "+c.name, s, err)
}

func (c *call) report(err error) { work.Report(c, c.cfg.OnError, c.name, err) }

// explain returns an error in words for the client. It reports failures of the memory, and hides
// their details.
func (c *call) explain(err error) error {
	is := func(sort error) bool { return errors.Is(err, sort) }
	var own agenttool.Refusal
	var says string
	switch {
	case errors.As(err, &own):
		says = string(own)
	case c.Err() != nil:
		return context.Cause(c)
	case is(backends.ErrUnavailable), is(backends.ErrModel):
	case is(errCannotAsk):
		says = "Nothing was erased: this client cannot ask its user, and no answer of a model counts. " +
			"The user can erase it with a client that asks, on the page of the memory server, or with the help of whoever runs it."
	case is(backends.ErrDenied) && c.run:
		says = "Denied: this server was started for other memory, or to read only. Nothing was done. " +
			"Who starts it opens it, such as by the flags -user NAME and -workspace NAME or any."
	case is(backends.ErrDenied):
		says = "Denied: this key does not open that, or may only read it. Nothing was done."
	case is(backends.ErrDeclined):
		says = "The user declined: nothing was changed. Do not try again."
	case is(backends.ErrForgotten):
		says = "What this is about was forgotten meanwhile: nothing was stored."
	case is(backends.ErrConflict):
		says = "It was changed meanwhile. Look at it again, and then decide."
	case is(backends.ErrNoScope) && c.run:
		says = "This server was started without what this tool needs: a user for personal memory, a workspace for that of tasks and tools, " +
			"a session for what was said. Who starts it names them, such as by the flags -user, -workspace and -session."
	case is(backends.ErrNoScope):
		says = fmt.Sprintf("This connection does not say whose memory it is about: send the header %s, %s or %s, and for what was said also %s. "+
			"The address may say it instead, as in ?user_id=ann&session_id=s1.",
			access.HeaderUser, access.HeaderAgent, access.HeaderWorkspace, access.HeaderSession)
	case is(backends.ErrNotFound), is(backends.ErrInvalid):
		says = text.Truncate(err.Error(), 1000)
	}
	if says == "" {
		c.report(err)
		says = "Memory is not available now. Continue without it, and do not claim to have remembered or recorded anything."
	}
	return errors.New(says)
}
