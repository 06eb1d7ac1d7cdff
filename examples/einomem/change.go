// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
)

// forget erases all data of an owner, or the part of it that the flags name.
func forget(ctx context.Context, c *call) error {
	part := &backends.Part{Session: c.session(), Messages: c.StringSlice("message"), From: c.Timestamp("from"), To: c.Timestamp("to")}
	if part.Session == nil && len(part.Messages) == 0 && part.From.IsZero() && part.To.IsZero() {
		part = nil // everything
	}
	receipt, err := store.Forget(ctx, c.db, *c.whose, part)
	if c.dry && err == nil { // these are about the copy
		receipt.Checked, receipt.Outside = nil, nil
	} else if file := c.String("receipt"); file != "" && err == nil {
		var text []byte
		if text, err = json.MarshalIndent(receipt, "", "  "); err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o600)
		}
	}
	return c.print(receipt, err)
}

// session is the session that a flag names, or nil.
func (c *call) session() *string {
	if !c.IsSet("session") {
		return nil
	}
	id := c.String("session")
	return &id
}

// compact makes the files of a store smaller.
func compact(ctx context.Context, c *call) (err error) {
	file, ok := c.db.(interface{ Compact(context.Context) error })
	if !ok {
		return usage("compact is for files of SQLite and tables of Postgres: this store has none")
	}
	if !c.dry {
		err = file.Compact(ctx)
	}
	return c.print(map[string]any{"compacted": where(backends.Partition{Kind: "store", ID: c.settings.Store})}, err)
}

// remove deletes a memory, or erases it with its turn.
func remove(ctx context.Context, c *call) (err error) {
	r := &backends.DeleteRequest{Scope: c.whose.Scope(), Erase: c.Bool("erase")}
	if r.ID, err = c.id(ctx); err != nil {
		return err
	}
	m, err := c.memory(ctx, r.ID)
	if err == nil {
		err = c.manager().Delete(ctx, r)
	}
	return c.print(map[string]any{"deleted": r.ID, "erased": r.Erase, "text": m.Text}, err)
}

// manager changes single memories, facts and experience.
func (c *call) manager() backends.Manager { return c.Backend.(backends.Manager) }

// add adds a fact by hand.
func add(ctx context.Context, c *call) error {
	if c.whose.Kind == backends.PartitionWorkspace {
		return usage("add is for users and agents: a workspace learns from work, and from library load")
	}
	item, err := c.facts.Remember(ctx, c.whose.Scope(), c.Args().First(), func(r *backends.AddRequest) { r.Expires = c.Timestamp("expires") })
	if err != nil {
		return err
	}
	if c.IsSet("standing") || c.IsSet("delicate") {
		return c.update(ctx, &backends.UpdateRequest{ID: item.Memory.ID})
	}
	return c.print(&item.Memory, nil)
}

// edit changes a memory in place.
func edit(ctx context.Context, c *call) (err error) {
	r := &backends.UpdateRequest{}
	if r.ID, err = c.id(ctx); err != nil {
		return err
	}
	if c.NArg() > 1 {
		text := c.Args().Get(1)
		r.Text = &text
	}
	if c.IsSet("expires") {
		expires := c.Timestamp("expires")
		r.Expires = &expires
	}
	return c.update(ctx, r)
}

// update changes a memory as r and the flags say, and prints it.
func (c *call) update(ctx context.Context, r *backends.UpdateRequest) error {
	flag := func(name string) *bool {
		if on := c.Bool(name); c.IsSet(name) {
			return &on
		}
		return nil
	}
	r.Scope, r.Standing, r.Delicate = c.whose.Scope(), flag("standing"), flag("delicate")
	if r.Text == nil && r.Expires == nil && r.Standing == nil && r.Delicate == nil {
		return usage("edit: give a new text, or -standing, -delicate or -expires")
	}
	m, err := c.manager().Update(ctx, r)
	return c.print(m, err)
}

