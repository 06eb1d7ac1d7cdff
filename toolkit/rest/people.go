// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
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

// Block is a core block: text that is always in the prompt.
type Block struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Owner       string `json:"owner"`
	Text        string `json:"text"`
	Limit       int    `json:"limit"` // in runes
	ReadOnly    bool   `json:"read_only,omitempty"`
	Version     int64  `json:"version"`
}

// Access says what a key opens and what the server offers.
type Access struct {
	Key      string   `json:"key"`
	Write    bool     `json:"write"`
	Features []string `json:"features"` // sessions, blocks, notes, tools
	Opens    struct {
		Namespaces []string `json:"namespaces"`
		Users      []string `json:"users"`
		Agents     []string `json:"agents"`
		Workspaces []string `json:"workspaces"`
	} `json:"opens"`
}

type (
	namespaceQuery struct {
		Namespace string `json:"-" query:"namespace"`
		Limit     int    `json:"-" query:"limit"`
		Cursor    string `json:"-" query:"cursor"`
	}
	peopleResponse struct {
		Partitions []backends.Partition `json:"partitions"`
		Next       string               `json:"next,omitempty"`
	}
	blocksResponse struct {
		Blocks []Block `json:"blocks"`
	}
	blockRequest struct {
		Scope   backends.Scope `json:"scope"`
		Name    string         `json:"name"`
		Append  string         `json:"append,omitempty"`
		Text    *string        `json:"text,omitempty"`
		Version int64          `json:"version,omitempty"`
	}
	notesResponse struct {
		Notes []Note `json:"notes"`
	}
	healthResponse struct {
		working.Health
		Queued int `json:"queued"` // turns that this process has not logged yet
	}
	toolsResponse struct {
		Tools []tool.Tool `json:"tools"`
	}
)

