// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
)

// Usage says how full a session is: Tokens are those of the messages that no
// summary covers, Limit is what a context may have.
type Usage struct {
	compaction.Usage
	Threshold float64 // the share of Limit at which a summary is made
}

// UntilSummary is how far it is to the next summary, in percent: 100 and more
// when it is due.
func (u Usage) UntilSummary() float64 {
	return 100 * float64(u.Tokens) / max(float64(u.Limit)*u.Threshold, 1)
}

// Usage measures a session against a limit of tokens, and against the share of it
// at which summaries are made, from 0 to 1; 0 is 1. It costs a look at the state,
// and a read of what is not summarised if there is a summary. Tokens are as they
// were counted when the messages were appended. No such session is ErrNotFound.
func (s *Service) Usage(ctx context.Context, scope backends.Scope, limit int, threshold float64) (*Usage, error) {
	if limit <= 0 || threshold < 0 || threshold > 1 {
		return nil, fmt.Errorf("usage: %w: limit %d, threshold %v", backends.ErrInvalid, limit, threshold)
	}
	if threshold == 0 {
		threshold = 1
	}
	k, err := keyOf(scope)
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	st, err := s.cfg.Sessions.Session(ctx, k.partition, k.id)
	if err != nil {
		return nil, fmt.Errorf("usage of session %s: %w", k, err)
	}
	u := &Usage{Usage: compaction.Usage{Tokens: int(st.Tokens), Limit: limit}, Threshold: threshold}
	if st.SummaryUpto == 0 {
		return u, nil
	}
	u.Tokens = 0
	err = s.each(ctx, k, st.SummaryUpto, st.LastSeq, func(e *store.Entry) { u.Tokens += e.Tokens })
	if err != nil {
		return nil, fmt.Errorf("usage of session %s: %w", k, err)
	}
	return u, nil
}

// each reads the entries with after < seq <= upto in order.
func (s *Service) each(ctx context.Context, k key, after, upto int64, do func(*store.Entry)) error {
	for after < upto {
		entries, err := s.cfg.Sessions.Read(ctx, k.partition, k.id, store.Range{After: after, Upto: upto})
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("%w: it was deleted while it was read", backends.ErrNotFound)
		}
		for i := range entries {
			do(&entries[i])
		}
		after = entries[len(entries)-1].Seq
	}
	return nil
}
