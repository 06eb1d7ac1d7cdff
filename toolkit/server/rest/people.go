// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/toolkit/server/access"
)

type (
	// keyResponse describes a key and the features of the server.
	keyResponse struct {
		Key      string              `json:"key"`
		As       string              `json:"as,omitempty"` // the user that the key names, if any
		Write    bool                `json:"write"`
		Admin    bool                `json:"admin"`
		Features []string            `json:"features"` // sessions, blocks, notes, tools, entities, plans
		Opens    map[string][]string `json:"opens"`    // namespaces, users, agents, workspaces
	}
	peopleQuery struct {
		pageQuery
		Kind  backends.PartitionKind `json:"-" query:"kind" jsonschema:"user, agent or workspace"`
		Part  string                 `json:"-" query:"part" jsonschema:"a part of the name"`
		Count bool                   `json:"-" query:"count" jsonschema:"count all, for a key that opens everybody"`
	}
	peopleResponse struct {
		Partitions []backends.Partition           `json:"partitions"`
		Next       string                         `json:"next,omitempty"`
		Counts     map[backends.PartitionKind]int `json:"counts,omitempty"`
		Facts      int64                          `json:"facts,omitempty"` // that hold, in the namespace; -1: unknown
	}
	// block is a core block: text that is always in the prompt.
	block struct {
		Name        string                 `json:"name"`
		Description string                 `json:"description,omitempty"`
		Owner       backends.PartitionKind `json:"owner"`
		Text        string                 `json:"text"`
		Limit       int                    `json:"limit"` // in runes
		ReadOnly    bool                   `json:"read_only,omitempty"`
		Version     int64                  `json:"version"`
	}
	blockRequest struct {
		Scope   backends.Scope `json:"scope"`
		Name    string         `json:"name"`
		Append  string         `json:"append,omitempty"`
		Text    *string        `json:"text,omitempty"`
		Version int64          `json:"version,omitempty"`
	}
	healthResponse struct {
		working.Health
		Lag    float64 `json:"lag_seconds"` // the age of the oldest message that waits
		Queued int     `json:"queued"`      // turns that this process is still to log
	}
	usageResponse struct {
		Days   []Day           `json:"days"`             // the newest first, beginning with today
		Budget *working.Budget `json:"budget,omitempty"` // of learning; nil: there is none
	}
	scopeRequest struct {
		Scope backends.Scope `json:"scope,omitzero"`
	}
)

// peopleRoutes are the endpoints beside memories, and of their owners.
func (h *Handler) peopleRoutes() {
	add(h, own, "GET /api/v1/me", "What this key opens, and what the server offers.", traits{}, func(c *call, _ *struct{}) (keyResponse, error) {
		k := c.key
		return keyResponse{Key: k.Name, As: k.As, Write: k.Write, Admin: k.Admin, Features: orEmpty(c.features), Opens: map[string][]string{
			"namespaces": orEmpty(k.Namespaces), "users": orEmpty(k.Users), "agents": orEmpty(k.Agents), "workspaces": orEmpty(k.Workspaces),
		}}, nil
	})
	if h.cfg.Store != nil {
		add(h, own, "GET /api/v1/people", "The users, agents and workspaces that hold something, as far as the key opens them.",
			traits{}, (*call).people)
	}
	if h.cfg.Notes != nil {
		h.features = append(h.features, "notes")
		list(h, "notes", "GET notes", "What the last replies of this process were shown of memory, and why.",
			func(c *call, in *scopeQuery) ([]note, error) {
				p, err := in.Scope.Speaker()
				return c.cfg.Notes.of(p), err
			})
	}
	if _, ok := backends.As[*reme.Backend](h.cfg.Memory.Backend()); ok {
		h.features = append(h.features, "tools")
		list(h, "tools", "GET tools", "How the tools of a workspace behave.", func(c *call, in *scopeQuery) ([]tool.Tool, error) {
			backend, _ := backends.As[*reme.Backend](c.Backend())
			out, err := backend.Tools().Retrieve(c, &tool.RetrieveRequest{Scope: in.Scope})
			if err != nil {
				return nil, err
			}
			return out.Tools, nil
		})
	}
	if w := access.WindowOf(h.cfg.Memory); w != nil && w.Core() != nil {
		h.features = append(h.features, "blocks")
		h.blockRoutes()
	}
	if h.cfg.Memory.Working() != nil {
		h.learningRoutes()
	}
	if h.cfg.Usage != nil {
		h.features = append(h.features, "usage")
		add(h, own, "GET /api/v1/usage", "What memory cost on the last days: calls of models, tokens, searches, notes.", traits{}, (*call).usage)
	}
}