// people are the endpoints of what is known beside memories, and of whom.
func (h *Handler) people() {
	m, read, write := h.cfg.Memory, traits{}, traits{write: true}
	add(h, own, "GET /api/v1/me", "What this key opens, and what the server offers.", read, func(c *call, _ *struct{}) (*Access, error) {
		c.opened = true
		out := &Access{Key: c.key.Name, Write: c.key.Write, Features: []string{}}
		out.Opens.Namespaces, out.Opens.Users = orEmpty(c.key.Namespaces), orEmpty(c.key.Users)
		out.Opens.Agents, out.Opens.Workspaces = orEmpty(c.key.Agents), orEmpty(c.key.Workspaces)
		_, isReme := backends.As[*reme.Backend](m.Backend())
		for name, has := range map[string]bool{"sessions": h.cfg.Store != nil, "blocks": h.cfg.Core != nil, "notes": h.cfg.Notes != nil, "tools": isReme, "flows": h.cfg.Flows != nil} {
			if has {
				out.Features = append(out.Features, name)
			}
		}
		slices.Sort(out.Features)
		return out, nil
	})
	add(h, own, "GET /api/v1/people", "The users, agents and workspaces that hold something, as far as the key opens them.", read, func(c *call, in *namespaceQuery) (*peopleResponse, error) {
		if c.opened = true; h.cfg.Store == nil {
			return nil, notOffered("a list of people")
		}
		namespace := in.Namespace
		if namespace == "" {
			namespace = c.key.Namespace()
		}
		if !c.key.Opens(namespace) {
			return nil, fmt.Errorf("%w: this key does not open that namespace", backends.ErrDenied)
		}
		page, err := h.cfg.Store.Partitions(c, namespace, store.Page{Limit: in.Limit, Cursor: in.Cursor})
		if err != nil {
			return nil, err
		}
		out := &peopleResponse{Partitions: []backends.Partition{}, Next: page.Next}
		for _, p := range page.Partitions {
			if c.key.Allow(p.Scope(), false) == nil {
				out.Partitions = append(out.Partitions, p)
			}
		}
		return out, nil
	})
	add(h, own, "GET /api/v1/blocks", "The core blocks of a scope.", read, func(c *call, in *scopeQuery) (*blocksResponse, error) {
		s, err := c.open(in.scope(), false)
		if err != nil {
			return nil, err
		}
		if h.cfg.Core == nil {
			return nil, notOffered("core blocks")
		}
		values, err := h.cfg.Core.Get(c, s)
		out := &blocksResponse{Blocks: []Block{}}
		for i := range values {
			out.Blocks = append(out.Blocks, blockOf(&values[i]))
		}
		return out, err
	})
	add(h, own, "POST /api/v1/blocks", "Append to a core block, or write it anew.", write, func(c *call, in *blockRequest) (*Block, error) {
		s, err := c.open(in.Scope, true)
		if err != nil {
			return nil, err
		}
		if h.cfg.Core == nil {
			return nil, notOffered("core blocks")
		}
		edit, change := &core.Edit{Scope: s, Block: in.Name, Text: in.Append, Version: in.Version}, h.cfg.Core.Append
		if in.Text != nil {
			edit.Text, change = *in.Text, h.cfg.Core.Set
		}
		v, err := change(c, edit)
		if err != nil {
			return nil, err
		}
		b := blockOf(v)
		return &b, nil
	})
	add(h, own, "GET /api/v1/notes", "What the last replies of this process were shown of memory, and why.", read, func(c *call, in *scopeQuery) (*notesResponse, error) {
		s, err := c.open(in.scope(), false)
		if err != nil {
			return nil, err
		}
		p, err := s.Speaker()
		if err != nil {
			return nil, err
		}
		if h.cfg.Notes == nil {
			return nil, notOffered("notes")
		}
		return &notesResponse{h.cfg.Notes.of(p)}, nil
	})
	add(h, own, "GET /api/v1/health", "How learning goes in all sessions: the backlog and what failed.", read, func(c *call, _ *struct{}) (*healthResponse, error) {
		if err := c.everything(false); err != nil {
			return nil, err
		}
		log := m.Working()
		if log == nil {
			return nil, notOffered("a log of turns")
		}
		state, err := log.Health(c)
		if err != nil {
			return nil, err
		}
		return &healthResponse{*state, log.Stats().Queued}, nil
	})
	add(h, own, "POST /api/v1/retry", "Learn once more from what failed, of the scope's session, or of all sessions without one.", traits{write: true, long: true}, func(c *call, in *scopeBody) (*struct{}, error) {
		log := m.Working()
		if log == nil {
			return nil, notOffered("a log of turns")
		}
		if in.Scope == (backends.Scope{}) {
			if err := c.everything(true); err != nil {
				return nil, err
			}
			return &struct{}{}, log.RetryFailures(c)
		}
		s, err := c.open(in.Scope, true)
		if err != nil {
			return nil, err
		}
		return &struct{}{}, log.RetryFailures(c, s)
	})
	add(h, own, "GET /api/v1/tools", "How the tools of a workspace behave.", read, func(c *call, in *scopeQuery) (*toolsResponse, error) {
		s, err := c.open(in.scope(), false)
		if err != nil {
			return nil, err
		}
		backend, ok := backends.As[*reme.Backend](m.Backend())
		if !ok {
			return nil, notOffered("tool memory")
		}
		out, err := backend.Tools().Retrieve(c, &tool.RetrieveRequest{Scope: s})
		if err != nil {
			return nil, err
		}
		return &toolsResponse{orEmpty(out.Tools)}, nil
	})
}

type scopeBody struct {
	Scope backends.Scope `json:"scope,omitzero"`
}

// everything checks that the key opens every namespace: what it asks for has no partition.
func (c *call) everything(write bool) error {
	c.opened = true
	if !slices.Contains(c.key.Namespaces, access.Any) {
		return c.key.Allow(backends.Scope{}, write) // denied, since it names nothing
	}
	return c.key.AllowAll(backends.DefaultNamespace, write)
}

func blockOf(v *core.Value) Block {
	return Block{Name: v.Block.Name, Description: v.Block.Description, Owner: string(v.Block.Owner), Text: v.Text,
		Limit: v.Block.Limit, ReadOnly: v.Block.ReadOnly, Version: v.Version}
}
