// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Redis shows an agent whose memory is in Redis, where any number of processes share
// it. It needs a server, of Redis 6.2 or later or of Valkey, and no module in it:
//
//	redis-server --save '' &
//	go run ./examples/redis
//
// Without -say it runs itself several times, two of them at once, as users of
// its own, and removes them in the end. With -say it takes one turn; what one process is
// told, all of them know:
//
//	go run ./examples/redis -user ann -say "I am allergic to peanuts."
//	go run ./examples/redis -user ann -say "What am I allergic to?"
//	go run ./examples/redis -user ann -forget
//	go run ./examples/redis -health
//
// -redis, or REDIS_URL in the environment, names the server: one, a Cluster, or one
// behind Sentinels (see package redisstore). OPENAI_API_KEY (and OPENAI_BASE_URL,
// OPENAI_MODEL, OPENAI_EMBEDDING_MODEL) has it talk to that model; without a key a
// small built-in one answers.
//
// Where to look: open, below, is all that differs from a memory in a file.
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

	"github.com/redis/go-redis/v9/logging"

	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/examples/internal/assistant"
)

func main() {
	logging.Disable() // go-redis tells of connections that fail, and the error does, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// request is what the command line asks for.
type request struct {
	*assistant.Turn
	url            string
	forget, health bool
}

// run is the program: 0 is success, 1 a failure, 2 a command line that makes no
// sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	r, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "redis: %v\nredis -h lists the flags\n", err)
		return 2
	case r.forget:
		err = r.onServer(ctx, stdout, forget)
	case r.health:
		err = r.onServer(ctx, stdout, health)
	case r.Text != "":
		err = r.say(ctx, stdout, stderr)
	default:
		err = tour(ctx, r, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "redis: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*request, error) {
	r := &request{}
	flags := flag.NewFlagSet("redis", flag.ContinueOnError)
	flags.StringVar(&r.url, "redis", cmp.Or(os.Getenv("REDIS_URL"), "redis://localhost:6379/0"), "the `URL` of the server that keeps the memory")
	flags.BoolVar(&r.forget, "forget", false, "forget the user: memories, conversations and all")
	flags.BoolVar(&r.health, "health", false, "say how the server is, and what waits to be learnt")
	turn, err := assistant.ParseTurn(flags, args, stderr)
	if err != nil {
		return nil, err
	}
	r.Turn = turn
	switch say := turn.Given["say"]; {
	case say && r.forget, say && r.health, r.forget && r.health:
		return nil, errors.New("-say, -forget and -health exclude each other")
	case r.forget && !turn.Given["user"]:
		return nil, errors.New("-forget needs -user NAME: nobody is forgotten by default")
	case !say && !r.forget && (turn.Given["user"] || turn.Given["session"]):
		return nil, errors.New("-user and -session need -say TEXT")
	}
	return r, nil
}

// say takes one turn. The program ends when what was said is learnt.
func (r *request) say(ctx context.Context, stdout, stderr io.Writer) error {
	a, err := open(ctx, r, stderr)
	if err != nil {
		return err
	}
	return r.Take(ctx, a, stdout)
}

// open returns an assistant whose memory is in Redis.
func open(ctx context.Context, r *request, stderr io.Writer) (*assistant.Assistant, error) {
	server, err := redisstore.Open(ctx, r.url, nil)
	if err != nil {
		return nil, err
	}
	return assistant.Open(ctx, server, r.Mode, stderr)
}
