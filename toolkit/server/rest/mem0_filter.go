// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// maxReach is how many people a query may be about that names none of them.
const maxReach = 1000

// mem0Fields are mem0's fields of filters, and ours for them. Keys of metadata are beside them.
var mem0Fields = map[string]string{
	"user_id": "user_id", "agent_id": "agent_id", "run_id": "session_id", "app_id": "metadata.app_id", "actor_id": "speaker", "role": "role",
	"created_at": "created", "updated_at": "updated", "expiration_date": "expires", "categories": "metadata.categories",
	"feedback": "metadata.feedback", "feedback_reason": "metadata.feedback_reason",
}

// reach returns whom a query is about, and its conditions. owners are users, and agents by
// themselves; nil: it names nobody. all: it names a run or an app, which may be anybody's.
func (in *mem0Query) reach() (owners []backends.Scope, all bool, filter *backends.Filter, err error) {
	conditions, err := in.conditions()
	if err == nil {
		filter, err = allOf(conditions)
	}
	if err != nil || filter == nil {
		return nil, false, nil, err
	}
	if owners, all = reachOf(filter); len(owners) == 1 { // the partition says it
		owner := "agent_id"
		if users(owners) {
			owner = "user_id"
		}
		filter = filter.Without(owner)
	}
	return owners, all, filter, nil
}

