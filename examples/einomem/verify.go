// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// verifyFlags are the flags of the command verify.
func verifyFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "receipt", Usage: "the receipt of their forgetting, in this `FILE`"},
		&cli.StringSliceFlag{Name: "marker", Usage: "look for this `TEXT`, too; may be repeated"},
		&cli.StringFlag{Name: "markers", Usage: "look for each line of this `FILE`, too"},
		&cli.StringSliceFlag{Name: "folder", Usage: "look in the files of this `FOLDER`, too, such as that of a server; may be repeated"},
	}
}

// verify prints the traces of a forgotten person. c.traces has the result of the scan before the
// opening of the store: see carryOut.
func verify(ctx context.Context, c *call) error {
	n, err := store.Export(ctx, c.db, *c.whose, io.Discard)
	if err != nil {
		return err
	}
	if held := n.Records + n.Deleted + n.Sessions + n.Messages + n.Blobs; held > 0 {
		c.traces["store: "+where(*c.whose)] = held
	}
	for _, at := range slices.Sorted(maps.Keys(c.traces)) {
		c.row("WHERE FOUND", map[string]any{"where": at, "found": c.traces[at]}, at, c.traces[at])
	}
	if len(c.traces) > 0 {
		return negative{fmt.Errorf("something is left of %s, in %d places", where(*c.whose), len(c.traces))}
	}
	c.row("WHOSE RESULT OUTSIDE", map[string]any{"partition": c.whose, "clean": true, "outside": c.outside}, where(*c.whose), "clean", strings.Join(c.outside, "; "))
	return nil
}

// scan looks for a person in the raw bytes of the store and of folders. It runs before the opening
// of the store, which may move bytes.
func (c *call) scan(ctx context.Context, at string) error {
	c.traces = map[string]int{}
	words, err := c.markers()
	if err != nil {
		return err
	}
	if scheme, _, isURL := strings.Cut(at, "://"); isURL && isPostgres(scheme) {
		err = c.scanPostgres(ctx, at, words)
	} else if isURL {
		err = c.scanRedis(ctx, at, words)
	} else {
		for _, file := range []string{at, at + "-wal", at + "-journal"} {
			if err = c.scanFile(file, words); errors.Is(err, fs.ErrNotExist) && file != at {
				err = nil
			} else if err != nil {
				return err
			}
		}
	}
	for _, folder := range c.StringSlice("folder") {
		err = errors.Join(err, filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if strings.HasPrefix(d.Name(), c.whose.ID+".jsonl") && (c.whose.Kind == backends.PartitionUser) == strings.Contains(d.Name(), ".user") {
				c.traces[file]++
			}
			return c.scanFile(file, words)
		}))
	}
	return err
}

// markers are the texts to look for: the person's id as JSON has it, and the texts of the flags,
// raw and as JSON has them.
func (c *call) markers() ([][]byte, error) {
	quoted := func(s string) []byte {
		b, _ := json.Marshal(s) // a text is JSON
		return b
	}
	words, texts := [][]byte{quoted(c.whose.ID)}, c.StringSlice("marker")
	if file := c.String("markers"); file != "" {
		lines, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.Split(string(lines), "\n")...)
	}
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			words = append(words, []byte(text), bytes.Trim(quoted(text), `"`))
		}
	}
	if file := c.String("receipt"); file != "" {
		var r backends.Receipt
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("the receipt: %w", err)
		}
		if r.Partition != *c.whose {
			return nil, usage("the receipt is of %s, and not of %s", where(r.Partition), where(*c.whose))
		}
		c.outside = r.Outside
	}
	return words, nil
}

// note counts the words in the text of a place.
func (c *call) note(at string, text []byte, words [][]byte) {
	seen := map[string]bool{}
	for _, word := range words {
		if n := bytes.Count(text, word); n > 0 && !seen[string(word)] {
			c.traces[at] += n
		}
		seen[string(word)] = true
	}
}

// scanFile reads a file as it is on the disk.
func (c *call) scanFile(file string, words [][]byte) error {
	text, err := os.ReadFile(file)
	c.note(file, text, words)
	return err
}

// scanRedis reads all keys of a server and their values. The key with the time of somebody's
// forgetting has only their name.
func (c *call) scanRedis(ctx context.Context, at string, words [][]byte) error {
	o, err := redis.ParseURL(at)
	if err != nil {
		return usage("verify: -store: %v", err)
	}
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }()
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		var held any
		var err error
		switch key := keys.Val(); client.Type(ctx, key).Val() {
		case "string":
			held, err = client.Get(ctx, key).Result()
		case "hash":
			held, err = client.HGetAll(ctx, key).Result()
		case "list":
			held, err = client.LRange(ctx, key, 0, -1).Result()
		case "set":
			held, err = client.SMembers(ctx, key).Result()
		case "zset":
			held, err = client.ZRange(ctx, key, 0, -1).Result()
		}
		if err != nil && !errors.Is(err, redis.Nil) { // it went meanwhile
			return err
		}
		c.note("key "+keys.Val(), []byte(fmt.Sprint(keys.Val(), " ", held)), words)
	}
	return keys.Err()
}

// scanPostgres reads every row of every table. The row with the time of somebody's forgetting has
// only their name. For bytes of deleted rows name the server's folder with -folder.
func (c *call) scanPostgres(ctx context.Context, at string, words [][]byte) error {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `SELECT set_config('einomem.partition', '*', false)`); err != nil { // row security may be on
		return err
	}
	found, err := conn.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'einomem' ORDER BY 1`)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	for _, table := range tables {
		if err == nil {
			err = c.scanTable(ctx, conn, table, words)
		}
	}
	return err
}

func (c *call) scanTable(ctx context.Context, conn *pgx.Conn, table string, words [][]byte) error {
	rows, err := conn.Query(ctx, `SELECT * FROM einomem.`+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}
		for _, v := range values {
			if text, ok := v.([]byte); ok {
				c.note("table "+table, text, words)
			} else {
				c.note("table "+table, []byte(fmt.Sprint(v)), words)
			}
		}
	}
	return rows.Err()
}