// undo takes back a plan of reflect, the last edit of a memory, or what a session, messages or a
// source taught.
func undo(ctx context.Context, c *call) error {
	if c.NArg() == 0 {
		return rollBack(ctx, c)
	}
	r, err := c.reflector()
	if err != nil {
		return err
	}
	done, err := r.Undo(ctx, c.whose.Scope(), c.Args().First(), false)
	if !errors.Is(err, backends.ErrNotFound) {
		return c.print(done, err)
	}
	id, err := c.id(ctx)
	if err != nil {
		return err
	}
	events, err := c.work.History(ctx, &backends.HistoryRequest{Scope: c.whose.Scope(), ID: id})
	if err != nil {
		return fmt.Errorf("%w: undo takes back a plan of reflect or an edit of a memory, by its ID", err)
	}
	last := backends.Event{}
	for _, e := range events {
		if e.MemoryID == id {
			last = e
		}
	}
	if last.Type != backends.OutcomeUpdated || last.Old == last.New {
		return fmt.Errorf("memory %s was %s last, which undo takes back only for an edit; its text was %q, and add adds it again", id, last.Type, cmp.Or(last.Old, last.New))
	}
	m, err := c.manager().Update(ctx, &backends.UpdateRequest{Scope: c.whose.Scope(), ID: id, Text: &last.Old})
	return c.print(m, err)
}

// rollBack takes back the memories from a session, messages or a source.
func rollBack(ctx context.Context, c *call) error {
	r := &backends.RollbackRequest{Session: c.session(), Messages: c.StringSlice("message"), Source: c.String("source"), Since: c.Timestamp("since")}
	report, err := store.Rollback(ctx, c.db, *c.whose, r, nil)
	if err != nil {
		return fmt.Errorf("%w; undo ID takes back a plan or an edit", err)
	}
	for i := range report.Items {
		m := &report.Items[i].Memory
		c.row("WHAT ID TEXT", report.Items[i], string(report.Items[i].Outcome), m.ID, m.Text)
	}
	c.findings("WHOSE CONFLICT", *c.whose, report.Conflicts, nil)
	return c.print(map[string]any{"memories": len(report.Items), "conflicts": len(report.Conflicts)}, nil)
}

// newFile is the mode of a file to write: it must be new.
const newFile = os.O_CREATE | os.O_EXCL | os.O_WRONLY

// file opens the file that an argument names, and prints the result of use. Only its owner can read
// a new file.
func (c *call) file(argument, mode int, use func(*os.File) (any, error)) error {
	f, err := os.OpenFile(c.Args().Get(argument), mode, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: name a new one", err)
	}
	if err != nil {
		return err
	}
	done, err := use(f)
	if err = errors.Join(err, f.Close()); err != nil && mode == newFile {
		err = errors.Join(err, os.Remove(f.Name())) // a part is of no use
	}
	return c.print(done, err)
}

// export writes all data of an owner, who has some.
func export(ctx context.Context, c *call) error {
	return c.file(0, newFile, func(f *os.File) (any, error) {
		n, err := store.Export(ctx, c.db, *c.whose, io.MultiWriter(f, c.progress)) // of bytes
		if err == nil && n == (store.TransferCount{Partitions: 1}) {
			err = fmt.Errorf("nothing is held of %s: einomem list shows whom the store knows", where(*c.whose))
		}
		return n, err
	})
}

// importFile reads the output of export.
func importFile(ctx context.Context, c *call) error {
	o := &store.ImportOptions{Learn: c.Bool("learn"), MaxLine: 1 << 30} // the file is the operator's own
	return c.file(0, os.O_RDONLY, func(f *os.File) (any, error) {
		if info, err := f.Stat(); err == nil && info.Size() > 0 {
			c.progress.ChangeMax64(info.Size())
		}
		return store.Import(ctx, c.db, backends.Partition{}, io.TeeReader(f, c.progress), o)
	})
}

