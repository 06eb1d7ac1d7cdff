// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// onServer does something that needs the store and no agent.
func (r *request) onServer(ctx context.Context, stdout io.Writer, do func(context.Context, *redisstore.Store, *request, io.Writer) error) (err error) {
	server, err := redisstore.Open(ctx, r.url, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return do(ctx, server, r, stdout)
}

// forget erases all that is stored of the user, and says how much that was.
func forget(ctx context.Context, server *redisstore.Store, r *request, stdout io.Writer) error {
	user, err := r.Scope.Partition(backends.PartitionUser)
	if err != nil {
		return err
	}
	n, err := server.Drop(ctx, user)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "forgot %s: memories %d, sessions %d, messages %d\n", r.Scope.UserID, n.Records, n.Sessions, n.Messages)
	return err
}

// health reports how the server is, and how many messages wait to be learnt from.
func health(ctx context.Context, server *redisstore.Store, _ *request, stdout io.Writer) error {
	h, err := server.Health(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "ping %s; not learnt yet: messages %d, sessions %d\n", h.Ping, h.Backlog.Messages, h.Backlog.Sessions)
	return err
}
