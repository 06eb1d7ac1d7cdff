// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/access"
	"github.com/einomem/einomem/toolkit/files"
	"github.com/einomem/einomem/toolkit/flows"
	"github.com/einomem/einomem/toolkit/mcp"
	"github.com/einomem/einomem/toolkit/rest"
)

// grace is how long the end may take.
const grace = 30 * time.Second

// service is all that is served, and what has to be closed, in the order in which it was opened.
type service struct {
	cfg     *config
	log     *slog.Logger
	guard   *access.Guard
	store   store.Store
	mem     *middleware.MemoryMiddleware
	rest    *rest.Handler
	mcp     *mcp.Server
	metrics *metrics
	model   string
	ending  atomic.Bool
	closers []func(context.Context) error
}

// open puts the parts together. scope is that of MCP on standard input and output.
func open(ctx context.Context, cfg *config, scope backends.Scope, log *slog.Logger) (_ *service, err error) {
	s := &service{cfg: cfg, log: log, metrics: newMetrics(), model: "none"}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if err := s.traces(ctx); err != nil {
		return nil, err
	}
	if s.guard, err = access.New(&access.Config{Keys: cfg.Keys, PerSecond: cfg.Limits.PerSecond, Burst: cfg.Limits.Burst, Log: log}); err != nil {
		return nil, err
	}
	if strings.Contains(cfg.Store, "://") {
		s.store, err = redisstore.Open(ctx, cfg.Store, nil)
	} else {
		s.store, err = sqlitestore.Open(ctx, cfg.Store, nil)
	}
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func(context.Context) error { return s.store.Close() })
	facts, experience := &mem0.Config{Store: s.store}, &reme.Config{Store: s.store, NoPersonal: true}
	chat, embedder := openai.FromEnv()
	if chat != nil {
		m, err := openai.NewChatModel(ctx, chat)
		if err != nil {
			return nil, err
		}
		s.model, facts.Model, experience.Model = chat.Model, m, m
	}
	if embedder != nil {
		e, err := openai.NewEmbedder(ctx, embedder)
		if err != nil {
			return nil, err
		}
		facts.Embedder, facts.EmbeddingModel = e, embedder.Model
		experience.Embedder, experience.EmbeddingModel = e, embedder.Model
	}
	a, err := mem0.New(ctx, facts)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, a.Close)
	b, err := reme.New(ctx, experience)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, b.Close)
	blocks := &core.Config{}
	for _, c := range cfg.Core {
		blocks.Blocks = append(blocks.Blocks, core.Block{Name: c.Name, Description: c.Description})
	}
	if len(blocks.Blocks) == 0 {
		blocks.Blocks = []core.Block{{Name: "pinned", Description: "what is always to be kept in mind"}}
	}
	s.mem, err = middleware.New(ctx, &middleware.Config{
		Backend: backends.Join(a, b), OnError: s.metrics.failed, OnLearned: s.metrics.learned,
		Window: &window.Config{Budget: compaction.Budget{Window: 128_000}, Model: facts.Model}, Core: blocks,
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func(ctx context.Context) error { return errors.Join(s.mem.Flush(ctx), s.mem.Close(ctx)) })
	if err := s.toolkits(scope, facts.Model); err != nil {
		return nil, err
	}
	s.metrics.backlog(s.mem.Working())
	return s, nil
}

// toolkits makes what is served of the memory.
func (s *service) toolkits(scope backends.Scope, m model.BaseChatModel) (err error) {
	var folder *os.Root
	if s.cfg.Folder != "" {
		if folder, err = os.OpenRoot(s.cfg.Folder); err != nil {
			return err
		}
		s.closers = append(s.closers, func(context.Context) error { return folder.Close() })
	}
	tree, err := files.New(&files.Config{Records: s.store, Blocks: s.mem.Window().Core()})
	if err != nil {
		return err
	}
	reMe, err := flows.New(&flows.Config{Backend: s.mem.Backend(), Model: m, Folder: folder})
	if err != nil {
		return err
	}
	if s.mcp, err = mcp.New(&mcp.Config{Memory: s.mem, Guard: s.guard, Scope: scope, Files: tree, Flows: reMe, OnError: s.metrics.failed}); err != nil {
		return err
	}
	s.rest, err = rest.New(&rest.Config{Memory: s.mem, Guard: s.guard, Store: s.store, Flows: reMe, AlwaysOK: s.cfg.AlwaysOK,
		MaxBody: s.cfg.Limits.Body, Timeout: s.cfg.Limits.Timeout, NoPage: s.cfg.NoPage, Log: s.log})
	if err == nil {
		s.closers = append(s.closers, s.rest.Close)
	}
	return err
}

// summary says what is served.
func (s *service) summary() string {
	keys := "no keys: this machine alone"
	if n := len(s.cfg.Keys); n > 0 {
		keys = fmt.Sprintf("%d keys", n)
	}
	return fmt.Sprintf("listen %s, store %s, model %s, %s", s.cfg.Listen, redacted(s.cfg.Store), s.model, keys)
}

// redacted hides the password of a URL.
func redacted(at string) string {
	if scheme, rest, ok := strings.Cut(at, "://"); ok {
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			return scheme + "://…" + rest[i:]
		}
	}
	return at
}

// handler is everything that is served over HTTP.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.rest)
	if !s.cfg.NoMCP {
		mux.Handle("/mcp", s.mcp.Handler())
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.metrics.serve(s.guard))
	return s.observe(mux)
}

func (s *service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	_, err := s.store.Partitions(ctx, backends.DefaultNamespace, store.Page{Limit: 1})
	switch {
	case s.ending.Load():
		http.Error(w, "ending", http.StatusServiceUnavailable)
	case err != nil:
		s.log.WarnContext(ctx, "not ready", "error", err)
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
	default:
		_, _ = io.WriteString(w, "ok\n")
	}
}

// serve answers until ctx is over, and then for requests that are under way.
func (s *service) serve(ctx context.Context, stdout io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return err
	}
	// Imports and answers of models may take long; clients that send nothing may not.
	srv := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	failed := make(chan error, 1)
	scheme := "http"
	if s.cfg.TLS.Cert != "" {
		scheme = "https"
		go func() { failed <- srv.ServeTLS(listener, s.cfg.TLS.Cert, s.cfg.TLS.Key) }()
	} else {
		go func() { failed <- srv.Serve(listener) }()
	}
	s.log.Info("serving", "what", s.summary())
	if _, err := fmt.Fprintf(stdout, "listening on %s://%s\n", scheme, listener.Addr()); err != nil {
		return err
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

// close closes what was opened, the last first.
func (s *service) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i](ctx))
	}
	return err
}
