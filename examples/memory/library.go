// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
)

// workspace returns the scope of the workspace that an argument names.
func (c *call) workspace(argument int) backends.Scope {
	return backends.Scope{Namespace: c.String("namespace"), Workspace: c.Args().Get(argument)}
}

func loadLibrary(ctx context.Context, c *call) error {
	return c.read(c.Args().Get(1), func(r io.Reader) error {
		n, err := c.reme.Library().Load(ctx, &reme.LoadRequest{Scope: c.workspace(0), Merge: c.Bool("merge")}, r)
		return set(&c.answer, n, err)
	})
}

func dumpLibrary(ctx context.Context, c *call) error {
	return c.write(c.Args().Get(1), func(w io.Writer) error {
		n, err := c.reme.Library().Dump(ctx, &reme.DumpRequest{Scope: c.workspace(0)}, w)
		if err == nil && n.Memories == 0 {
			err = fmt.Errorf("workspace %s: %w: it holds no memory to write", c.Args().First(), backends.ErrNotFound)
		}
		if err == nil && w != c.out {
			c.value = n
		}
		return err
	})
}

func copyLibrary(ctx context.Context, c *call) error {
	n, err := c.reme.Library().Copy(ctx, &reme.CopyRequest{From: c.workspace(0), To: c.workspace(1), Merge: c.Bool("merge")})
	return set(&c.answer, n, err)
}

func deleteLibrary(ctx context.Context, c *call) error {
	if !c.Bool("yes") {
		return usage("nothing was erased: to erase workspace %s with all that is in it repeat the command with -yes", c.Args().First())
	}
	n, err := c.reme.Library().Delete(ctx, c.workspace(0))
	return set(&c.answer, &map[string]int{"memories": n}, err)
}

func listLibraries(ctx context.Context, c *call) error {
	c.head = []string{"WORKSPACE"}
	names, err := paged(func(page store.Page) ([]string, string, error) {
		return c.reme.Library().Workspaces(ctx, c.String("namespace"), page)
	})
	for _, name := range names {
		c.row(map[string]string{"workspace": name}, name)
	}
	return err
}
