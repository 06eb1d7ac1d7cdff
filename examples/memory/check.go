// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// check reads everything, prints what is damaged or missing, and fails if there is any.
func check(ctx context.Context, c *call) error {
	read := 0
	note := func(p backends.Partition, found []string, err error) {
		if err != nil {
			found = append(found, err.Error())
		}
		for _, f := range found {
			c.row(finding{p, "", f}, where(p), f)
		}
	}
	if file, ok := c.db.(*sqlitestore.Store); ok {
		found, err := file.Check(ctx)
		note(backends.Partition{Kind: "file"}, found, err)
	}
	err := c.each(ctx, func(p backends.Partition) error {
		found, err := inspect(ctx, c, p)
		note(p, found, err)
		read++
		return nil
	})
	if err == nil && len(c.lines) == 0 {
		c.value = map[string]int{"partitions": read, "findings": 0}
		return nil
	}
	c.head = []string{"WHOSE", "FINDING"}
	if err == nil {
		err = fmt.Errorf("%d findings: reindex rebuilds what a Redis server derives; what is lost comes back from a backup or an export", len(c.lines))
	}
	return err
}

// inspect reads what a partition holds, and has a Redis server check what it derives.
func inspect(ctx context.Context, c *call, p backends.Partition) (found []string, err error) {
	if db, ok := c.db.(*redisstore.Store); ok {
		if found, err = db.Check(ctx, p); err != nil {
			return found, err
		}
	}
	if _, err := c.ranker.All(ctx, p); err != nil {
		return found, err
	}
	sessions, err := c.sessions(ctx, p)
	for _, s := range sessions {
		messages, err := c.messages(ctx, p, s.ID)
		if err != nil {
			return found, err
		}
		if int64(len(messages)) < s.LastSeq {
			found = append(found, fmt.Sprintf("session %q: %d of %d messages are there", s.ID, len(messages), s.LastSeq))
		}
	}
	return found, err
}

// reindex has a Redis server rebuild what it derives, and prints what was wrong.
func reindex(ctx context.Context, c *call) error {
	db, ok := c.db.(*redisstore.Store)
	if !ok {
		return fmt.Errorf("%w: an SQLite file derives nothing that could be rebuilt: see check", backends.ErrInvalid)
	}
	c.head = []string{"WHOSE", "REPAIRED"}
	return c.each(ctx, func(p backends.Partition) error {
		found, err := db.Reindex(ctx, p)
		for _, f := range found {
			c.row(finding{p, "", f}, where(p), f)
		}
		return err
	})
}
