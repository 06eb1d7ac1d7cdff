// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// partitions lists the partitions of the namespace that the key opens.
func (c *call) partitions(namespace string) (out []backends.Partition, err error) {
	if c.opened = true; !c.key.Opens(namespace) {
		return nil, fmt.Errorf("%w: this key does not open that namespace", backends.ErrDenied)
	}
	if c.cfg.Store == nil {
		return nil, unsupported("a list of people")
	}
	out, err = pages(func(cursor string) ([]backends.Partition, string, error) {
		p, err := c.cfg.Store.Partitions(c, namespace, store.Page{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return p.Partitions, p.Next, nil
	})
	return slices.DeleteFunc(out, func(p backends.Partition) bool { return c.key.Allow(p.Scope(), false) != nil }), err
}

func (c *call) mem0Entities() ([]object, error) {
	all, err := c.partitions(c.namespace())
	out := []object{}
	for _, p := range all {
		if p.Kind != backends.PartitionWorkspace {
			out = append(out, object{"id": p.ID, "name": p.ID, "type": p.Kind})
		}
	}
	return out, err
}

func (c *call) mem0Erase(in *mem0Entity) (object, error) {
	s := backends.Partition{Namespace: c.namespace(), Kind: backends.PartitionKind(in.Type), ID: in.Name}.Scope()
	if s.Workspace != "" { // a run, an app, or no type of theirs
		return nil, unsupported("to erase anything but a user and an agent; to delete the memories of a run, name its user_id and run_id")
	}
	s, err := c.open(s, true)
	if err != nil {
		return nil, err
	}
	return object{"message": "Entity deleted successfully!"}, c.forget(s)
}

func (c *call) mem0Reset(_ *struct{}) (object, error) {
	namespace, err := c.openAll(c.namespace(), true)
	if err != nil {
		return nil, err
	}
	all, err := c.partitions(namespace)
	for i := 0; err == nil && i < len(all); i++ {
		err = c.forget(all[i].Scope())
	}
	return object{"message": "All memories reset"}, err
}

// forget erases all of whom the scope names; the caller has opened it.
func (c *call) forget(s backends.Scope) error {
	if p, err := s.Speaker(); err == nil && c.cfg.Notes != nil {
		c.cfg.Notes.forget(p)
	}
	_, err := c.cfg.Memory.Forget(c, s)
	return err
}
