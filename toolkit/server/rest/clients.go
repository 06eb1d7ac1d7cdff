// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

// This file is shared by the endpoints for clients of mem0 and of agent-memory-server. Those
// clients name a memory by its id alone, but an id of ours belongs to a partition. So they get an
// id that carries the partition, too. It grants nothing: the key decides as for any scope.

var errUnknownID = fmt.Errorf("%w: memory", backends.ErrNotFound)

// memoryID is the id of a memory in an address.
type memoryID struct {
	ID string `json:"-" path:"id"`
}

// encodeID returns the id of a memory for those clients: distinct for distinct memories, and
// safe in addresses.
func encodeID(p backends.Partition, id string) string {
	b, _ := json.Marshal([]string{string(p.Kind), p.Namespace, p.ID, id}) // texts always marshal
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeID is the inverse of encodeID. It is false for any other text, and for a workspace, which
// those clients lack.
func decodeID(text string) (p backends.Partition, id string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	var parts []string
	if err != nil || json.Unmarshal(b, &parts) != nil || len(parts) != 4 {
		return p, "", false
	}
	p = backends.Partition{Kind: backends.PartitionKind(parts[0]), Namespace: parts[1], ID: parts[2]}
	return p, parts[3], p.Validate() == nil && p.Kind != backends.PartitionWorkspace && encodeID(p, parts[3]) == text
}

// encoded reports whether an id has the form of encodeID, whatever it names. No client may give a
// memory such an id: it would mean another memory.
func encoded(text string) bool {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(b, new([]string)) == nil
}

// idOf is encodeID for a memory of c.scope.
func (c *call) idOf(id string) string {
	p, _ := c.scope.Speaker() // the routes of those clients open users and agents alone
	return encodeID(p, id)
}

// namespace returns the namespace of a request without a field for it.
func (c *call) namespace() string {
	return cmp.Or(c.r.Header.Get(access.HeaderNamespace), c.key.Namespace())
}

// whose opens the scope of a request. The namespace may be in a header. A request that names
// neither a user nor an agent gets the scope of the connection, see [access.Key.Scope].
func (c *call) whose(s backends.Scope, m access.Mode) (backends.Scope, error) {
	s.Namespace = cmp.Or(s.Namespace, c.namespace())
	if s.UserID == "" && s.AgentID == "" {
		of, err := c.key.Scope(c.r.Header)
		if err != nil {
			return s, fmt.Errorf("the request names no user_id: %w", err)
		}
		s = s.Or(of)
		s.Workspace = ""
	}
	return c.open(s, m)
}

// place opens the partition that an id carries, and returns the plain id; c.scope is the opened
// scope. Malformed, closed and missing ids all get the same answer, ErrNotFound.
func (c *call) place(id string, m access.Mode) (backends.Manager, string, error) {
	p, plain, ok := decodeID(id)
	if !ok {
		return nil, "", errUnknownID
	}
	if _, err := c.open(p.Scope(), access.Read); err != nil {
		return nil, "", errUnknownID
	}
	if err := c.lists(); err != nil {
		return nil, "", err
	}
	manager := c.Manager
	_, err := c.open(c.scope, m)
	return manager, plain, err
}

// lists returns an error if the backend cannot list or change single memories.
func (c *call) lists() error {
	if c.Manager == nil {
		return fmt.Errorf("%w: this backend does not list or change single memories", backends.ErrInvalid)
	}
	return nil
}

// memory returns the memory of an id.
func (c *call) memory(id string) (*backends.Memory, error) {
	manager, id, err := c.place(id, access.Read)
	if err != nil {
		return nil, err
	}
	return manager.Get(c, &backends.GetRequest{Scope: c.scope, ID: id})
}

// update changes the memory of an id.
func (c *call) update(id string, r *backends.UpdateRequest) (*backends.Memory, error) {
	manager, id, err := c.place(id, access.Write)
	if err != nil {
		return nil, err
	}
	r.Scope, r.ID = c.scope, id
	return manager.Update(c, r)
}

// deleteMemory deletes the memory of an id.
func (c *call) deleteMemory(id string) error {
	manager, id, err := c.place(id, access.Write)
	if err != nil {
		return err
	}
	return manager.Delete(c, &backends.DeleteRequest{Scope: c.scope, ID: id})
}

// find returns the memories of the scope that answer a query, best first, at most topK; for a blank
// query all that match the filter, in the order of storing.
func (c *call) find(r *backends.SearchRequest) ([]backends.Hit, error) {
	if strings.TrimSpace(r.Query) != "" {
		found, err := c.Backend().Search(c, r)
		if err != nil {
			return nil, err
		}
		return found.Hits, nil
	}
	if err := c.lists(); err != nil {
		return nil, err
	}
	var all []backends.Hit
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := c.Manager.List(c, &backends.ListRequest{
			Scope: r.Scope, Filter: r.Filter, IncludeExpired: r.IncludeExpired, IncludeSuperseded: r.IncludeSuperseded, Limit: 1000, Cursor: cursor,
		})
		if err != nil {
			return nil, err
		}
		for i := range page.Memories {
			all = append(all, backends.Hit{Memory: page.Memories[i], Score: 1})
		}
		cursor = page.Next
	}
	return all, nil
}

// cut returns at most size elements of all, from one on.
func cut[T any](all []T, from, size int) []T {
	from = min(max(from, 0), len(all))
	return all[from : from+min(size, len(all)-from)]
}

// detailed answers failures in the form of mem0's and agent-memory-server's servers.
func detailed(_ *Handler, err error, _ []byte) (int, any) {
	status, _, text := statusOf(err)
	return status, object{"detail": text}
}

// orNull returns nil for the zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
