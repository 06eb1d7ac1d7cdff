// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// forget erases all data of an owner, or the part of it that the flags name.
func forget(ctx context.Context, c *call) error {
	if !c.Bool("yes") {
		return usage("nothing was forgotten of %s: see stats, and repeat the command with -yes", where(*c.whose))
	}
	part := &backends.Part{Messages: c.StringSlice("message"), From: c.Timestamp("from"), To: c.Timestamp("to")}
	if c.IsSet("session") {
		id := c.String("session")
		part.Session = &id
	}
	if part.Session == nil && len(part.Messages) == 0 && part.From.IsZero() && part.To.IsZero() {
		part = nil // everything
	}
	receipt, err := store.Forget(ctx, c.db, *c.whose, part)
	if file := c.String("receipt"); file != "" && err == nil {
		var text []byte
		if text, err = json.MarshalIndent(receipt, "", "  "); err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o600)
		}
	}
	return c.print(receipt, err)
}

// compact makes the files of a store smaller.
func compact(ctx context.Context, c *call) error {
	file, ok := c.db.(interface{ Compact(context.Context) error })
	if !ok {
		return usage("compact is for files of SQLite and tables of Postgres: this store has none")
	}
	return c.print(map[string]any{"compacted": c.settings.Store}, file.Compact(ctx))
}

// remove deletes a memory, or erases it with its turn.
func remove(ctx context.Context, c *call) (err error) {
	r := &backends.DeleteRequest{ID: c.Args().First(), Erase: c.Bool("erase")}
	if !c.Bool("yes") {
		return usage("memory %s of %s was not deleted: see show, and repeat the command with -yes", r.ID, where(*c.whose))
	}
	both, facts, err := c.both(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, facts.Close(ctx)) }()
	r.Scope = c.whose.Scope()
	return c.print(map[string]any{"deleted": r.ID, "erased": r.Erase}, both.(backends.Manager).Delete(ctx, r))
}

// rollBack takes back the memories from a session, messages or a source, or lists them.
func rollBack(ctx context.Context, c *call) error {
	r := &backends.RollbackRequest{Messages: c.StringSlice("message"), Source: c.String("source"), Since: c.Timestamp("since"), DryRun: !c.Bool("yes")}
	if c.IsSet("session") {
		id := c.String("session")
		r.Session = &id
	}
	report, err := store.Rollback(ctx, c.db, *c.whose, r, nil)
	if err != nil {
		return err
	}
	for i := range report.Items {
		m := &report.Items[i].Memory
		c.row("WHAT ID TEXT", report.Items[i], string(report.Items[i].Outcome), m.ID, m.Text)
	}
	c.findings("WHOSE CONFLICT", *c.whose, report.Conflicts, nil)
	return c.print(map[string]any{"dry_run": r.DryRun, "memories": len(report.Items), "conflicts": len(report.Conflicts)}, nil)
}

// newFile is the mode of a file to write: it must be new.
const newFile = os.O_CREATE | os.O_EXCL | os.O_WRONLY

// file opens the file that an argument names, and prints the result of use. Only its owner can read
// a new file.
func (c *call) file(argument, mode int, use func(*os.File) (any, error)) error {
	f, err := os.OpenFile(c.Args().Get(argument), mode, 0o600)
	if err != nil {
		return err
	}
	done, err := use(f)
	return c.print(done, errors.Join(err, f.Close()))
}

// export writes all data of an owner.
func export(ctx context.Context, c *call) error {
	return c.file(0, newFile, func(f *os.File) (any, error) { return store.Export(ctx, c.db, *c.whose, f) })
}

// importFile reads the output of export.
func importFile(ctx context.Context, c *call) error {
	o := &store.ImportOptions{Learn: c.Bool("learn"), MaxLine: 1 << 30} // the file is the operator's own
	return c.file(0, os.O_RDONLY, func(f *os.File) (any, error) { return store.Import(ctx, c.db, backends.Partition{}, f, o) })
}

