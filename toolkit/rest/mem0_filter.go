// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// mem0Names are mem0's names of fields that have others here.
var mem0Names = map[string]string{"run_id": "session_id", "actor_id": "speaker", "created_at": "created", "updated_at": "updated", "expiration_date": "expires"}

// mem0Scope opens the scope that ids and filters choose, and returns what is left of the
// filters. They name one user, or one agent; beside a user the agent is a filter.
func (c *call) mem0Scope(in *mem0Query, write bool) (s backends.Scope, _ *backends.Filter, err error) {
	fields, _ := mem0Fields(in.Filters).(map[string]any)
	filters, err := backends.ParseFilter(fields)
	if err != nil {
		return s, nil, err
	}
	all := backends.And()
	if filters != nil {
		all.Args = append(all.Args, *filters)
	}
	for field, id := range map[string]string{"user_id": in.UserID, "agent_id": in.AgentID, "session_id": in.RunID, "app_id": in.AppID} {
		if id != "" {
			all.Args = append(all.Args, backends.Eq(field, id))
		}
	}
	for _, name := range []string{"keywords", "memory_ids", "feedback"} {
		if mentions(&all, name) {
			return s, nil, fmt.Errorf("%w: the filter %s is not offered", backends.ErrInvalid, name)
		}
	}
	rest := all.Without("user_id")
	if s.UserID, err = onlyID(&all, "user_id"); err == nil && s.UserID == "" {
		rest = all.Without("agent_id")
		s.AgentID, err = onlyID(&all, "agent_id")
	}
	if err == nil {
		s, err = c.whose(s, write)
	}
	return s, rest, err
}

// mem0Fields returns a filter with our names of fields.
func mem0Fields(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = mem0Fields(x[i])
		}
	case map[string]any:
		out := map[string]any{}
		for name, v := range x {
			if m, ok := v.(map[string]any); ok && name == "metadata" {
				for key, v := range m {
					out["metadata."+key] = v
				}
				continue
			}
			out[cmp.Or(mem0Names[name], name)] = mem0Fields(v)
		}
		return out
	}
	return v
}

// onlyID returns the id that a filter requires, empty if it does not mention the field.
func onlyID(f *backends.Filter, field string) (id string, err error) {
	switch v, isText := f.Value.(string); {
	case f.Op == "eq" && f.Field == field && isText:
		return v, nil
	case f.Op != "and" && mentions(f, field):
		err = fmt.Errorf("%w: filters name exactly one %s, and by equality", backends.ErrInvalid, field)
	case f.Op == "and":
		for i := range f.Args {
			of, e := onlyID(&f.Args[i], field)
			if e == nil && of != "" && id != "" && of != id {
				e = fmt.Errorf("%w: filters name two of %s", backends.ErrInvalid, field)
			}
			id, err = cmp.Or(id, of), cmp.Or(err, e)
		}
	}
	return id, err
}

func mentions(f *backends.Filter, field string) bool {
	return f.Field == field || slices.ContainsFunc(f.Args, func(arg backends.Filter) bool { return mentions(&arg, field) })
}