// usage reads what memory cost.
func (c *call) usage(_ *struct{}) (out usageResponse, err error) {
	if err = c.openAll(access.Any, access.Read); err != nil {
		return out, err
	}
	if log := c.Working(); log != nil {
		if b := log.Budget(); b.Calls > 0 || b.Tokens > 0 {
			out.Budget = &b
		}
	}
	out.Days, err = c.cfg.Usage.Days(c)
	return out, err
}

func (c *call) people(in *peopleQuery) (out peopleResponse, err error) {
	q := store.PartitionQuery{Namespace: cmp.Or(in.Scope.Namespace, c.key.Namespace()), Kind: in.Kind, Part: in.Part,
		Page: store.Page{Limit: in.Limit, Cursor: in.Cursor}}
	page, err := c.door.People(c, c.key, q)
	if err != nil {
		return out, err
	}
	if in.Count {
		out.Counts, out.Facts, err = c.door.Count(c, c.key, q.Namespace)
	}
	out.Partitions, out.Next = orEmpty(page.Partitions), page.Next
	return out, err
}

func (h *Handler) blockRoutes() {
	of := func(v *core.Value) block {
		return block{Name: v.Block.Name, Description: v.Block.Description, Owner: v.Block.Owner, Text: v.Text,
			Limit: v.Block.Limit, ReadOnly: v.Block.ReadOnly, Version: v.Version}
	}
	list(h, "blocks", "GET blocks", "The core blocks of a scope.", func(c *call, in *scopeQuery) (out []block, err error) {
		if in.Scope, err = c.open(in.Scope, access.Each); err != nil {
			return nil, err
		}
		values, err := c.Window().Core().Get(c, in.Scope)
		for i := range values {
			out = append(out, of(&values[i]))
		}
		return out, err
	})
	scoped(h, "POST blocks", "Append to a core block, or write it anew.", traits{mode: access.Write | access.Each},
		func(c *call, in *blockRequest) (out block, err error) {
			blocks := c.Window().Core()
			edit, change := &core.Edit{Scope: in.Scope, Block: in.Name, Text: in.Append, Version: in.Version}, blocks.Append
			if in.Text != nil {
				edit.Text, change = *in.Text, blocks.Set
				err = c.ownsBlock(blocks, in)
			}
			if err != nil {
				return out, err
			}
			v, err := change(c, edit)
			if err != nil {
				return out, err
			}
			return of(v), nil
		})
}

// ownsBlock returns an error if a key may not replace a block: a workspace's block has the texts of
// several people.
func (c *call) ownsBlock(blocks *core.Blocks, in *blockRequest) (err error) {
	for _, b := range blocks.Blocks() {
		if b.Name == in.Name && b.Owner == backends.PartitionWorkspace {
			_, err = c.open(in.Scope, access.Write|access.Program)
		}
	}
	return err
}

func (h *Handler) learningRoutes() {
	add(h, own, "GET /api/v1/health", "How learning goes in all sessions: the backlog and what failed.", traits{},
		func(c *call, _ *struct{}) (*healthResponse, error) {
			if err := c.openAll(access.Any, access.Read); err != nil {
				return nil, err
			}
			log := c.Working()
			state, err := log.Health(c)
			if err != nil {
				return nil, err
			}
			out := &healthResponse{Health: *state, Queued: log.Stats().Queued}
			if !state.Oldest.IsZero() {
				out.Lag = max(0, c.cfg.Clock().Sub(state.Oldest).Seconds())
			}
			return out, nil
		})
	add(h, own, "POST /api/v1/retry", "Learn once more from what failed, of the scope's session, or of all sessions without one.",
		traits{mode: access.Write, long: true}, func(c *call, in *scopeRequest) (_ struct{}, err error) {
			var scopes []backends.Scope // nil: all
			if in.Scope.IsZero() {
				err = c.openAll(access.Any, access.Write)
			} else {
				in.Scope, err = c.open(in.Scope, access.Write)
				scopes = []backends.Scope{in.Scope}
			}
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, c.Working().RetryFailures(c, scopes...)
		})
}
