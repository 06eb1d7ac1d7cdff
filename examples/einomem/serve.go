// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/components/model"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/files"
	"github.com/einomem/einomem/toolkit/server/flows"
	"github.com/einomem/einomem/toolkit/server/mcp"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// grace is how long the shutdown may take.
const grace = 30 * time.Second

// service holds all served parts, and all parts to close, in the order of opening.
type service struct {
	cfg     *settings
	log     *slog.Logger
	guard   *access.Guard
	store   store.Store
	mem     *middleware.MemoryMiddleware
	rest    *rest.Handler
	mcp     *mcp.Server
	notes   *rest.Notes
	usage   *rest.Usage
	chat    http.Handler // POST /chat; nil without
	shows   io.Writer    // gets the text of each note; nil: none does
	model   string
	ending  atomic.Bool
	closers []func(context.Context) error
}

// serve serves memory over HTTP until ctx is over.
func serve(ctx context.Context, c *call) error {
	return c.serve(ctx, backends.Scope{}, func(s *service) error {
		if !c.Bool("check") {
			return s.serve(ctx, c)
		}
		if c.json {
			return c.print(map[string]any{"listen": s.cfg.Listen, "store": s.at(), "model": s.model, "keys": len(s.cfg.Keys)}, nil)
		}
		_, err := fmt.Fprintln(c.out, s.summary())
		return err
	})
}

// serveMCP serves MCP on standard input and output, for a person or a workspace.
func serveMCP(ctx context.Context, c *call) error {
	if c.scope.UserID == "" && c.scope.AgentID == "" && c.scope.Workspace == "" {
		return usage("mcp: name whose memory it is by -user or -workspace")
	}
	c.scope.SessionID = c.String("session")
	return c.serve(ctx, c.scope, func(s *service) error { return s.mcp.Run(ctx, &sdk.StdioTransport{}) })
}

// health asks the server on this machine whether it is ready.
func health(ctx context.Context, c *call) error {
	host, port, err := net.SplitHostPort(c.settings.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme, client := "http", &http.Client{Timeout: 5 * time.Second}
	if c.settings.TLS.Cert != "" { // the certificate names the server as others reach it
		scheme, client.Transport = "https", &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it asks itself
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: einomem serve starts a server, and -listen says where it is", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s", answer.Status)
	}
	return c.print(map[string]bool{"ready": true}, nil)
}

// serve opens the service that the settings describe for do, and closes it.
func (c *call) serve(ctx context.Context, scope backends.Scope, do func(s *service) error) error {
	if err := c.settings.startLine(c.Name, c.Args().Slice()); err != nil {
		return err
	}
	if c.Name == "serve" || c.String("listen") != "" {
		if err := c.settings.keys(c.Bool("check"), c.Root().Writer); err != nil {
			return err
		}
	}
	c.settings.AllowForget = c.settings.AllowForget || c.Bool("allow-forget")
	for name, at := range map[string]*int{"learn-tokens": &c.settings.Learning.Budget.Tokens, "learn-calls": &c.settings.Learning.Budget.Calls} {
		if c.IsSet(name) {
			*at = c.Int(name)
		}
	}
	if tools := c.String("tools"); tools != "" {
		c.settings.Tools = strings.Split(tools, ",")
	}
	log := slog.New(requestIDs{slog.NewJSONHandler(c.Root().ErrWriter, &slog.HandlerOptions{Level: c.settings.Log.Level})})
	if c.Name != "chat" || c.String("listen") != "" {
		slog.SetDefault(log) // what the library logs has one form with the rest
	}
	s, err := newService(ctx, c.settings, scope, log)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.close(ctx))
}

// newService puts the parts together. scope is for MCP on standard input and output.
func newService(ctx context.Context, cfg *settings, scope backends.Scope, log *slog.Logger) (_ *service, err error) {
	s := &service{cfg: cfg, log: log, notes: rest.NewNotes(nil), model: "none"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if err = s.traces(ctx); err != nil {
		return nil, err
	}
	if s.guard, err = access.New(&access.Config{Keys: cfg.Keys, DefaultUser: cfg.DefaultUser, PerSecond: cfg.Limits.PerSecond, Log: log}); err != nil {
		return nil, err
	}
	if s.store, err = open(ctx, cfg.Store, true); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func(context.Context) error { return s.store.Close() })
	s.usage = cfg.counting(s.store, observe)
	s.closers = append(s.closers, s.usage.Close)
	p, err := cfg.parts(ctx, s.store)
	if err != nil {
		return nil, err
	}
	s.closers, s.model = append(s.closers, p.Close), p.named
	if s.mem, err = middleware.New(ctx, s.agent(p)); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func(ctx context.Context) error { return errors.Join(s.mem.Flush(ctx), s.mem.Close(ctx)) })
	return s, s.toolkits(scope, p.model)
}