// conditions returns what a query asks for beside its words, with our names of fields.
func (in *mem0Query) conditions() (all []backends.Filter, err error) {
	f, err := backends.ParseFilter(in.Filters)
	if err == nil && f != nil {
		err = rename(f)
		all = append(all, *f)
	}
	if err != nil {
		return nil, err
	}
	for field, id := range map[string]string{"user_id": in.UserID, "agent_id": in.AgentID, "session_id": in.RunID, "metadata.app_id": in.AppID} {
		if id != "" {
			all = append(all, backends.Eq(field, id))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(in.Metadata)) {
		all = append(all, backends.Eq("metadata."+key, in.Metadata[key]))
	}
	if len(in.Categories) > 0 {
		all = append(all, backends.Filter{Op: "in", Field: "metadata.categories", Value: in.Categories})
	}
	if in.Start != "" {
		all = append(all, backends.Filter{Op: "gte", Field: "created", Value: in.Start})
	}
	if in.End != "" {
		end := backends.Filter{Op: "lte", Field: "created", Value: in.End}
		if day, err := time.Parse(time.DateOnly, in.End); err == nil {
			end.Op, end.Value = "lt", day.AddDate(0, 0, 1)
		}
		all = append(all, end)
	}
	return all, nil
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

// rename translates the fields of a filter.
func rename(f *backends.Filter) error {
	for i := range f.Args {
		if err := rename(&f.Args[i]); err != nil {
			return err
		}
	}
	if len(f.Args) > 0 || strings.HasPrefix(f.Field, "metadata.") {
		return nil
	}
	ours, ok := mem0Fields[f.Field]
	if !ok {
		return fmt.Errorf("%w: there is no filter field %q: use %s, or metadata.KEY", backends.ErrInvalid, f.Field, strings.Join(slices.Sorted(maps.Keys(mem0Fields)), ", "))
	}
	f.Field = ours
	return nil
}

// reachOf is reach for a filter. Beside a user, an agent is a condition on the user's memories.
func reachOf(f *backends.Filter) (owners []backends.Scope, all bool) {
	switch f.Op {
	case "and":
		for i := range f.Args {
			o, a := reachOf(&f.Args[i])
			all = all || a
			switch {
			case owners == nil, o != nil && users(o) && !users(owners):
				owners = o
			case o != nil && users(o) == users(owners):
				owners = slices.DeleteFunc(owners, func(s backends.Scope) bool { return !slices.Contains(o, s) })
			}
		}
		return owners, all && owners == nil
	case "or":
		owners = []backends.Scope{}
		for i := range f.Args {
			o, a := reachOf(&f.Args[i])
			if o == nil && !a {
				return nil, false
			}
			owners, all = append(owners, o...), all || a
		}
		if all {
			owners = nil
		}
	case "eq", "in":
		ids, ok := f.Value.([]any)
		if !ok {
			ids = []any{f.Value}
		}
		for _, id := range ids {
			name, _ := id.(string)
			switch f.Field {
			case "user_id":
				owners = append(owners, backends.Scope{UserID: name})
			case "agent_id":
				owners = append(owners, backends.Scope{AgentID: name})
			}
		}
		all = f.Field == "session_id" || f.Field == "metadata.app_id"
	}
	return owners, all
}

func users(owners []backends.Scope) bool {
	return slices.ContainsFunc(owners, func(s backends.Scope) bool { return s.UserID != "" })
}

// mem0Each calls do for each partition that a query is about, with the conditions that remain. All
// of them are open before the first call. A look-up that names several people is about those whom
// the key opens.
func (c *call) mem0Each(in *mem0Query, m access.Mode, do func(s backends.Scope, filter *backends.Filter) error) error {
	owners, all, filter, err := in.reach()
	switch {
	case err != nil || owners != nil:
	case all && c.stored && c.r.Header.Get(access.HeaderUser)+c.r.Header.Get(access.HeaderAgent) == "":
		owners, err = c.everybody()
	default:
		owners = make([]backends.Scope, 1)
		owners[0], err = c.whose(owners[0], m)
	}
	if err != nil {
		return err
	}
	open, err := c.openOf(owners, m)
	if err != nil {
		return err
	}
	for _, s := range open {
		if s, err = c.open(s, m); err == nil {
			err = do(s, filter)
		}
		if m&access.Write != 0 && len(open) > 1 {
			c.cfg.Guard.Audit(c, c.key, c.route.pattern+" (one of several)", s, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// everybody returns the users and agents that hold something and that the key opens.
func (c *call) everybody() (all []backends.Scope, _ error) {
	found, err := c.partitions()
	for _, p := range found {
		if p.Kind != backends.PartitionWorkspace {
			all = append(all, p.Scope())
		}
	}
	if len(all) > maxReach {
		return nil, fmt.Errorf("%w: this may be of any of %d users and agents: name a user_id or an agent_id", backends.ErrNoScope, len(all))
	}
	return all, err
}

// openOf opens scopes. For a look-up one of several is enough.
func (c *call) openOf(all []backends.Scope, m access.Mode) (open []backends.Scope, denied error) {
	for _, s := range all {
		if s.IsZero() {
			return nil, fmt.Errorf("%w: an id is empty", backends.ErrNoScope)
		}
		s, err := c.whose(s, m)
		switch {
		case slices.Contains(open, s):
		case err == nil:
			open = append(open, s)
		case !errors.Is(err, backends.ErrDenied) || m&access.Write != 0:
			return nil, err
		default:
			denied = err
		}
	}
	if len(open) > 0 {
		return open, nil
	}
	return nil, denied
}

// readIDs fills in the ids of an add that stand in its filters.
func (ids *mem0IDs) readIDs(filters map[string]any) error {
	f, err := backends.ParseFilter(filters)
	if err != nil || f == nil {
		return err
	}
	at := map[string]*string{"user_id": &ids.UserID, "agent_id": &ids.AgentID, "run_id": &ids.RunID, "app_id": &ids.AppID}
	for parts := []backends.Filter{*f}; len(parts) > 0; parts = parts[1:] {
		f := parts[0]
		id, _ := f.Value.(string)
		switch field := at[f.Field]; {
		case f.Op == "and":
			parts = append(parts, f.Args...)
		case field == nil || f.Op != "eq" || id == "" || *field != "" && *field != id:
			return fmt.Errorf("%w: the filters of an add are one id each of user_id, agent_id, run_id and app_id", backends.ErrInvalid)
		default:
			*field = id
		}
	}
	return nil
}

// pythonText is what a dict of Python prints in another way than JSON.
var pythonText = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?:True|False|None)\b`)

// parseDict reads filters from an address: JSON, or a dict as Python prints it, which mem0's
// Python client sends.
func parseDict(text string) (out map[string]any, err error) {
	if text == "" || json.Unmarshal([]byte(text), &out) == nil {
		return out, nil
	}
	words := map[string]string{"True": "true", "False": "false", "None": "null"}
	asJSON := pythonText.ReplaceAllStringFunc(text, func(s string) string {
		if word, ok := words[s]; ok {
			return word
		}
		return `"` + strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `\x`, `\u00`, `"`, `\"`).Replace(s[1:len(s)-1]) + `"`
	})
	if json.Unmarshal([]byte(asJSON), &out) != nil {
		return nil, fmt.Errorf("%w: filters %.80q: send JSON", backends.ErrInvalid, text)
	}
	return out, nil
}
