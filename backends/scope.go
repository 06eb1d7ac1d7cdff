// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxScopePart is the longest scope part, in bytes after trimming.
const MaxScopePart = 256

// DefaultNamespace is the namespace of a scope that leaves it empty.
const DefaultNamespace = "default"

// Scope says on whose behalf a call is made. The kind of memory decides which parts
// choose the partition (see [Scope.Partition]); AgentID and SessionID are also attributes
// to filter by inside a partition.
//
// A part is valid UTF-8 of 1 to [MaxScopePart] bytes after trimming, free of control
// characters and '*'. Everything else is legal and safe: ':', '{', '/', quotes, emoji. An
// empty part is absent.
type Scope struct {
	Namespace string `json:"namespace,omitempty"` // the application or tenant; defaults to DefaultNamespace
	Workspace string `json:"workspace,omitempty"` // experience shared on purpose between agents and users
	UserID    string `json:"user_id,omitempty"`
	AgentID   string `json:"agent_id,omitempty"`
	SessionID string `json:"session_id,omitempty"`
}

// PartitionKind says whom a partition belongs to.
type PartitionKind string

// The kinds of partition.
const (
	PartitionUser      PartitionKind = "user"      // knowledge about one user, and the user's words
	PartitionAgent     PartitionKind = "agent"     // an agent's knowledge of itself
	PartitionWorkspace PartitionKind = "workspace" // experience shared on purpose
)

// Partition is the unit of isolation: every stored thing lives in exactly one, and every
// call stays inside one. Namespace, Kind and ID are all part of every storage key, so the
// user "ann" and the agent "ann" never meet.
//
// Partitions come from [Scope.Partition], which validates the parts; stores
// check again with [Partition.Validate].
type Partition struct {
	Namespace string        `json:"namespace"`
	Kind      PartitionKind `json:"kind"`
	ID        string        `json:"id"`
}

// Normalize returns the scope with its parts trimmed, or [ErrInvalid] naming the illegal
// part.
func (s Scope) Normalize() (Scope, error) {
	parts := []struct {
		name string
		p    *string
	}{{"namespace", &s.Namespace}, {"workspace", &s.Workspace}, {"user id", &s.UserID}, {"agent id", &s.AgentID}, {"session id", &s.SessionID}}
	for _, part := range parts {
		if *part.p == "" {
			continue
		}
		trimmed, err := scopePart(part.name, *part.p)
		if err != nil {
			return Scope{}, err
		}
		*part.p = trimmed
	}
	return s, nil
}

// Partition returns the partition of the given kind that s names: by UserID, AgentID or
// Workspace. It returns [ErrNoScope] when that part is absent and [ErrInvalid] when a
// part is illegal.
func (s Scope) Partition(k PartitionKind) (Partition, error) {
	s, err := s.Normalize()
	if err != nil {
		return Partition{}, err
	}
	p := Partition{Namespace: cmp.Or(s.Namespace, DefaultNamespace), Kind: k}
	var field string
	switch k {
	case PartitionUser:
		p.ID, field = s.UserID, "UserID"
	case PartitionAgent:
		p.ID, field = s.AgentID, "AgentID"
	case PartitionWorkspace:
		p.ID, field = s.Workspace, "Workspace"
	default:
		return Partition{}, fmt.Errorf("partition kind %q: %w: use user, agent or workspace", k, ErrInvalid)
	}
	if p.ID == "" {
		return Partition{}, fmt.Errorf("%s partition: %w: set Scope.%s", k, ErrNoScope, field)
	}
	return p, nil
}

// Speaker returns the partition for words that are said: the user's, else the agent's
// own. It never falls back to a workspace.
func (s Scope) Speaker() (Partition, error) {
	if strings.TrimSpace(s.UserID) == "" && strings.TrimSpace(s.AgentID) != "" {
		return s.Partition(PartitionAgent)
	}
	return s.Partition(PartitionUser)
}

// Owner returns the partition of the person that s names: the user's, else the agent's,
// else the workspace.
func (s Scope) Owner() (Partition, error) {
	if s.UserID == "" && s.AgentID == "" && s.Workspace != "" {
		return s.Partition(PartitionWorkspace)
	}
	return s.Speaker()
}

