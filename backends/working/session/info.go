// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Info is what there is to know about a session without reading it.
type Info struct {
	ID    string
	Title string // a name for people; may be empty
	Agent string // the agent that the first turn was with; may be empty

	Created time.Time
	Updated time.Time // the last change: a message, a title, something learnt
	Expires time.Time // from then on the session is gone; zero: never

	Messages    int64  // the sequence number of the last message
	Tokens      int64  // of all messages, as counted when they were appended
	Summary     string // of the messages up to SummaryUpto
	SummaryUpto int64
	LearntUpto  int64 // the last message that was learnt from
	// Incomplete marks a fork that was interrupted: it has a part of the messages.
	// Repeat the fork, or delete it.
	Incomplete bool
}

func infoOf(st *store.Session) *Info {
	return &Info{
		ID: st.ID, Title: st.Title, Agent: st.Scope.AgentID, Created: st.Created, Updated: st.Updated, Expires: st.Expires,
		Messages: st.LastSeq, Tokens: st.Tokens, Summary: st.Summary, SummaryUpto: st.SummaryUpto, LearntUpto: st.Watermark,
		Incomplete: strings.HasPrefix(st.Retry.Reason, forkOf),
	}
}

// Get returns what there is to know about the session that the scope names, or
// ErrNotFound.
func (s *Service) Get(ctx context.Context, scope backends.Scope) (*Info, error) {
	k, err := keyOf(scope)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	st, err := s.cfg.Sessions.Session(ctx, k.partition, k.id)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", k, err)
	}
	return infoOf(st), nil
}
