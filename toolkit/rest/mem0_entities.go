// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

type mem0Entity struct {
	Type string `json:"type" path:"type"` // user or agent
	Name string `json:"name" path:"id"`
}

// partitions lists the partitions of the namespace that the key opens.
func (c *call) partitions() ([]backends.Partition, error) {
	namespace := c.namespace()
	if c.opened = true; !c.key.Opens(namespace) {
		return nil, fmt.Errorf("%w: this key does not open that namespace", backends.ErrDenied)
	}
	var all []backends.Partition
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := c.cfg.Store.Partitions(c, namespace, store.Page{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Partitions...)
		cursor = page.Next
	}
	return slices.DeleteFunc(all, func(p backends.Partition) bool { return c.key.Allow(p.Scope(), false) != nil }), nil
}

func (c *call) mem0Entities(_ *struct{}) ([]object, error) {
	all, err := c.partitions()
	out := []object{}
	for _, p := range all {
		if p.Kind != backends.PartitionWorkspace {
			out = append(out, object{"id": p.ID, "name": p.ID, "type": p.Kind})
		}
	}
	return out, err
}

func (c *call) mem0Users(in *struct{}) (object, error) {
	all, err := c.mem0Entities(in)
	return object{"count": len(all), "next": nil, "previous": nil, "results": all}, err
}

func (c *call) mem0Erase(in *mem0Entity) (object, error) {
	s, err := c.open(backends.Partition{Namespace: c.namespace(), Kind: backends.PartitionKind(in.Type), ID: in.Name}.Scope(), true)
	if err != nil {
		return nil, err
	}
	if s.Workspace != "" { // a run, an app, or no type of theirs
		return nil, fmt.Errorf("%w: only a user and an agent can be erased; to delete a run, name its user_id and run_id", backends.ErrInvalid)
	}
	return object{"message": "Entity deleted successfully!"}, c.forget(s)
}

func (c *call) mem0Reset(_ *struct{}) (object, error) {
	if _, err := c.openAll(c.namespace(), true); err != nil {
		return nil, err
	}
	all, err := c.partitions()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if err := c.forget(p.Scope()); err != nil {
			return nil, err
		}
	}
	return object{"message": "All memories reset"}, nil
}

// forget erases all of whom the scope names; the caller has opened it.
func (c *call) forget(s backends.Scope) error {
	if p, err := s.Speaker(); err == nil && c.cfg.Notes != nil {
		c.cfg.Notes.forget(p)
	}
	_, err := c.cfg.Memory.Forget(c, s)
	return err
}
