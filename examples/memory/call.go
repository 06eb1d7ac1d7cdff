// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// call is one run of a command.
type call struct {
	*cli.Command // its flags and arguments
	*streams
	answer // what it prints

	db     store.Store
	ranker *recall.Ranker      // finds memories of all kinds, by words
	reme   *reme.Backend       // manages them, and has ReMe's libraries
	whose  *backends.Partition // nil: the whole namespace
}

// carryOut runs a command and prints its answer, which after an error is what there is of it.
func (c command) carryOut(ctx context.Context, x *call) (err error) {
	if x.whose, err = x.named(); err != nil {
		return err
	}
	if c.whose == someone && x.whose == nil {
		return usage("%s: name one by -user, -agent or -workspace", c.name)
	} else if c.whose == all && x.whose != nil {
		return usage("%s is about nobody in particular: leave out -user, -agent and -workspace", c.name)
	}
	at := x.String("store")
	if c.name == "transfer" {
		at = x.Args().First()
	}
	if x.db, err = open(ctx, at, c.name == "import" || c.name == "load"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.db.Close()) }()
	if x.ranker, err = recall.New(ctx, &recall.Config{Records: x.db}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.ranker.Close()) }()
	if x.reme, err = reme.New(ctx, &reme.Config{Store: x.db}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.reme.Close(ctx)) }()
	return errors.Join(c.run(ctx, x), x.print())
}

// open opens a store. A file that does not exist is an error, unless it may be created.
func open(ctx context.Context, at string, create bool) (store.Store, error) {
	if strings.Contains(at, "://") {
		return redisstore.Open(ctx, at, nil)
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) && !create {
		return nil, fmt.Errorf("there is no memory file %q: -store names another, or a server as redis://host:6379", at)
	}
	return sqlitestore.Open(ctx, at, nil)
}

// named returns the partition that the flags name, nil for none.
func (c *call) named() (*backends.Partition, error) {
	var found *backends.Partition
	for _, kind := range []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace} {
		if !c.IsSet(string(kind)) {
			continue
		}
		p, err := scopeOf(backends.Partition{Namespace: c.String("namespace"), Kind: kind, ID: c.String(string(kind))}).Partition(kind)
		if err != nil {
			return nil, usage("-%s: %v", kind, err)
		}
		if found != nil {
			return nil, usage("name one of -user, -agent and -workspace")
		}
		found = &p
	}
	return found, nil
}

// scopeOf returns the scope that names a partition alone.
func scopeOf(p backends.Partition) backends.Scope {
	switch p.Kind {
	case backends.PartitionUser:
		return backends.Scope{Namespace: p.Namespace, UserID: p.ID}
	case backends.PartitionAgent:
		return backends.Scope{Namespace: p.Namespace, AgentID: p.ID}
	}
	return backends.Scope{Namespace: p.Namespace, Workspace: p.ID}
}

// kinds are those that were asked for; none means all.
func (c *call) kinds() (out []backends.Kind) {
	for _, k := range c.StringSlice("kind") {
		out = append(out, backends.Kind(k))
	}
	return out
}

// paged returns all that list returns, page by page.
func paged[T any](list func(store.Page) ([]T, string, error)) (all []T, err error) {
	for page := (store.Page{Limit: 1000}); ; {
		some, next, err := list(page)
		if all = append(all, some...); err != nil || next == "" {
			return all, err
		}
		page.Cursor = next
	}
}

// partitions returns the partition that is named, else all of the namespace.
func (c *call) partitions(ctx context.Context) ([]backends.Partition, error) {
	if c.whose != nil {
		return []backends.Partition{*c.whose}, nil
	}
	return paged(func(page store.Page) ([]backends.Partition, string, error) {
		found, err := c.db.Partitions(ctx, c.String("namespace"), page)
		if err != nil {
			return nil, "", err
		}
		return found.Partitions, found.Next, nil
	})
}

// each calls do for those partitions.
func (c *call) each(ctx context.Context, do func(backends.Partition) error) error {
	all, err := c.partitions(ctx)
	bar := c.bar(len(all))
	defer func() { _ = bar.Exit() }()
	for _, p := range all {
		if err = errors.Join(do(p), ctx.Err()); err != nil {
			break
		}
		_ = bar.Add(1)
	}
	return err
}

// sessions returns the sessions of a partition.
func (c *call) sessions(ctx context.Context, p backends.Partition) ([]store.Session, error) {
	return paged(func(page store.Page) ([]store.Session, string, error) {
		found, err := c.db.List(ctx, store.SessionQuery{Partition: &p, Page: page})
		if err != nil {
			return nil, "", err
		}
		return found.Sessions, found.Next, nil
	})
}

// messages returns the log of a session.
func (c *call) messages(ctx context.Context, p backends.Partition, session string) (all []store.Entry, err error) {
	for after := int64(0); ; after = all[len(all)-1].Seq {
		some, err := c.db.Read(ctx, p, session, store.Range{After: after})
		if all = slices.Concat(all, some); err != nil || len(some) == 0 {
			return all, err
		}
	}
}