// transfer copies partitions to another store.
func transfer(ctx context.Context, c *call) (err error) {
	at := c.Args().Get(1)
	if c.dry {
		at = sqlitestore.Memory
	}
	to, err := open(ctx, at, true)
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

// retain erases memories beyond the rule of the flags, else beyond those of the settings.
func retain(ctx context.Context, c *call) error {
	days := func(flag string) time.Duration { return time.Duration(c.Int(flag)) * 24 * time.Hour }
	rules := c.settings.Retention
	if c.Int("older-than")+c.Int("ended-for")+c.Int("unused-for")+c.Int("at-most") != 0 {
		rules = &backends.Retention{Every: -1, Rules: []backends.RetentionRule{{
			Kinds: c.kinds(), OlderThan: days("older-than"), EndedFor: days("ended-for"), UnusedFor: days("unused-for"), AtMost: c.Int("at-most"),
		}}}
	}
	if rules == nil {
		return usage("retain: name a rule by -older-than, -ended-for, -unused-for or -at-most, or rules by retention in the file of -config")
	}
	b, err := reme.New(ctx, &reme.Config{Store: c.db, Retention: rules, NoPersonal: true})
	if err != nil {
		return err
	}
	report, err := b.Retain(ctx, &backends.RetainRequest{
		Namespace: c.String("namespace"), DryRun: c.dry, Progress: func(backends.Partition, *backends.RetainReport) { _ = c.progress.Add(1) },
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
		err = negative{fmt.Errorf("%d findings: reindex rebuilds the derived data of a Redis server; lost memories come back from a backup or an export", count)}
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

// reembed gives all memories vectors of the embedder that the environment names.
func reembed(ctx context.Context, c *call) error {
	if c.embedder == "" {
		return fmt.Errorf("%w: reembed needs an embedder: set OPENAI_API_KEY and OPENAI_EMBEDDING_MODEL", backends.ErrInvalid)
	}
	return c.each(ctx, func(p backends.Partition) error {
		records, space, err := store.All(ctx, c.db, p, nil)
		lacking := len(records)
		for _, r := range records {
			if space != nil && space.Model == c.embedder && len(r.Vector) > 0 {
				lacking--
			}
		}
		if err == nil && !c.dry && lacking > 0 {
			_, err = c.ranker.Reembed(ctx, p)
		}
		c.row("WHOSE MEMORIES EMBEDDED", map[string]any{"partition": p, "memories": len(records), "embedded": lacking}, where(p), len(records), lacking)
		return err
	})
}

// retry learns from what could not be learnt from.
func retry(ctx context.Context, c *call) error {
	var scopes []backends.Scope
	err := c.each(ctx, func(p backends.Partition) error {
		sessions, err := c.sessions(ctx, p)
		for _, s := range sessions {
			for _, f := range s.Failures {
				c.row("WHOSE SESSION FROM UPTO ATTEMPTS REASON", map[string]any{"partition": p, "session": s.ID, "failure": f}, where(p), s.ID, f.From, f.Upto, f.Attempts, f.Reason)
			}
			if len(s.Failures) > 0 {
				scope := p.Scope()
				scope.SessionID = s.ID
				scopes = append(scopes, scope)
			}
		}
		return err
	})
	if err != nil || c.dry || len(scopes) == 0 {
		return err
	}
	learning := c.settings.Learning
	learning.Sessions, learning.Backend, learning.Sweep = c.db, c.Backend, -1
	log, err := working.New(ctx, &learning)
	if err != nil {
		return err
	}
	err = log.RetryFailures(ctx, scopes...)
	return c.print(map[string]any{"sessions": len(scopes)}, errors.Join(err, log.Close(ctx)))
}

// reindex lets a Redis server rebuild its derived data, and prints the errors in it.
func reindex(ctx context.Context, c *call) error {
	db, ok := c.db.(*redisstore.Store)
	if !ok {
		return fmt.Errorf("%w: an SQLite file derives nothing that could be rebuilt, nor does Postgres: see check", backends.ErrInvalid)
	}
	return c.each(ctx, func(p backends.Partition) error {
		heads, work := "WHOSE REPAIRED", db.Reindex
		if c.dry {
			heads, work = "WHOSE FINDING", db.Check
		}
		found, err := work(ctx, p)
		c.findings(heads, p, found, nil)
		return err
	})
}

// workspace returns the scope of the workspace that an argument names.
func (c *call) workspace(argument int) backends.Scope {
	return backends.Scope{Namespace: c.String("namespace"), Workspace: c.Args().Get(argument)}
}

func loadLibrary(ctx context.Context, c *call) error {
	r := &reme.LoadRequest{Scope: c.workspace(0), Merge: c.Bool("merge")}
	return c.file(1, os.O_RDONLY, func(f *os.File) (any, error) { return c.work.Library().Load(ctx, r, f) })
}

func dumpLibrary(ctx context.Context, c *call) error {
	r := &reme.DumpRequest{Scope: c.workspace(0)}
	return c.file(1, newFile, func(f *os.File) (any, error) { return c.work.Library().Dump(ctx, r, f) })
}

func copyLibrary(ctx context.Context, c *call) error {
	return c.print(c.work.Library().Copy(ctx, &reme.CopyRequest{From: c.workspace(0), To: c.workspace(1), Merge: c.Bool("merge")}))
}
