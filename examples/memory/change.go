// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
)

// forget erases what is held of one, or a part of it.
func forget(ctx context.Context, c *call) error {
	part, err := c.part()
	if err != nil {
		return err
	}
	if !c.Bool("yes") {
		n, err := store.Export(ctx, c.db, *c.whose, io.Discard)
		if err != nil {
			return err
		}
		return usage("nothing was forgotten. In all there are %d memories and %d messages of %s; repeat the command with -yes to erase them, or the part that it names",
			n.Records, n.Messages, where(*c.whose))
	}
	receipt, err := store.Forget(ctx, c.db, *c.whose, part)
	return set(&c.answer, receipt, err)
}

// part returns the part that the flags name, nil for everything.
func (c *call) part() (*backends.Part, error) {
	p := &backends.Part{Messages: c.StringSlice("message"), From: c.Timestamp("from"), To: c.Timestamp("to")}
	if c.IsSet("session") {
		id := c.String("session")
		p.Session = &id
	}
	some := c.IsSet("message") || c.IsSet("from") || c.IsSet("to")
	switch {
	case c.IsSet("message") && p.Session == nil:
		return nil, usage("-message: name its -session")
	case p.Session == nil && !some:
		return nil, nil
	case c.whose.Kind != backends.PartitionUser:
		return nil, usage("a part can be forgotten of a -user alone")
	}
	return p, nil
}

// export writes what is held of one; what goes to the output ends with its counts.
func export(ctx context.Context, c *call) error {
	return c.write(c.Args().First(), func(w io.Writer) error {
		n, err := store.Export(ctx, c.db, *c.whose, w)
		if w != c.out {
			c.value = n
		}
		return err
	})
}

// importFile reads what export wrote.
func importFile(ctx context.Context, c *call) error {
	return c.read(c.Args().First(), func(r io.Reader) error {
		n, err := store.Import(ctx, c.db, r)
		return set(&c.answer, &n, err)
	})
}

// transfer copies partitions to another store.
func transfer(ctx context.Context, c *call) (err error) {
	to, err := open(ctx, c.Args().Get(1), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	c.head = []string{"WHOSE", "MEMORIES", "SESSIONS", "MESSAGES", "BLOBS"}
	return c.each(ctx, func(p backends.Partition) error {
		n, err := store.Transfer(ctx, c.db, to, &store.TransferOptions{Partitions: []backends.Partition{p}})
		if err == nil {
			c.row(map[string]any{"partition": p, "copied": n}, where(p), n.Records, n.Sessions, n.Messages, n.Blobs)
		}
		return err
	})
}

// retain erases what a rule does not keep, or in a dry run says what that is.
func retain(ctx context.Context, c *call) error {
	if c.Bool("dry-run") == c.Bool("yes") {
		return usage("retain: either -dry-run, or -yes to erase")
	}
	days := func(flag string) time.Duration { return time.Duration(c.Int(flag)) * 24 * time.Hour }
	rules := &backends.Retention{Sessions: days("sessions"), Every: -1}
	if c.IsSet("older-than") || c.IsSet("ended-for") || c.IsSet("unused-for") || c.IsSet("at-most") {
		rules.Rules = []backends.RetentionRule{{
			Kinds: c.kinds(), OlderThan: days("older-than"), EndedFor: days("ended-for"), UnusedFor: days("unused-for"), AtMost: c.Int("at-most"),
		}}
	} else if !c.IsSet("sessions") {
		return usage("retain: name a rule by -older-than, -ended-for, -unused-for, -at-most or -sessions")
	}
	all, err := c.partitions(ctx)
	if err != nil {
		return err
	}
	b, err := reme.New(ctx, &reme.Config{Store: c.db, Retention: rules})
	if err != nil {
		return err
	}
	bar := c.bar(len(all))
	defer func() { _ = bar.Exit() }()
	report, err := b.Retain(ctx, &backends.RetainRequest{
		Namespace: c.String("namespace"), DryRun: c.Bool("dry-run"), Progress: func(backends.Partition, *backends.RetainReport) { _ = bar.Add(1) },
	})
	return errors.Join(set(&c.answer, report, err), b.Close(ctx))
}