// agent says how memory meets agents.
func (s *service) agent(p *parts) *middleware.Config {
	c, looks, learning := s.cfg.Agent, s.cfg.Window, s.cfg.Learning
	c.Backend, c.OnError, c.OnNote, c.OnLearned = p.Backend, onError, s.onNote, s.onLearned
	// Without a model learning takes milliseconds, and the user's next session knows it at once.
	c.AwaitWrite = c.AwaitWrite || p.model == nil
	if s.cfg.Facts.Small { // tools and long notes lead small models astray
		c.Mode, c.NoteTokens = cmp.Or(c.Mode, modes.StaticControl), cmp.Or(c.NoteTokens, 400)
	}
	looks.NoTools = looks.NoTools || c.Mode == modes.StaticControl
	looks.Budget.Window = cmp.Or(looks.Budget.Window, 128_000)
	if p.model != nil {
		looks.Model = p.model
	}
	c.Window, c.Core, c.Working = &looks, &core.Config{Blocks: s.cfg.Core}, &learning
	if r := s.cfg.Reflection; r != nil {
		schedule := &reflection.Schedule{Turns: r.Turns, Idle: r.Idle, Calls: r.Calls, Tokens: r.Tokens}
		schedule.Rules = r.Rules
		if p.model != nil {
			schedule.Model = p.model
		}
		c.Reflect = schedule
	}
	return &c
}

// toolkits makes the served parts of the memory.
func (s *service) toolkits(scope backends.Scope, chat model.BaseChatModel) (err error) {
	var folder *os.Root
	if s.cfg.Folder != "" {
		if folder, err = os.OpenRoot(s.cfg.Folder); err != nil {
			return err
		}
		s.closers = append(s.closers, func(context.Context) error { return folder.Close() })
	}
	tree, err := files.New(&files.Config{Records: s.store, Blocks: s.mem.Window().(*window.Window).Core()})
	if err != nil {
		return err
	}
	reMe, err := flows.New(&flows.Config{Backend: s.mem.Backend(), Model: chat, Folder: folder})
	if err != nil {
		return err
	}
	var workspaces []string
	if scope.Workspace == "any" {
		scope.Workspace, workspaces = "", []string{access.Any}
	}
	if s.mcp, err = mcp.New(&mcp.Config{Memory: s.mem, Guard: s.guard, Scope: scope, Workspaces: workspaces, Files: tree, Flows: reMe, Tools: s.cfg.Tools,
		AllowForget: s.cfg.AllowForget, OnError: onError}); err != nil {
		return err
	}
	var tidies *reflection.Reflector // nil: the one of the background
	if s.cfg.Reflection == nil {
		if tidies, err = reflection.New(&reflection.Config{Backend: s.mem.Backend(), Model: chat}); err != nil {
			return err
		}
	}
	s.rest, err = rest.New(&rest.Config{Reflector: tidies, Memory: s.mem, Guard: s.guard, Store: s.store, Notes: s.notes, Usage: s.usage, Flows: reMe, AlwaysOK: s.cfg.AlwaysOK,
		MaxBody: s.cfg.Limits.Body, Timeout: s.cfg.Limits.Timeout, Log: s.log})
	if err == nil {
		s.closers = append(s.closers, s.rest.Close)
	}
	return err
}

// summary describes the server.
func (s *service) summary() string {
	return fmt.Sprintf("listen %s, store %s, model %s, keys %d", s.cfg.Listen, s.at(), s.model, len(s.cfg.Keys))
}

// at is the store, its password removed.
func (s *service) at() string {
	if u, err := url.Parse(s.cfg.Store); err == nil && u.User != nil {
		return u.Redacted()
	}
	return s.cfg.Store
}

// handler is everything on HTTP. The streams of MCP, which last as long as their clients want, end
// with ctx.
func (s *service) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.rest)
	mux.Handle("/mcp", until(ctx, s.mcp.Handler()))
	events := until(ctx, s.mcp.SSEHandler())
	mux.Handle("/sse", events)
	mux.Handle("/sse/", events)
	if s.chat != nil {
		mux.Handle("POST /chat", s.chat)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.metrics)
	return s.observe(mux)
}

// until ends GET requests with ctx.
func until(ctx context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			within, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			r = r.WithContext(within)
		}
		h.ServeHTTP(w, r)
	})
}

func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.store.Partitions(ctx, backends.DefaultNamespace, store.Page{Limit: 1}); err != nil || s.ending.Load() {
		s.log.WarnContext(ctx, "not ready", "error", err, "ending", s.ending.Load())
		http.Error(w, "the store does not answer, or the server ends", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// serve answers until ctx is over, and then completes running requests.
func (s *service) serve(ctx context.Context, c *call) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("%w: -listen names another address", err)
	}
	listener = netutil.LimitListener(listener, s.cfg.Limits.Connections)
	// Imports and answers of models may take long; silent clients may not.
	srv := &http.Server{Handler: s.handler(ctx), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	scheme, answer := "http", srv.Serve
	if of := s.cfg.TLS; of.Cert != "" {
		scheme, answer = "https", func(l net.Listener) error { return srv.ServeTLS(l, of.Cert, of.Key) }
	}
	failed := make(chan error, 1)
	go func() { failed <- answer(listener) }()
	s.log.Info("serving", "what", s.summary())
	at := fmt.Sprintf("%s://%s", scheme, listener.Addr())
	if c.json {
		err = c.print(map[string]string{"listening": at}, nil)
	} else {
		_, err = fmt.Fprintln(c.out, "listening on", at)
	}
	if err = errors.Join(err, c.out.Flush()); err != nil {
		return errors.Join(err, srv.Close())
	}
	select {
	case err = <-failed:
		return err
	case <-ctx.Done():
	}
	s.ending.Store(true)
	s.log.Info("ending")
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return srv.Shutdown(ending)
}

// close closes all parts, the last first.
func (s *service) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for _, end := range slices.Backward(s.closers) {
		err = errors.Join(err, end(ctx))
	}
	return err
}
