// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// call is one run of a command.
type call struct {
	*cli.Command // its flags and arguments

	settings *settings

	scope backends.Scope      // names only the owner
	whose *backends.Partition // nil: the whole namespace

	db     store.Store
	ranker *recall.Ranker // finds memories of all kinds, by words
	reme   *reme.Backend  // has their histories, and ReMe's libraries

	traces  map[string]int // of verify, by their places
	outside []string       // of the receipt of verify

	out   *bufio.Writer // keeps the error of a write until the flush
	table *tabwriter.Writer
	rows  int // of the table
}

// carryOut runs a command on the store that the command line names.
func (c command) carryOut(ctx context.Context, x *call) (err error) {
	if x.settings, err = load(x.String("config"), x.String("listen"), x.String("store")); err != nil {
		return err
	}
	if c.whose == apart {
		x.scope = x.names()
		return c.run(ctx, x)
	}
	if err := x.name(); err != nil {
		return err
	}
	if c.whose == someone && x.whose == nil {
		return usage("%s: name one by -user, -agent or -workspace", c.name)
	} else if c.whose == all && x.whose != nil {
		return usage("%s is about nobody in particular: leave out -user, -agent and -workspace", c.name)
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
	x.out = bufio.NewWriter(x.Root().Writer)
	x.table = tabwriter.NewWriter(x.out, 0, 0, 2, ' ', 0)
	return errors.Join(c.run(ctx, x), x.table.Flush(), x.out.Flush())
}

// names is the scope of the flags.
func (c *call) names() backends.Scope {
	return backends.Scope{Namespace: c.String("namespace"), UserID: c.String("user"), AgentID: c.String("agent"), Workspace: c.String("workspace")}
}

// name reads the owner of the memories from the flags, if they name one.
func (c *call) name() (err error) {
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
	return nil
}

// open opens a store. A missing file is an error, unless create is set.
func open(ctx context.Context, at string, create bool) (store.Store, error) {
	switch scheme, _, isURL := strings.Cut(at, "://"); {
	case isURL && isPostgres(scheme):
		return pgstore.Open(ctx, at, nil)
	case isURL:
		return redisstore.Open(ctx, at, nil)
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) && !create {
		return nil, fmt.Errorf("there is no memory file %q: -store names another, or a server as redis://host:6379 or postgres://host/database", at)
	}
	return sqlitestore.Open(ctx, at, nil)
}

func isPostgres(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// kinds returns the requested kinds; an empty list means all.
func (c *call) kinds() (out []backends.Kind) {
	for _, k := range c.StringSlice("kind") {
		out = append(out, backends.Kind(k))
	}
	return out
}

// each calls do for the named partition, else for all of the namespace.
func (c *call) each(ctx context.Context, do func(backends.Partition) error) error {
	all := []backends.Partition{}
	if c.whose != nil {
		all = append(all, *c.whose)
	}
	for page, more := (store.Page{Limit: 1000}), c.whose == nil; more; more = page.Cursor != "" {
		found, err := c.db.Partitions(ctx, c.String("namespace"), page)
		if err != nil {
			return err
		}
		all, page.Cursor = append(all, found.Partitions...), found.Next
	}
	bar := c.bar(len(all))
	defer func() { _ = bar.Exit() }()
	for _, p := range all {
		if err := errors.Join(do(p), ctx.Err()); err != nil {
			return err
		}
		_ = bar.Add(1)
	}
	return nil
}

// bar shows the progress of long work on a terminal; total is -1 if unknown.
func (c *call) bar(total int) *progressbar.ProgressBar {
	f, ok := c.Root().ErrWriter.(*os.File)
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(c.Root().ErrWriter), progressbar.OptionSetDescription(c.Name),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetVisibility(ok && term.IsTerminal(int(f.Fd()))))
}

// print prints one value as JSON.
func (c *call) print(value any, err error) error {
	if err != nil {
		return err
	}
	e := json.NewEncoder(c.out)
	if e.SetEscapeHTML(false); !c.Bool("json") {
		e.SetIndent("", "  ")
	}
	return e.Encode(value)
}

// row prints a line of a table: the value for JSON, else the cells, below the heads.
func (c *call) row(heads string, value any, cells ...any) {
	if c.Bool("json") {
		_ = c.print(value, nil) // out keeps the error
		return
	}
	if c.rows++; c.rows == 1 {
		fmt.Fprintln(c.table, strings.ReplaceAll(heads, " ", "\t"))
	}
	texts := make([]string, len(cells))
	for i, cell := range cells {
		if t, ok := cell.(time.Time); ok {
			cell = t.UTC().Format(time.RFC3339)
		}
		texts[i] = line(fmt.Sprint(cell))
	}
	fmt.Fprintln(c.table, strings.Join(texts, "\t"))
}

// line is a text on one line, free of characters that a terminal would carry out.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// where is a partition in a table.
func where(p backends.Partition) string { return string(p.Kind) + " " + p.ID }