// transfer copies partitions to another store.
func transfer(ctx context.Context, c *call) (err error) {
	to, err := open(ctx, c.Args().Get(1), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return c.each(ctx, func(p backends.Partition) error {
		n, err := store.Transfer(ctx, c.db, to, p)
		if err == nil {
			c.row("WHOSE MEMORIES SESSIONS MESSAGES BLOBS", map[string]any{"partition": p, "copied": n},
				where(p), n.Records, n.Sessions, n.Messages, n.Blobs)
		}
		return err
	})
}

// retain erases memories beyond a rule, or lists them in a dry run.
func retain(ctx context.Context, c *call) error {
	if c.Bool("dry-run") == c.Bool("yes") {
		return usage("retain: either -dry-run, or -yes to erase")
	}
	days := func(flag string) time.Duration { return time.Duration(c.Int(flag)) * 24 * time.Hour }
	if c.Int("older-than")+c.Int("ended-for")+c.Int("unused-for")+c.Int("at-most") == 0 {
		return usage("retain: name a rule by -older-than, -ended-for, -unused-for or -at-most")
	}
	rules := &backends.Retention{Every: -1, Rules: []backends.RetentionRule{{
		Kinds: c.kinds(), OlderThan: days("older-than"), EndedFor: days("ended-for"), UnusedFor: days("unused-for"), AtMost: c.Int("at-most"),
	}}}
	b, err := reme.New(ctx, &reme.Config{Store: c.db, Retention: rules})
	if err != nil {
		return err
	}
	bar := c.bar(-1)
	defer func() { _ = bar.Exit() }()
	report, err := b.Retain(ctx, &backends.RetainRequest{
		Namespace: c.String("namespace"), DryRun: c.Bool("dry-run"), Progress: func(backends.Partition, *backends.RetainReport) { _ = bar.Add(1) },
	})
	return c.print(report, errors.Join(err, b.Close(ctx)))
}

// check reads everything, prints damaged and missing parts, and fails if there are any.
func check(ctx context.Context, c *call) error {
	count := 0
	if db, ok := c.db.(interface {
		Check(context.Context) ([]string, error)
	}); ok {
		found, err := db.Check(ctx)
		count += c.findings("WHOSE FINDING", backends.Partition{Kind: "file"}, found, err)
	}
	err := c.each(ctx, func(p backends.Partition) error {
		found, err := inspect(ctx, c, p)
		count += c.findings("WHOSE FINDING", p, found, err)
		return nil
	})
	if err == nil && count > 0 {
		err = fmt.Errorf("%d findings: reindex rebuilds the derived data of a Redis server; lost memories come back from a backup or an export", count)
	}
	return c.print(map[string]int{"findings": 0}, err)
}

// findings prints the findings in a partition, an error among them, and returns their number.
func (c *call) findings(heads string, p backends.Partition, found []string, err error) int {
	if err != nil {
		found = append(found, err.Error())
	}
	for _, f := range found {
		c.row(heads, finding{p, "", f}, where(p), f)
	}
	return len(found)
}

// inspect reads the data of a partition, and lets a Redis server check its derived data.
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
		messages, failed := c.messages(ctx, p, s.ID)
		if failed == nil && int64(len(messages)) < s.LastSeq {
			failed = fmt.Errorf("session %q: %d of %d messages are there", s.ID, len(messages), s.LastSeq)
		}
		err = errors.Join(err, failed)
	}
	return found, err
}

// reindex lets a Redis server rebuild its derived data, and prints the errors in it.
func reindex(ctx context.Context, c *call) error {
	db, ok := c.db.(*redisstore.Store)
	if !ok {
		return fmt.Errorf("%w: an SQLite file derives nothing that could be rebuilt, nor does Postgres: see check", backends.ErrInvalid)
	}
	return c.each(ctx, func(p backends.Partition) error {
		found, err := db.Reindex(ctx, p)
		c.findings("WHOSE REPAIRED", p, found, nil)
		return err
	})
}

// workspace returns the scope of the workspace that an argument names.
func (c *call) workspace(argument int) backends.Scope {
	return backends.Scope{Namespace: c.String("namespace"), Workspace: c.Args().Get(argument)}
}

func loadLibrary(ctx context.Context, c *call) error {
	r := &reme.LoadRequest{Scope: c.workspace(0), Merge: c.Bool("merge")}
	return c.file(1, os.O_RDONLY, func(f *os.File) (any, error) { return c.reme.Library().Load(ctx, r, f) })
}

func dumpLibrary(ctx context.Context, c *call) error {
	r := &reme.DumpRequest{Scope: c.workspace(0)}
	return c.file(1, newFile, func(f *os.File) (any, error) { return c.reme.Library().Dump(ctx, r, f) })
}

func copyLibrary(ctx context.Context, c *call) error {
	return c.print(c.reme.Library().Copy(ctx, &reme.CopyRequest{From: c.workspace(0), To: c.workspace(1), Merge: c.Bool("merge")}))
}
