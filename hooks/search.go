// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// search asks the backend, for no longer than Config.SearchTimeout even of one
// that does not heed its context. Failures are reported; they are no hits.
func (h *Hooks) search(ctx context.Context, s backends.Scope, query string) []backends.Hit {
	resp, err := h.searchInTime(ctx, h.request(s, query))
	switch {
	case err != nil:
		h.report(ctx, StageSearch, fmt.Errorf("search for the reply: %w", err))
		return nil
	case resp == nil:
		return nil
	case resp.Degraded != nil:
		h.report(ctx, StageSearch, fmt.Errorf("search for the reply, answered in part: %w", resp.Degraded))
	}
	return resp.Hits[:min(len(resp.Hits), h.cfg.TopK)]
}

func (h *Hooks) request(s backends.Scope, query string) *backends.SearchRequest {
	r := &backends.SearchRequest{Scope: s, Query: query, TopK: h.cfg.TopK, Threshold: h.cfg.Threshold}
	if h.cfg.SearchByAgent && s.AgentID != "" && s.UserID != "" {
		byAgent := backends.Eq("agent_id", s.AgentID)
		r.Filter = &byAgent
	}
	return r
}

func (h *Hooks) searchInTime(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if h.cfg.SearchTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.cfg.SearchTimeout)
		defer cancel()
	}
	type answer struct {
		resp *backends.SearchResponse
		err  error
	}
	got := make(chan answer, 1) // buffered: an answer that comes too late is dropped
	go func() {
		var a answer
		a.err = safely("search", func() (err error) {
			a.resp, err = h.cfg.Backend.Search(ctx, r)
			return err
		})
		got <- a
	}()
	select {
	case a := <-got:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", backends.ErrUnavailable, ctx.Err())
	}
}
