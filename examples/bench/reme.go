// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// remeConfig is what the command reme measures.
type remeConfig struct {
	folder string // with the pools
	url    string // of a server; empty: SQLite alone
	load   int    // memories of a library that is made up and loaded; 0: none, negative: no loads
}

// remePools are the files, below the folder, whose memories bear the query of the
// task that taught them.
var remePools = []string{"paper/appworld_qwen3_8b.jsonl", "paper/bfcl_qwen3_8b.jsonl"}

// remeDepths are the numbers of hits at which recall is measured.
var remeDepths = []int{1, 5, 10, 25}

func remeCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("reme", flag.ContinueOnError)
	flags.SetOutput(errs)
	var cfg remeConfig
	flags.StringVar(&cfg.folder, "data", os.Getenv("EINOMEM_REME"), "the `folder` with the pools (default $EINOMEM_REME)")
	flags.StringVar(&cfg.url, "redis", "", "the `URL` of a server; without it, SQLite alone")
	flags.IntVar(&cfg.load, "load", 100_000, "how many memories a made-up library has whose load is timed; 0: only the published one's, negative: none")
	asJSON := flags.Bool("json", false, "print JSON instead of tables")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if cfg.folder == "" {
		return fmt.Errorf("%w: reme needs -data FOLDER, or EINOMEM_REME", errUsage)
	}
	r, err := measureReme(ctx, &cfg, errs)
	if err != nil {
		return err
	}
	return r.print(out, *asJSON)
}

// measureReme takes all measures.
func measureReme(ctx context.Context, cfg *remeConfig, progress io.Writer) (*remeReport, error) {
	places, err := remePlaces(cfg.url)
	if err != nil {
		return nil, err
	}
	r := &remeReport{Units: remeUnits, Places: []string{}}
	for _, p := range places {
		r.Places = append(r.Places, p.name)
	}
	for _, file := range remePools {
		pool, err := loadPool(filepath.Join(cfg.folder, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		for _, fields := range []remeFields{whenAlone, whenAndContent} {
			if err := r.compare(ctx, pool, fields, places); err != nil {
				return nil, fmt.Errorf("%s: %w", pool.name, err)
			}
		}
	}
	if cfg.load >= 0 {
		err = r.measureLoads(ctx, cfg.folder, cfg.load, places, progress)
	}
	return r, err
}

// remePlaces are the stores: SQLite, and the server if there is one.
func remePlaces(url string) ([]*place, error) {
	places := []*place{{name: "sqlite", open: openSQLite}}
	if url == "" {
		return places, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return append(places, &place{name: "redis", open: func(ctx context.Context) (*bed, error) { return openRedis(ctx, options) }}), nil
}

// compare adds the rows of a pool: plain BM25, and ours, the same in all places.
func (r *remeReport) compare(ctx context.Context, pool *pool, fields remeFields, places []*place) error {
	texts := pool.texts(fields)
	for _, w := range []wording{plainWords, stemmedWords} {
		index := newPlainIndex(texts, w)
		r.add(pool, fields, w.name, pool.score(func(query string) []string { return pool.ids(index.rank(query)) }))
	}
	var first [][]backends.Hit
	for _, p := range places {
		hits, err := p.rankPool(ctx, pool, fields)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if first == nil {
			first = hits
		}
		if err := sameRanking(first, hits); err != nil {
			return fmt.Errorf("%s does not rank as %s does: %w", p.name, places[0].name, err)
		}
		r.Compared += len(hits)
	}
	at := map[string][]string{}
	for i := range pool.tasks {
		at[pool.tasks[i].query] = idsOf(first[i])
	}
	r.add(pool, fields, oursName, pool.score(func(query string) []string { return at[query] }))
	return nil
}

// sameRanking returns the first difference between the hits of two places: ids,
// order, scores.
func sameRanking(a, b [][]backends.Hit) error {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return fmt.Errorf("query %d: %d hits and %d", i, len(a[i]), len(b[i]))
		}
		for j := range a[i] {
			if a[i][j].ID != b[i][j].ID || a[i][j].Score != b[i][j].Score {
				return fmt.Errorf("query %d, place %d: %s with %v and %s with %v", i, j, a[i][j].ID, a[i][j].Score, b[i][j].ID, b[i][j].Score)
			}
		}
	}
	if len(a) != len(b) {
		return errors.New("not as many queries")
	}
	return nil
}
