// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
)

// found is what was read for a prompt.
type found struct {
	core     *schema.Message
	history  []*schema.Message
	searched bool // the search was made and answered
}

// read reads all parts at the same time, and writes to p what the search found and
// which of them failed.
func (b *Builder) read(ctx context.Context, r *Request, question *schema.Message, p *Prompt) *found {
	f := &found{}
	var wg sync.WaitGroup
	if b.cfg.Core != nil {
		wg.Go(func() {
			p.Failed.Core = safely("core blocks", func() (err error) { f.core, err = b.readCore(ctx, r.Scope); return err })
		})
	}
	if b.cfg.Sessions != nil && !r.NoHistory && strings.TrimSpace(r.Scope.SessionID) != "" {
		wg.Go(func() {
			p.Failed.History = safely("history", func() (err error) { f.history, err = b.readHistory(ctx, r.Scope); return err })
		})
	}
	if query := einox.Text(question); b.cfg.Backend != nil && !r.NoMemories && query != "" {
		wg.Go(func() {
			p.Failed.Memories = safely("memories", func() error {
				resp, err := b.search(ctx, r, query)
				if resp != nil {
					p.Hits, p.Degraded, f.searched = resp.Hits, resp.Degraded, true
				}
				return err
			})
		})
	}
	wg.Wait()
	return f
}

// safely makes an error of a panic, which nobody else could catch here: the reads
// have goroutines of their own.
func safely(what string, read func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %w: reading it panicked: %v", what, backends.ErrUnavailable, r)
		}
	}()
	return read()
}

func (b *Builder) readCore(ctx context.Context, s backends.Scope) (*schema.Message, error) {
	m, err := b.cfg.Core.Message(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("core blocks: %w", err)
	}
	return m, nil
}

func (b *Builder) readHistory(ctx context.Context, s backends.Scope) ([]*schema.Message, error) {
	h, err := b.cfg.Sessions.Load(ctx, &session.LoadRequest{Scope: s, Tokens: b.cfg.HistoryTokens})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return h.Messages, nil
}

func (b *Builder) search(ctx context.Context, r *Request, query string) (*backends.SearchResponse, error) {
	resp, err := b.cfg.Backend.Search(ctx, &backends.SearchRequest{
		Scope: r.Scope, Query: query, TopK: r.TopK, Threshold: r.Threshold, Kinds: r.Kinds, Filter: r.Filter,
	})
	if err != nil {
		return nil, fmt.Errorf("memories: %w", err)
	}
	if resp == nil {
		return nil, fmt.Errorf("memories: %w: the backend gave no answer", backends.ErrUnavailable)
	}
	return resp, nil
}
