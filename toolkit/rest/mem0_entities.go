// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"

	"github.com/einomem/einomem/backends"
)

type mem0Entity struct {
	Type string `json:"type" path:"type"` // user or agent
	Name string `json:"name" path:"id"`
}

// partitions lists the partitions of the namespace that the key opens.
func (c *call) partitions() (all []backends.Partition, _ error) {
	in := &pageQuery{Limit: 1000}
	in.Scope.Namespace = c.namespace()
	for more := true; more; more = in.Cursor != "" {
		page, err := c.people(in)
		if err != nil {
			return nil, err
		}
		all, in.Cursor = append(all, page.Partitions...), page.Next
	}
	return all, nil
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
	_, err = c.erase(c, &backends.ForgetRequest{Scope: s})
	return object{"message": "Entity deleted successfully!"}, err
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
		if _, err := c.erase(c, &backends.ForgetRequest{Scope: p.Scope()}); err != nil {
			return nil, err
		}
	}
	return object{"message": "All memories reset"}, nil
}
