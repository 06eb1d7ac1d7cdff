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
// is all or nothing.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "workspaces: %v\n", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("workspaces", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("db", "workspaces.db", "the `FILE` that keeps the workspaces")
	url := flags.String("redis", "", "the `URL` of a Redis that keeps them instead")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	words := flags.Args()
	if wanted := map[string]int{"load": 3, "dump": 3, "copy": 3, "find": 3, "delete": 2, "list": 1}; len(words) == 0 || len(words) != wanted[words[0]] {
		return fmt.Errorf("use one of load WORKSPACE FILE, dump WORKSPACE FILE, copy FROM TO, find WORKSPACE QUERY, delete WORKSPACE, list; not %q", words)
	}
	words = append(words, "", "")[:3]
	return with(ctx, *file, *url, func(b *reme.Backend) error {
		done, err := do(ctx, b, words)
		if err == nil {
			_, err = fmt.Fprint(stdout, done)
		}
		return err
	})
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

// do does what a command and its two words ask for, and returns what there is to print.
func do(ctx context.Context, b *reme.Backend, words []string) (string, error) {
	command, workspace, other := words[0], words[1], words[2]
	switch command {
	case "load":
		return load(ctx, b.Library(), workspace, other)
	case "dump":
		return dump(ctx, b.Library(), workspace, other)
	case "copy":
		got, err := b.Library().Copy(ctx, &reme.CopyRequest{From: in(workspace), To: in(other)})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s: %d memories copied\n", other, got.Loaded), nil
	case "find":
		got, err := b.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: in(workspace), Query: other})
		if err != nil {
			return "", err
		}
		return cmp.Or(got.Answer, "nothing") + "\n", nil
	case "delete":
		_, err := b.Library().Delete(ctx, in(workspace))
		return workspace + ": erased\n", err
	}
	return list(ctx, b.Library())
}

// load loads a file into a workspace.
func load(ctx context.Context, library *reme.Library, workspace, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	got, err := library.Load(ctx, &reme.LoadRequest{Scope: in(workspace)}, f)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %d memories loaded, %d others removed\n", workspace, got.Loaded, got.Removed), nil
}

// dump writes a workspace to a file: beside it first, so that after an error the file is as
// it was.
func dump(ctx context.Context, library *reme.Library, workspace, file string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return "", err
	}
	got, err := library.Dump(ctx, &reme.DumpRequest{Scope: in(workspace)}, f)
	if err == nil && got.Memories == 0 {
		err = fmt.Errorf("workspace %s: %w: it holds no memory to write", workspace, backends.ErrNotFound)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return fmt.Sprintf("%s: %d memories written, %d that hold no more left out\n", workspace, got.Memories, got.LeftOut), nil
}

// list returns the names of all workspaces, a line each.
func list(ctx context.Context, library *reme.Library) (string, error) {
	var out strings.Builder
	for page := (store.Page{}); ; {
		names, next, err := library.Workspaces(ctx, "", page)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			fmt.Fprintln(&out, name)
		}
		if page.Cursor = next; next == "" {
			return out.String(), nil
		}
	}
}
