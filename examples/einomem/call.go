// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/toolkit/server/rest"
)

// command is a command of the program.
type command struct {
	name, args, usage string // an argument in brackets is optional
	whose             whom
	effect            effect
	run               func(context.Context, *call) error
	flags             []cli.Flag
}

// whom says whether a command takes one user, agent or workspace.
type whom int

const (
	all     whom = iota // the namespace alone
	anyone              // the namespace, or a named one
	someone             // a named one
	apart               // the command opens by itself what it needs
)

// effect is what a command does. All but the ones that only read take -yes.
type effect int

const (
	reads  effect = iota
	acts          // at once: it adds, edits the memory that it names, or writes a new file
	asks          // without -yes the command lists by itself what it would do
	copies        // without -yes it runs on a copy in memory
)

// call is one run of a command.
type call struct {
	*cli.Command // its flags and arguments
	output

	settings *settings
	scope    backends.Scope      // names only the owner
	whose    *backends.Partition // nil: the whole namespace

	db    store.Store
	usage *rest.Usage
	*parts

	traces  map[string]int // of verify, by their places
	outside []string       // of the receipt of verify
}

// carryOut runs a command on the store that the command line names.
func (c command) carryOut(ctx context.Context, x *call) (err error) {
	if x.settings, err = load(x.String("config"), x.String("listen"), x.String("store"), x.String("key-file")); err != nil {
		return err
	}
	x.begin(x.Command, (c.effect == asks || c.effect == copies) && !x.Bool("yes"), c.whose != apart)
	defer func() { err = errors.Join(err, x.end(err)) }()
	if c.whose == apart {
		x.scope = x.names()
		return c.run(ctx, x)
	}
	if err := x.name(c); err != nil {
		return err
	}
	at := x.settings.Store
	if c.name == "transfer" {
		at = x.Args().First()
	}
	if c.name == "verify" {
		if err := x.scan(ctx, at); err != nil {
			return err
		}
	}
	if x.db, err = open(ctx, at, slices.Contains([]string{"import", "bring", "load", "add"}, c.name)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.db.Close()) }()
	if c.effect == copies && x.dry {
		if err = x.copy(ctx, c); err != nil {
			return err
		}
	}
	if x.settings.Retention != nil {
		x.settings.Retention.Every = -1 // a command sweeps nothing by the way
	}
	x.usage = x.settings.counting(x.db, nil)
	defer func() { err = errors.Join(err, x.usage.Close(ctx)) }()
	if x.parts, err = x.settings.parts(ctx, x.db); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close(ctx)) }()
	if err = c.run(ctx, x); err == nil && x.whose != nil && !x.printed {
		fmt.Fprintf(x.err, "there is nothing to show of %s: einomem list shows whom the store knows\n", where(*x.whose))
	}
	return err
}

// names is the scope of the flags.
func (c *call) names() backends.Scope {
	return backends.Scope{Namespace: c.String("namespace"), UserID: c.String("user"), AgentID: c.String("agent"), Workspace: c.String("workspace")}
}

// name reads the owner of the memories from the flags, if they name one as the command wants.
func (c *call) name(of command) (err error) {
	c.scope = c.names()
	for _, kind := range []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace} {
		if !c.IsSet(string(kind)) {
			continue
		}
		if c.whose != nil {
			return usage("name one of -user, -agent and -workspace")
		}
		p, err := c.scope.Partition(kind)
		if err != nil {
			return usage("-%s: %v", kind, err)
		}
		c.whose = &p
	}
	if of.whose == someone && c.whose == nil {
		return usage("%s: name one by -user, -agent or -workspace; einomem list shows all", of.name)
	} else if of.whose == all && c.whose != nil {
		return usage("%s is about nobody in particular: leave out -user, -agent and -workspace", of.name)
	}
	return nil
}

// copy replaces the store by a copy in memory of the partitions that the command line names.
func (c *call) copy(ctx context.Context, of command) error {
	var named []backends.Partition
	if c.whose != nil {
		named = append(named, *c.whose)
	}
	for i, argument := range strings.Fields(of.args) {
		if argument == "WORKSPACE" || argument == "FROM" || argument == "TO" {
			named = append(named, backends.Partition{Namespace: c.String("namespace"), Kind: backends.PartitionWorkspace, ID: c.Args().Get(i)})
		}
	}
	scratch, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	for _, p := range named {
		if err == nil {
			_, err = store.Transfer(ctx, c.db, scratch, p)
		}
	}
	if scratch != nil {
		err = errors.Join(err, c.db.Close())
		c.db = scratch
	}
	return err
}

// id returns the whole id of the memory that the first argument names. It may be the end of an id,
// as notes show it.
func (c *call) id(ctx context.Context) (string, error) {
	shown, found := c.Args().First(), []string{}
	if records, err := c.db.Get(ctx, *c.whose, shown); err != nil || len(records) > 0 || !note.IsShort(shown) {
		return shown, err
	}
	memories, err := c.ranker.All(ctx, *c.whose)
	for _, m := range memories {
		if note.Shows(shown, m.ID) {
			found = append(found, m.ID)
		}
	}
	switch {
	case err != nil || len(found) == 0: // a deleted memory still has its history
		return shown, err
	case len(found) > 1:
		return "", fmt.Errorf("memory %s of %s: %w: several ids end so: %s", shown, where(*c.whose), backends.ErrInvalid, strings.Join(found, ", "))
	}
	return found[0], nil
}

// kinds returns the requested kinds; an empty list means all.
func (c *call) kinds() (out []backends.Kind) {
	for _, k := range c.StringSlice("kind") {
		out = append(out, backends.Kind(k))
	}
	return out
}

// partitions returns the named partition, else all of the namespace.
func (c *call) partitions(ctx context.Context) (out []backends.Partition, err error) {
	if c.whose != nil {
		return []backends.Partition{*c.whose}, nil
	}
	err = store.Each(func(page store.Page) (*store.PartitionPage, error) {
		return c.db.Partitions(ctx, c.String("namespace"), page)
	}, func(p backends.Partition) error { out = append(out, p); return nil })
	return out, err
}

// each calls do for the named partition, else for all of the namespace.
func (c *call) each(ctx context.Context, do func(backends.Partition) error) error {
	all, err := c.partitions(ctx)
	if err != nil {
		return err
	}
	c.progress.ChangeMax(max(1, len(all)))
	for _, p := range all {
		if err := errors.Join(do(p), ctx.Err()); err != nil {
			return err
		}
		_ = c.progress.Add(1)
	}
	return nil
}
