// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/examples/internal/trial"
)

// sessionsConfig is what the command sessions measures.
type sessionsConfig struct {
	url      string        // of a server; empty: SQLite alone
	sessions int           // as many clients, when they work at the same time
	turns    trial.Numbers // at which lengths is measured
	window   int           // turns that are loaded
	rounds   int           // how often each session is saved to and loaded, at each length
}

func sessionsCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	cfg, asJSON, err := parseSessions(args, errs)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	r, err := measureSessions(ctx, cfg, errs)
	if err != nil {
		return err
	}
	return r.print(out, asJSON)
}

func parseSessions(args []string, errs io.Writer) (cfg *sessionsConfig, asJSON bool, err error) {
	cfg = &sessionsConfig{turns: trial.Numbers{10, 100, 1000}}
	flags := flag.NewFlagSet("sessions", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&cfg.url, "redis", "", "the `URL` of a server that nobody else uses; without it, SQLite alone")
	flags.IntVar(&cfg.sessions, "sessions", 64, "how many sessions, each with a client of its own")
	flags.Var(&cfg.turns, "turns", "at how many turns is measured, separated by commas")
	flags.IntVar(&cfg.window, "window", 20, "how many turns are loaded")
	flags.IntVar(&cfg.rounds, "rounds", 3, "how often each session is saved to and loaded")
	flags.BoolVar(&asJSON, "json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return nil, false, err
	}
	if min(cfg.sessions, cfg.window, cfg.rounds) <= 0 {
		return nil, false, fmt.Errorf("-sessions, -window and -rounds are above 0")
	}
	slices.Sort(cfg.turns)
	return cfg, asJSON, nil
}

// measureSessions takes all measures, on each store in turn.
func measureSessions(ctx context.Context, cfg *sessionsConfig, progress io.Writer) (*sessionsReport, error) {
	r := &sessionsReport{About: []string{
		fmt.Sprintf("%s, %s/%s, %d processors; %d sessions, %d calls of each sort in each row", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), cfg.sessions, cfg.sessions*cfg.rounds),
		fmt.Sprintf("a turn: a question, a call, its result of about %d tokens, an answer; loaded are the newest %d turns", sessionsResult, cfg.window),
		"sqlite: one file, every commit on disk",
	}}
	places, err := sessionsPlaces(ctx, cfg.url, r)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		fmt.Fprintf(progress, "%s: %d sessions\n", p.name, cfg.sessions)
		rows, err := p.measure(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		r.Rows = append(r.Rows, rows...)
	}
	return r, nil
}

// sessionsPlace is a store, and the wire to it.
type sessionsPlace struct {
	name string
	open func(context.Context) (*bed, error)
	wire wire
}

func sessionsPlaces(ctx context.Context, url string, r *sessionsReport) ([]*sessionsPlace, error) {
	places := []*sessionsPlace{{name: "sqlite", open: openSQLite}}
	if url == "" {
		return places, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	name, about, err := describeServer(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("the server of -redis: %w", err)
	}
	r.About = append(r.About, about)
	server := &sessionsPlace{name: name}
	server.wire.tap(options)
	server.open = func(ctx context.Context) (*bed, error) { return openRedis(ctx, options) }
	return append(places, server), nil
}