// Or returns s with its absent parts taken from fallback. A session belongs to one user:
// a fallback with another user than s keeps its session to itself.
func (s Scope) Or(fallback Scope) Scope {
	if s.UserID != "" && fallback.UserID != "" && s.UserID != fallback.UserID {
		fallback.SessionID = ""
	}
	s.Namespace = cmp.Or(s.Namespace, fallback.Namespace)
	s.Workspace = cmp.Or(s.Workspace, fallback.Workspace)
	s.UserID = cmp.Or(s.UserID, fallback.UserID)
	s.AgentID = cmp.Or(s.AgentID, fallback.AgentID)
	s.SessionID = cmp.Or(s.SessionID, fallback.SessionID)
	return s
}

// IsZero reports whether all parts are empty.
func (s Scope) IsZero() bool { return s == Scope{} }

// Validate returns [ErrInvalid] when a part is illegal, or the kind unknown.
func (p Partition) Validate() error {
	switch p.Kind {
	case PartitionUser, PartitionAgent, PartitionWorkspace:
	default:
		return fmt.Errorf("partition kind %q: %w", p.Kind, ErrInvalid)
	}
	for _, part := range []struct{ name, value string }{{"partition namespace", p.Namespace}, {"partition id", p.ID}} {
		trimmed, err := scopePart(part.name, part.value)
		if err != nil {
			return err
		}
		if trimmed != part.value {
			return fmt.Errorf("%s %q: %w: has surrounding space", part.name, part.value, ErrInvalid)
		}
	}
	return nil
}

// Scope returns the scope that names the partition alone.
func (p Partition) Scope() Scope {
	s := Scope{Namespace: p.Namespace}
	switch p.Kind {
	case PartitionUser:
		s.UserID = p.ID
	case PartitionAgent:
		s.AgentID = p.ID
	default:
		s.Workspace = p.ID
	}
	return s
}

// String returns "namespace/kind/id" with the parts percent-encoded: distinct
// partitions have distinct strings.
func (p Partition) String() string {
	return url.PathEscape(p.Namespace) + "/" + string(p.Kind) + "/" + url.PathEscape(p.ID)
}

func scopePart(name, value string) (string, error) {
	if !utf8.ValidString(value) {
		return "", fmt.Errorf("scope %s %q: %w: not UTF-8", name, value, ErrInvalid)
	}
	trimmed := strings.TrimSpace(value)
	switch {
	case trimmed == "":
		return "", fmt.Errorf("scope %s %q: %w: blank", name, value, ErrInvalid)
	case len(trimmed) > MaxScopePart:
		return "", fmt.Errorf("scope %s: %w: %d bytes, at most %d", name, ErrInvalid, len(trimmed), MaxScopePart)
	case strings.ContainsRune(trimmed, '*'):
		return "", fmt.Errorf("scope %s %q: %w: '*' is never part of a name, and there are no wildcards", name, value, ErrInvalid)
	case strings.ContainsFunc(trimmed, unicode.IsControl):
		return "", fmt.Errorf("scope %s %q: %w: has a control character", name, value, ErrInvalid)
	}
	return trimmed, nil
}

type scopeKey struct{}

// WithScope returns a context that carries s to every call made with it.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// ScopeFrom returns the scope that ctx carries, and whether it carries one.
func ScopeFrom(ctx context.Context) (Scope, bool) {
	s, ok := ctx.Value(scopeKey{}).(Scope)
	return s, ok
}

type incognitoKey struct{}

// Incognito returns a context whose runs and tool calls leave no memory: the log, learning,
// archives and memory tools all skip them. Known memories are still found and shown. A
// program's direct calls of a backend's methods work as ever. An interrupt drops the
// context: resume the run with such a context, too.
func Incognito(ctx context.Context) context.Context {
	return context.WithValue(ctx, incognitoKey{}, true)
}

// IsIncognito reports whether ctx comes from [Incognito].
func IsIncognito(ctx context.Context) bool { return ctx.Value(incognitoKey{}) != nil }
