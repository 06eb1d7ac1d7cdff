// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
)

// Clients of mem0 and of agent-memory-server name a memory by its id alone. An id of ours is
// one of a partition. So what they get is an id that carries the partition, too. It proves
// nothing: the key decides as for any scope.

var errUnknownID = fmt.Errorf("%w: memory", backends.ErrNotFound)

// encodeID returns the id of a memory for those clients: distinct for distinct memories, and
// safe in addresses.
func encodeID(p backends.Partition, id string) string {
	b, _ := json.Marshal([]string{string(p.Kind), p.Namespace, p.ID, id}) // texts always marshal
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeID is the inverse of encodeID, and false for any other text, and for a workspace:
// those clients know none.
func decodeID(text string) (p backends.Partition, id string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	var parts []string
	if err != nil || json.Unmarshal(b, &parts) != nil || len(parts) != 4 {
		return p, "", false
	}
	p = backends.Partition{Kind: backends.PartitionKind(parts[0]), Namespace: parts[1], ID: parts[2]}
	return p, parts[3], p.Validate() == nil && p.Kind != backends.PartitionWorkspace && encodeID(p, parts[3]) == text
}

// idOf is encodeID for a memory of c.scope.
func (c *call) idOf(id string) string {
	p, _ := c.scope.Speaker() // the routes of those clients open users and agents alone
	return encodeID(p, id)
}

// namespace returns that of a request that has no place for one.
func (c *call) namespace() string {
	return cmp.Or(c.r.Header.Get(access.HeaderNamespace), c.key.Namespace())
}

// whose opens the scope of a request. The namespace may be in a header; where neither a user
// nor an agent is named, it is the scope of the connection, see [access.Key.Scope].
func (c *call) whose(s backends.Scope, write bool) (backends.Scope, error) {
	s.Namespace = cmp.Or(s.Namespace, c.namespace())
	if s.UserID == "" && s.AgentID == "" {
		of, err := c.key.Scope(c.r.Header)
		switch {
		case errors.Is(err, backends.ErrNoScope):
			return s, fmt.Errorf("%w: name a user_id", backends.ErrNoScope)
		case err != nil:
			return s, err
		}
		s = s.Or(of)
		s.Workspace = ""
	}
	return c.open(s, write)
}

// place opens the partition of a memory that is named by an id of encodeID, or by its plain
// id in a scope, and returns the plain id; c.scope is what it opened. There is one answer,
// ErrNotFound, for what is no id, what the key does not open, and what does not exist.
func (c *call) place(id string, s backends.Scope, write bool) (backends.Manager, string, error) {
	if p, plain, ok := decodeID(id); ok {
		id, s = plain, p.Scope()
	}
	s, err := c.whose(s, false)
	if err != nil {
		return nil, "", errUnknownID
	}
	if _, err = c.open(s, write); err != nil {
		return nil, "", err
	}
	manager, err := access.Manager(c.cfg.Memory)
	return manager, id, err
}

// locate is place and the memory there.
func (c *call) locate(id string, s backends.Scope, write bool) (backends.Manager, *backends.Memory, error) {
	manager, id, err := c.place(id, s, write)
	if err != nil {
		return nil, nil, err
	}
	m, err := manager.Get(c, &backends.GetRequest{Scope: c.scope, ID: id})
	if errors.Is(err, backends.ErrInvalid) {
		err = errUnknownID
	}
	return manager, m, err
}

// find returns the memories of the scope that answer a query, best first, at most topK; for a
// blank query all that match the filter, in the order in which they were stored.
func (c *call) find(r *backends.SearchRequest) ([]backends.Hit, error) {
	if strings.TrimSpace(r.Query) != "" {
		found, err := c.cfg.Memory.Backend().Search(c, r)
		if err != nil {
			return nil, err
		}
		return found.Hits, nil
	}
	manager, err := access.Manager(c.cfg.Memory)
	if err != nil {
		return nil, err
	}
	return pages(func(cursor string) (hits []backends.Hit, next string, err error) {
		page, err := manager.List(c, &backends.ListRequest{Scope: r.Scope, Filter: r.Filter, IncludeExpired: r.IncludeExpired, Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		for i := range page.Memories {
			hits = append(hits, backends.Hit{Memory: page.Memories[i], Score: 1})
		}
		return hits, page.Next, nil
	})
}

// pages returns what all pages of a listing have.
func pages[T any](read func(cursor string) ([]T, string, error)) (out []T, err error) {
	for cursor, more := "", true; more && err == nil; more = cursor != "" {
		var page []T
		page, cursor, err = read(cursor)
		out = append(out, page...)
	}
	return out, err
}

// audited logs one of several writes of a call, and returns its failure.
func (c *call) audited(err error) error {
	c.cfg.Guard.Audit(c, c.key, c.route.pattern+" (one of several)", c.scope, err)
	return err
}

// cut returns at most size elements of all, from one on.
func cut[T any](all []T, from, size int) []T {
	from = min(max(from, 0), len(all))
	return all[from : from+min(size, len(all)-from)]
}

// unsupported is what a server of others has and this one has not: 404, with a text.
type unsupported string

func (u unsupported) Error() string { return "this server does not offer " + string(u) }

// detailed answers failures as the servers of mem0 and agent-memory-server do.
func detailed(_ *Handler, err error, _ []byte) (int, any) {
	var u unsupported
	if errors.As(err, &u) {
		return http.StatusNotFound, object{"detail": u.Error()}
	}
	status, _, text := statusOf(err)
	return status, object{"detail": text}
}

// unsupported registers paths of others' servers that are not offered here.
func (h *Handler) unsupported(f *family, what string, patterns ...string) {
	for _, p := range patterns {
		add(h, f, p, "Not offered.", traits{stream: true}, func(*call, *struct{}) (any, error) { return nil, unsupported(what) })
	}
}
