// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Workspaces keeps ReMe's libraries of experience in a store: it loads them, finds in
// them, copies and dumps them.
//
//	go run ./examples/workspaces -db lib.db load appworld appworld.jsonl
//	go run ./examples/workspaces -db lib.db find appworld "delete a playlist"
//	go run ./examples/workspaces -db lib.db copy appworld trial
//	go run ./examples/workspaces -db lib.db dump trial trial.jsonl
//	go run ./examples/workspaces -db lib.db list
//	go run ./examples/workspaces -db lib.db delete trial
//
// -redis URL keeps them on a server instead of in a file. dump writes what holds now. A load
// is all or nothing, and shows how far it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// desk is what the commands work with.
type desk struct {
	backend *reme.Backend
	bar     reme.Progress
	out     io.Writer
}

// commands are what can be asked for, with the words that each wants.
var commands = map[string]struct {
	words []string
	do    func(context.Context, *desk, []string) error
}{
	"load":   {[]string{"WORKSPACE", "FILE"}, load},
	"dump":   {[]string{"WORKSPACE", "FILE"}, dump},
	"copy":   {[]string{"FROM", "TO"}, replicate},
	"find":   {[]string{"WORKSPACE", "QUERY"}, find},
	"delete": {[]string{"WORKSPACE"}, remove},
	"list":   {nil, list},
}

// run is the program: 0 is success, 1 a failure, 2 a command line that makes no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("workspaces", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("db", "workspaces.db", "the `FILE` that keeps the workspaces")
	url := flags.String("redis", "", "the `URL` of a Redis that keeps them instead")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	command, known := commands[flags.Arg(0)]
	if words := flags.Args(); !known || len(words) != 1+len(command.words) {
		fmt.Fprintf(stderr, "workspaces: use one of load WORKSPACE FILE, dump WORKSPACE FILE, copy FROM TO, find WORKSPACE QUERY, delete WORKSPACE, list; not %q\n", words)
		return 2
	}
	if err := with(ctx, *file, *url, func(b *reme.Backend) error {
		return command.do(ctx, &desk{backend: b, bar: reme.ProgressBar(stderr), out: stdout}, flags.Args()[1:])
	}); err != nil {
		fmt.Fprintf(stderr, "workspaces: %v\n", err)
		return 1
	}
	return 0
}

// with opens the store, and closes it after use.
func with(ctx context.Context, file, url string, use func(*reme.Backend) error) (err error) {
	var db store.Store
	if url != "" {
		db, err = redisstore.Open(ctx, url, nil)
	} else {
		db, err = sqlitestore.Open(ctx, file, nil)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b, err := reme.New(ctx, &reme.Config{Store: db})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	return use(b)
}

func in(workspace string) backends.Scope { return backends.Scope{Workspace: workspace} }

func load(ctx context.Context, d *desk, words []string) (err error) {
	f, err := os.Open(words[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	got, err := d.backend.Library().Load(ctx, &reme.LoadRequest{Scope: in(words[0]), Progress: d.bar}, f)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%s: %d memories loaded, %d others removed\n", words[0], got.Loaded, got.Removed)
	return nil
}

// dump writes beside the file first, so that a failure leaves it as it was.
func dump(ctx context.Context, d *desk, words []string) (err error) {
	r := &reme.DumpRequest{Scope: in(words[0]), Progress: d.bar}
	f, err := os.CreateTemp(filepath.Dir(words[1]), filepath.Base(words[1])+".*.tmp")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone, if it was renamed
	got, err := d.backend.Library().Dump(ctx, r, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), words[1]); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%s: %d memories written, %d that hold no more left out\n", words[0], got.Memories, got.LeftOut)
	return nil
}

func replicate(ctx context.Context, d *desk, words []string) error {
	got, err := d.backend.Library().Copy(ctx, &reme.CopyRequest{From: in(words[0]), To: in(words[1]), Progress: d.bar})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%s: %d memories copied\n", words[1], got.Loaded)
	return nil
}

func find(ctx context.Context, d *desk, words []string) error {
	got, err := d.backend.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: in(words[0]), Query: words[1]})
	if err != nil {
		return err
	}
	if len(got.Hits) == 0 {
		fmt.Fprintln(d.out, "nothing")
		return nil
	}
	fmt.Fprintln(d.out, got.Answer)
	return nil
}

func remove(ctx context.Context, d *desk, words []string) error {
	if _, err := d.backend.Library().Delete(ctx, in(words[0])); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%s: erased\n", words[0])
	return nil
}

func list(ctx context.Context, d *desk, _ []string) error {
	for page := (store.Page{}); ; {
		names, next, err := d.backend.Library().Workspaces(ctx, "", page)
		if err != nil {
			return err
		}
		for _, name := range names {
			fmt.Fprintln(d.out, name)
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}
