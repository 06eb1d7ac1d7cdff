// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Redis shows a memory that any number of processes share, on a server of Redis 6.2
// or later or of Valkey, with no module in it:
//
//	redis-server --save '' &
//	go run ./examples/redis -user ann -say "I am allergic to peanuts."
//	go run ./examples/redis -user ann -say "What am I allergic to?"
//	go run ./examples/redis -user ann -forget
//	go run ./examples/redis -health
//
// -redis, or REDIS_URL in the environment, names the server: one, a Cluster, or one
// behind Sentinels (see package redisstore). With OPENAI_API_KEY (and
// OPENAI_BASE_URL, OPENAI_MODEL, OPENAI_EMBEDDING_MODEL) it talks to that model;
// without, to a small built-in one.
//
// Here memory surrounds a plain chat model: mem.Prepare before it, mem.Finish after.
// examples/quickstart has an agent, which works on Redis as well.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9/logging"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func main() {
	logging.Disable() // go-redis logs connections that fail, and the error names them, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "redis: %v\n", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	scope := middleware.Scope{}
	flags := flag.NewFlagSet("redis", flag.ContinueOnError)
	flags.SetOutput(stderr)
	url := flags.String("redis", cmp.Or(os.Getenv("REDIS_URL"), "redis://localhost:6379/0"), "the `URL` of the server that keeps the memory")
	flags.StringVar(&scope.UserID, "user", "", "whose memory; defaults to me, but not for -forget")
	flags.StringVar(&scope.SessionID, "session", "default", "which conversation of the user")
	text := flags.String("say", "", "take one turn: say `text`, print the answer")
	erase := flags.Bool("forget", false, "forget the user: memories, conversations and all")
	check := flags.Bool("health", false, "print how the server is, and what is not learnt yet")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	said := strings.TrimSpace(*text) != ""
	var do func(*redisstore.Store) error
	switch {
	case said && !*erase && !*check:
		scope.UserID = cmp.Or(scope.UserID, "me")
		do = func(server *redisstore.Store) error { return say(ctx, server, scope, *text, stdout, stderr) }
	case *erase && !said && !*check && scope.UserID != "":
		do = func(server *redisstore.Store) error { return forget(ctx, server, scope, stdout) }
	case *check && !said && !*erase:
		do = func(server *redisstore.Store) error { return health(ctx, server, stdout) }
	}
	scope, err := scope.Normalize()
	if do == nil || flags.NArg() > 0 || err != nil {
		return errors.Join(err, errors.New("give one of -say TEXT, -user NAME -forget, and -health; redis -h lists the flags"))
	}
	server, err := redisstore.Open(ctx, *url, nil)
	if err != nil {
		return err
	}
	return errors.Join(do(server), server.Close())
}

// say takes one turn. It returns when what was said is learnt, even after an
// interrupt.
func say(ctx context.Context, server *redisstore.Store, scope middleware.Scope, text string, stdout, stderr io.Writer) (err error) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	config := &mem0.Config{Store: server}
	chat, err := demomodel.Choose(ctx, &demomodel.Model{}, config, stderr)
	if err != nil {
		return err
	}
	backend, err := mem0.New(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(closing)) }()
	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend, Mode: modes.StaticControl, TopK: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.Flush(closing), mem.Close(closing)) }()

	ctx = middleware.WithScope(ctx, scope)
	messages, err := mem.Prepare(ctx, []*schema.Message{schema.UserMessage(text)})
	if err != nil {
		return err
	}
	answer, err := chat.Generate(ctx, messages)
	if err != nil {
		return fmt.Errorf("asking the model: %w", err)
	}
	fmt.Fprintln(stdout, answer.Content)
	return mem.Finish(ctx, append(messages, answer))
}

// forget erases all that is stored of the user, and prints how much that was.
func forget(ctx context.Context, server *redisstore.Store, scope middleware.Scope, stdout io.Writer) error {
	user, err := scope.Partition(backends.PartitionUser)
	if err != nil {
		return err
	}
	n, err := store.Forget(ctx, server, user, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "forgot %s: memories %d, sessions %d, messages %d\n", scope.UserID, n.Memories, n.Sessions, n.Messages)
	return err
}

// health prints how the server is, how many messages are not learnt yet, and why.
func health(ctx context.Context, server *redisstore.Store, stdout io.Writer) error {
	state, err := server.Health(ctx)
	if err != nil {
		return err
	}
	h, err := working.ReadHealth(ctx, server)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "ping %s; not learnt yet: messages %d, sessions %d; failing: %d %s; given up: %d\n",
		state.Ping, h.Messages, h.Sessions, h.Failing, h.LastError, h.Parked)
	return err
}
