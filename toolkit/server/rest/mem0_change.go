// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

func (c *call) mem0Update(in *mem0Change) (object, error) {
	r, err := in.request()
	if err != nil {
		return nil, err
	}
	m, err := c.update(in.ID, r)
	return c.mem0Its(m), err
}

func (in *mem0New) request() (*backends.UpdateRequest, error) {
	r := &backends.UpdateRequest{Text: in.Text, Metadata: in.Metadata}
	expires, err := endOf(in.LastDay)
	if len(in.LastDay) > 0 {
		r.Expires = &expires
	}
	return r, err
}

func (c *call) mem0Delete(in *mem0One) (object, error) {
	for id, next := in.ID, ""; id != ""; id, next = next, "" {
		if in.Linked {
			if m, err := c.memory(id); err == nil && m.Supersedes != "" {
				next = c.idOf(m.Supersedes)
			}
		}
		if err := c.deleteMemory(id); err != nil && (id == in.ID || !errors.Is(err, backends.ErrNotFound)) {
			return nil, err
		}
	}
	return object{"message": "Memory deleted successfully!"}, nil
}

func (c *call) mem0DeleteAll(in *mem0All) (object, error) {
	filters, err := parseDict(in.Filters)
	if err != nil {
		return nil, err
	}
	return object{"message": "Memories deleted successfully!"}, c.mem0Wipe(&mem0Query{mem0IDs: in.mem0IDs, Filters: filters})
}

// mem0Wipe deletes what a query matches, and erases whom nothing else is said about.
func (c *call) mem0Wipe(in *mem0Query) error {
	owners, _, filter, err := in.reach()
	if err == nil && filter == nil && owners == nil { // a deletion for the connection's whole user needs the name
		err = fmt.Errorf("%w: name a user_id, an agent_id, a run_id or an app_id", backends.ErrNoScope)
	}
	if err != nil {
		return err
	}
	return c.mem0Each(in, access.Write|access.Whole, func(s backends.Scope, filter *backends.Filter) (err error) {
		if filter == nil {
			_, err = c.Erase(c, s, nil)
		} else if err = c.lists(); err == nil {
			_, err = c.Manager.DeleteAll(c, &backends.DeleteAllRequest{Scope: s, Filter: filter})
		}
		return err
	})
}

func (c *call) mem0Erase(in *mem0Entity) (object, error) {
	if !slices.Contains([]string{"user", "agent", "run", "app"}, in.Type) {
		_, err := c.whose(backends.Scope{}, access.Write|access.Whole)
		if !errors.Is(err, backends.ErrDenied) {
			err = fmt.Errorf("%w: a user, an agent, a run or an app can be deleted", backends.ErrInvalid)
		}
		return nil, err
	}
	return object{"message": "Entity deleted successfully!"}, c.mem0Wipe(&mem0Query{Filters: object{in.Type + "_id": in.Name}})
}

func (c *call) mem0Reset(_ *struct{}) (object, error) {
	if err := c.openAll(c.namespace(), access.Write); err != nil {
		return nil, err
	}
	all, err := c.partitions()
	for i := 0; i < len(all) && err == nil; i++ {
		_, err = c.Erase(c, all[i].Scope(), nil)
	}
	return object{"message": "All memories reset"}, err
}

type (
	mem0Batch struct {
		mem0Unused
		Memories []struct {
			ID string `json:"memory_id"`
			mem0New
		} `json:"memories"`
	}
	mem0Judgement struct {
		mem0Unused
		ID       string  `json:"memory_id"`
		Feedback string  `json:"feedback,omitempty"` // POSITIVE, NEGATIVE or VERY_NEGATIVE; null takes it back
		Reason   *string `json:"feedback_reason,omitempty"`
	}
)

const maxBatch = 1000

func (c *call) mem0UpdateBatch(in *mem0Batch) (object, error) {
	all := map[string]*backends.UpdateRequest{}
	for _, m := range in.Memories {
		r, err := m.request()
		if err != nil {
			return nil, err
		}
		all[m.ID] = r
	}
	return c.mem0Batch(in, "updated", func(id string) error {
		_, err := c.update(id, all[id])
		return err
	})
}

func (c *call) mem0DeleteBatch(in *mem0Batch) (object, error) {
	return c.mem0Batch(in, "deleted", c.deleteMemory)
}

// mem0Batch changes memories, each with a line on the audit log. An id that is unknown, or that the
// key does not open, is an error before the first change.
func (c *call) mem0Batch(in *mem0Batch, done string, change func(id string) error) (object, error) {
	var ids []string
	for _, m := range in.Memories {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 || len(ids) > maxBatch {
		return nil, fmt.Errorf("%w: a batch has 1 to %d memories", backends.ErrInvalid, maxBatch)
	}
	for _, id := range ids {
		_, _, err := c.place(id, access.Write)
		if err == nil {
			_, err = c.memory(id)
		}
		if err != nil {
			return nil, err
		}
	}
	for i, id := range ids {
		err := change(id)
		c.cfg.Guard.Audit(c, c.key, c.route.pattern+" (one of several)", c.scope, err)
		if err != nil {
			return nil, fmt.Errorf("%d of %d memories are %s: %w", i, len(ids), done, err)
		}
	}
	return object{"message": fmt.Sprintf("Successfully %s %d memories", done, len(ids))}, nil
}

// mem0Worth is how feedback moves the quality of a memory, which begins at a half.
var mem0Worth = map[string]float64{"": 0, "POSITIVE": 0.25, "NEGATIVE": -0.25, "VERY_NEGATIVE": -0.5}

// mem0Feedback stores a judgement in place of the one before.
func (c *call) mem0Feedback(in *mem0Judgement) (object, error) {
	worth, ok := mem0Worth[in.Feedback]
	if !ok {
		return nil, fmt.Errorf("%w: feedback is one of%s", backends.ErrInvalid, strings.Join(slices.Sorted(maps.Keys(mem0Worth)), " "))
	}
	m, err := c.memory(in.ID)
	if err != nil {
		return nil, err
	}
	quality := 0.5
	if m.Quality != nil {
		quality = *m.Quality
	}
	before, _ := m.Metadata["feedback"].(string)
	quality = min(max(quality-mem0Worth[before]+worth, 0), 1)
	r := &backends.UpdateRequest{Quality: &quality, Metadata: map[string]any{"feedback": nil, "feedback_reason": nil}}
	if in.Feedback != "" {
		r.Metadata["feedback"] = in.Feedback
	}
	if in.Reason != nil {
		r.Metadata["feedback_reason"] = *in.Reason
	}
	_, err = c.update(in.ID, r)
	return object{"id": in.ID, "feedback": orNull(in.Feedback), "feedback_reason": in.Reason}, err
}
