// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// place is where an arm's memories are kept while it plays.
type place struct {
	store interface {
		store.Store
		Close() error
	}
	namespace string
}

// openPlace opens a database of this process, or a namespace of its own on a server.
func openPlace(ctx context.Context, redis string) (*place, error) {
	if redis == "" {
		s, err := sqlitestore.Open(ctx, ":memory:", nil)
		if err != nil {
			return nil, err
		}
		return &place{s, "experience"}, nil
	}
	s, err := redisstore.Open(ctx, redis, nil)
	if err != nil {
		return nil, err
	}
	return &place{s, "experience-" + backends.NewID()}, nil
}

// scope names the agent and a workspace in the place.
func (p *place) scope(workspace string) backends.Scope {
	return backends.Scope{Namespace: p.namespace, AgentID: agentName, Workspace: workspace}
}

// close removes what was kept.
func (p *place) close(ctx context.Context, s backends.Scope) error {
	var errs []error
	for _, kind := range []backends.PartitionKind{backends.PartitionWorkspace, backends.PartitionAgent} {
		at, err := s.Partition(kind)
		if err == nil { // else it was never opened
			_, err = p.store.Drop(context.WithoutCancel(ctx), at)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, p.store.Close())...)
}
