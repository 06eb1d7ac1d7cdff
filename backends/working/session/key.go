// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// key names a session.
type key struct {
	partition backends.Partition
	id        string
}

// String returns "namespace/kind/id" and the session's id, quoted.
func (k key) String() string { return fmt.Sprintf("%s %q", k.partition, k.id) }

// keyOf returns the session that a scope names.
func keyOf(s backends.Scope) (key, error) {
	s, err := s.Normalize()
	if err != nil {
		return key{}, err
	}
	p, err := s.Speaker()
	return key{partition: p, id: s.SessionID}, err
}

// Tag names the session of a scope in the marks of messages that are tied to it, see
// [Service.Load]. It tells nothing of whose it is; "" for a scope that names nobody.
func Tag(scope backends.Scope) string {
	k, err := keyOf(scope)
	if err != nil {
		return ""
	}
	return k.tag()
}

func (k key) tag() string {
	sum := sha256.Sum256([]byte(k.partition.String() + "\x00" + k.id))
	return hex.EncodeToString(sum[:8])
}

// find reads the state of a session, nil if there is none.
func (s *Service) find(ctx context.Context, k key) (*store.Session, error) {
	st, err := s.cfg.Sessions.Session(ctx, k.partition, k.id)
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	return st, err
}

// update changes the state of a session.
func (s *Service) update(ctx context.Context, k key, u store.SessionUpdate) (*store.Session, error) {
	u.Session = k.id
	return s.cfg.Sessions.Update(ctx, k.partition, &u)
}

// tokens returns the size of an entry as it was counted, or counts it. What says
// nothing is not shown.
func (s *Service) tokens(e *store.Entry) int {
	switch {
	case empty(e):
		return 0
	case e.Tokens > 0:
		return e.Tokens
	}
	return s.cfg.Counter.Message(e.Message.Message)
}

// empty reports whether an entry says nothing, as one that only marks the end of a
// turn. Blank texts count as nothing: providers refuse them.
func empty(e *store.Entry) bool {
	m := e.Message.Message
	return m == nil || strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 && m.ToolCallID == "" &&
		len(m.MultiContent) == 0 && len(m.UserInputMultiContent) == 0 && len(m.AssistantGenMultiContent) == 0
}
