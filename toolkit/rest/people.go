// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/toolkit/access"
)

type (
	// keyResponse says what a key opens and what the server offers.
	keyResponse struct {
		Key      string              `json:"key"`
		Write    bool                `json:"write"`
		Features []string            `json:"features"` // sessions, blocks, notes, tools
		Opens    map[string][]string `json:"opens"`    // namespaces, users, agents, workspaces
	}
	peopleResponse struct {
		Partitions []backends.Partition `json:"partitions"`
		Next       string               `json:"next,omitempty"`
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
		Queued int `json:"queued"` // turns that this process has not logged yet
	}
	retryRequest struct {
		Scope backends.Scope `json:"scope,omitzero"`
	}
)

// peopleRoutes are the endpoints of what is known beside memories, and of whom.
func (h *Handler) peopleRoutes() {
	add(h, own, "GET /api/v1/me", "What this key opens, and what the server offers.", traits{}, func(c *call, _ *struct{}) (keyResponse, error) {
		c.opened = true
		k := c.key
		return keyResponse{Key: k.Name, Write: k.Write, Features: orEmpty(c.features), Opens: map[string][]string{
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
			func(_ context.Context, in *scopeQuery) ([]note, error) {
				p, err := in.Scope.Speaker()
				return h.cfg.Notes.of(p), err
			})
	}
	if backend, ok := backends.As[*reme.Backend](h.cfg.Memory.Backend()); ok {
		h.features = append(h.features, "tools")
		list(h, "tools", "GET tools", "How the tools of a workspace behave.", func(ctx context.Context, in *scopeQuery) ([]tool.Tool, error) {
			out, err := backend.Tools().Retrieve(ctx, &tool.RetrieveRequest{Scope: in.Scope})
			if err != nil {
				return nil, err
			}
			return out.Tools, nil
		})
	}
	if w := h.cfg.Memory.Window(); w != nil && w.Core() != nil {
		h.features = append(h.features, "blocks")
		h.blockRoutes(w.Core())
	}
	if log := h.cfg.Memory.Working(); log != nil {
		h.learningRoutes(log)
	}
}

func (c *call) people(in *pageQuery) (*peopleResponse, error) {
	c.opened = true // of each partition below
	namespace := cmp.Or(in.Scope.Namespace, c.key.Namespace())
	if !c.key.Opens(namespace) {
		return nil, fmt.Errorf("%w: this key does not open that namespace", backends.ErrDenied)
	}
	page, err := c.cfg.Store.Partitions(c, namespace, store.Page{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, err
	}
	opens := slices.DeleteFunc(page.Partitions, func(p backends.Partition) bool { return c.key.Allow(p.Scope(), false) != nil })
	return &peopleResponse{Partitions: orEmpty(opens), Next: page.Next}, nil
}

func (h *Handler) blockRoutes(blocks *core.Blocks) {
	of := func(v *core.Value) block {
		return block{Name: v.Block.Name, Description: v.Block.Description, Owner: v.Block.Owner, Text: v.Text,
			Limit: v.Block.Limit, ReadOnly: v.Block.ReadOnly, Version: v.Version}
	}
	list(h, "blocks", "GET blocks", "The core blocks of a scope.", func(ctx context.Context, in *scopeQuery) (out []block, err error) {
		values, err := blocks.Get(ctx, in.Scope)
		for i := range values {
			out = append(out, of(&values[i]))
		}
		return out, err
	})
	scoped(h, "POST blocks", "Append to a core block, or write it anew.", traits{write: true},
		func(ctx context.Context, in *blockRequest) (out block, err error) {
			edit, change := &core.Edit{Scope: in.Scope, Block: in.Name, Text: in.Append, Version: in.Version}, blocks.Append
			if in.Text != nil {
				edit.Text, change = *in.Text, blocks.Set
			}
			v, err := change(ctx, edit)
			if err != nil {
				return out, err
			}
			return of(v), nil
		})
}

func (h *Handler) learningRoutes(log *working.Memory) {
	add(h, own, "GET /api/v1/health", "How learning goes in all sessions: the backlog and what failed.", traits{},
		func(c *call, _ *struct{}) (*healthResponse, error) {
			if _, err := c.openAll(access.Any, false); err != nil {
				return nil, err
			}
			state, err := log.Health(c)
			if err != nil {
				return nil, err
			}
			return &healthResponse{*state, log.Stats().Queued}, nil
		})
	add(h, own, "POST /api/v1/retry", "Learn once more from what failed, of the scope's session, or of all sessions without one.",
		traits{write: true, long: true}, func(c *call, in *retryRequest) (_ struct{}, err error) {
			var scopes []backends.Scope // none: all
			if in.Scope.IsZero() {
				_, err = c.openAll(access.Any, true)
			} else {
				in.Scope, err = c.open(in.Scope, true)
				scopes = []backends.Scope{in.Scope}
			}
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, log.RetryFailures(c, scopes...)
		})
}
