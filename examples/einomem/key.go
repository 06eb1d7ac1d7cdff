// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/toolkit/server/access"
)

// The lines that the command key prints for a key, by its name.
const (
	personal = `    as: %q  # the user that it is: it opens their memories
    # workspaces: [team]  # in which it acts as that user
    write: true  # false: it only reads
`
	everything = `    # %q is an admin: it reads, changes and erases whatever is stored
    namespaces: ["*"]
    users: ["*"]
    agents: ["*"]
    workspaces: ["*"]
    write: true
    admin: true
`
)

// newKey prints a new secret, and its key for the file of settings.
func newKey(_ context.Context, c *call) error {
	secret, name, opens := access.NewSecret(), c.Args().First(), personal
	if c.Bool("admin") {
		opens = everything
	}
	entry := fmt.Sprintf("keys:\n  - name: %q\n    hash: %s\n"+opens, name, access.Hash(secret), name)
	if c.json {
		return c.print(map[string]string{"secret": secret, "settings": entry}, nil)
	}
	_, err := fmt.Fprintf(c.out, "secret: %s\n\n%s", secret, entry)
	return err
}
