// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"time"

	"github.com/einomem/einomem/backends/store"
)

// session is the state of a conversation.
type session struct {
	ID          string          `json:"id"`
	Title       string          `json:"title,omitempty"`
	Messages    int64           `json:"messages"`
	Tokens      int64           `json:"tokens"`
	Learnt      int64           `json:"learnt"` // up to this message
	Summary     string          `json:"summary,omitempty"`
	SummaryUpto int64           `json:"summary_upto,omitempty"` // the last message replaced by Summary, which left the window
	Failures    []store.Failure `json:"failures,omitempty"`
	Created     time.Time       `json:"created"`
	Updated     time.Time       `json:"updated"`
}

func sessionOf(s *store.Session) session {
	return session{ID: s.ID, Title: s.Title, Messages: s.LastSeq, Tokens: s.Tokens, Learnt: s.Watermark, Summary: s.Summary,
		SummaryUpto: s.SummaryUpto, Failures: s.Failures, Created: s.Created, Updated: s.Updated}
}

type (
	pageQuery struct {
		scopeQuery
		Limit  int    `json:"-" query:"limit"`
		Cursor string `json:"-" query:"cursor"`
	}
	rangeQuery struct {
		scopeQuery
		After int64 `json:"-" query:"after" jsonschema:"the sequence number before the first message"`
		Upto  int64 `json:"-" query:"upto" jsonschema:"the sequence number of the last message; 0: the newest"`
		Limit int   `json:"-" query:"limit"`
		Last  bool  `json:"-" query:"last" jsonschema:"the newest messages of the range instead of the oldest"`
	}
	sessionsResponse struct {
		Sessions []session `json:"sessions"`
		Next     string    `json:"next,omitempty"`
	}
	messagesResponse struct {
		Session  session       `json:"session"`
		Messages []store.Entry `json:"messages"`
	}
)

// sessionRoutes are the endpoints of conversations.
func (h *Handler) sessionRoutes() {
	if h.cfg.Store != nil {
		h.features = append(h.features, "sessions")
		scoped(h, "GET sessions", "The sessions of a user or an agent, in the order in which they began.", traits{}, (*call).sessions)
		scoped(h, "GET messages", "Messages of the session that session_id names.", traits{}, (*call).messages)
	}
}

func (c *call) sessions(in *pageQuery) (*sessionsResponse, error) {
	p, err := in.Scope.Speaker()
	if err != nil {
		return nil, err
	}
	page, err := c.Store.List(c, store.SessionQuery{Partition: &p, Page: store.Page{Limit: in.Limit, Cursor: in.Cursor}})
	if err != nil {
		return nil, err
	}
	out := &sessionsResponse{Sessions: []session{}, Next: page.Next}
	for i := range page.Sessions {
		out.Sessions = append(out.Sessions, sessionOf(&page.Sessions[i]))
	}
	return out, nil
}

func (c *call) messages(in *rangeQuery) (*messagesResponse, error) {
	p, err := in.Scope.Speaker()
	if err != nil {
		return nil, err
	}
	state, err := c.Store.Session(c, p, in.Scope.SessionID)
	if err != nil {
		return nil, err
	}
	of := store.Range{After: in.After, Upto: in.Upto, Limit: in.Limit, Last: in.Last}
	entries, err := c.Store.Read(c, p, in.Scope.SessionID, of)
	return &messagesResponse{sessionOf(state), orEmpty(entries)}, err
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
