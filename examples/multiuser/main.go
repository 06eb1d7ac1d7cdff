// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Multiuser is a chat server whose users each have a memory of their own. One store, one backend
// and one middleware serve them all. The scope alone decides whose memory a request has, whatever a
// user or a model writes.
//
//	cd examples/multiuser && go run . -db memory.db
//	curl localhost:8080/chat -H 'X-User: ann' -d 'I am allergic to peanuts.'
//	curl localhost:8080/chat -H 'X-User: ann' -H 'X-Session: tuesday' -d 'What am I allergic to?'
//	curl localhost:8080/chat -H 'X-User: bob' -d 'What am I allergic to?'
//
// http://localhost:8080 is a page for this machine alone. It shows each user's memories, and the
// notes of the last answers.
//
// With -db redis://localhost:6379/0, of Redis 6.2 or later or of Valkey, any number of such servers
// share the memory; examples/memory forgets users and shows the stored data.
//
// The answer comes as a stream of plain text. OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL,
// OPENAI_EMBEDDING_MODEL) choose a real model.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/examples/demomodel/choose"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// grace is how long running requests, and learning from them, may still take after the stop of the
// server.
const grace = 30 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "multiuser: %s\n", demomodel.ErrorText(err))
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("multiuser", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "localhost:8080", "the `address` to listen on")
	db := flags.String("db", "multiuser.db", "the `file` of SQLite, or the URL of Redis, that keeps the memory")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil || flags.NArg() > 0 || *db == "" {
		return errors.Join(err, errors.New("multiuser -h lists the flags"))
	}
	return serve(ctx, *addr, *db, stdout, stderr)
}

// serve puts the parts together, answers until ctx is over, and then ends in
// order: requests, learning, backend, store.
func serve(ctx context.Context, addr, db string, stdout, stderr io.Writer) (err error) {
	ending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	memories, err := open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memories.Close()) }()
	config := &mem0.Config{Store: memories}
	chat, err := choose.Model(ctx, &demomodel.Model{}, config, stderr)
	if err != nil {
		return err
	}
	backend, err := mem0.New(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(ending)) }()
	// Without a model to ask, learning takes milliseconds: worth waiting for, so that
	// the user's next session knows it at once. With one it goes on behind the answer.
	notes := rest.NewNotes(nil)
	mem, err := middleware.New(ctx, &middleware.Config{
		Backend: backend, AwaitWrite: config.Model == nil,
		// How much, and of whom: the texts of memories stay out of the log.
		OnNote: func(ctx context.Context, n hooks.Note) {
			slog.Info("shown", "user", n.Scope.UserID, "memories", len(n.Hits))
			notes.Record(ctx, n)
		},
		OnLearned: func(_ context.Context, r *backends.AddResponse) { slog.Info("learnt", "items", len(r.Items)) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.Flush(ending), mem.Close(ending)) }()

	page, err := rest.New(&rest.Config{Memory: mem, Store: memories, Notes: notes})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close(ending)) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: newServer(mem, chat, page), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	time.AfterFunc(grace, cancel)
	return errors.Join(err, srv.Shutdown(ending))
}

// open opens a file of SQLite, or a server.
func open(ctx context.Context, at string) (store.Store, error) {
	if strings.Contains(at, "://") {
		return redisstore.Open(ctx, at, nil)
	}
	return sqlitestore.Open(ctx, at, nil)
}
