// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// mem0Scope opens the scope of the user, or else of the agent, that ids and filters require. It
// returns the other conditions; beside a user the agent is one of them.
func (c *call) mem0Scope(in *mem0Query, m access.Mode) (s backends.Scope, filter *backends.Filter, err error) {
	filter, err = backends.ParseFilter(in.Filters)
	if err != nil {
		return s, nil, err
	}
	all := conditions(filter)
	for field, id := range map[string]string{"user_id": in.UserID, "agent_id": in.AgentID, "session_id": in.RunID, "app_id": in.AppID} {
		if id != "" {
			all = append(all, backends.Eq(field, id))
		}
	}
	if s.UserID, all = takeID(all, "user_id"); s.UserID == "" {
		s.AgentID, all = takeID(all, "agent_id")
	}
	if s, err = c.whose(s, m); err != nil {
		return s, nil, err
	}
	filter, err = allOf(all)
	return s, filter, err
}

// mem0Names translates the fields that have other names in mem0.
var mem0Names = map[string]string{
	"run_id": "session_id", "actor_id": "speaker", "created_at": "created", "updated_at": "updated", "expiration_date": "expires",
}

// conditions returns the conditions that a filter joins by and, with our names of fields.
func conditions(f *backends.Filter) (all []backends.Filter) {
	if f == nil {
		return nil
	}
	f.Field = cmp.Or(mem0Names[f.Field], f.Field)
	for i := range f.Args {
		all = append(all, conditions(&f.Args[i])...)
	}
	if f.Op != "and" {
		return []backends.Filter{*f}
	}
	return all
}

// takeID removes the first condition that a field equals an id, and returns the id.
func takeID(all []backends.Filter, field string) (string, []backends.Filter) {
	i := slices.IndexFunc(all, func(f backends.Filter) bool { return f.Op == "eq" && f.Field == field })
	if i < 0 {
		return "", all
	}
	id, _ := all[i].Value.(string)
	return id, slices.Delete(all, i, i+1)
}

// allOf joins conditions by and, and checks them; it is nil for an empty list.
func allOf(conditions []backends.Filter) (*backends.Filter, error) {
	if len(conditions) == 0 {
		return nil, nil
	}
	f := backends.And(conditions...)
	_, err := f.Compile()
	return &f, err
}
