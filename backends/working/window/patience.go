// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
)

// within returns ctx as one call of the store may use it.
func (w *Window) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.cfg.StoreTimeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, w.cfg.StoreTimeout)
}

// patient is the archive of one call of Fit: a store that is away holds it up once,
// however many steps have something to archive.
type patient struct {
	window *Window
	inner  compaction.Archive

	mu   sync.Mutex
	away error // nil as far as is known
}

// Put implements compaction.Archive.
func (p *patient) Put(ctx context.Context, messages []*schema.Message) (string, error) {
	if err := p.gone(nil); err != nil {
		return "", err
	}
	ctx, cancel := p.window.within(ctx)
	defer cancel()
	ref, err := p.put(ctx, messages)
	if errors.Is(err, backends.ErrUnavailable) && ctx.Err() == nil { // one connection may have been cut
		ref, err = p.put(ctx, messages)
	}
	if errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return "", p.gone(err)
	}
	return ref, err
}

// put makes an error of a panic, such as one of Config.Redact: steps archive in
// goroutines of their own, where nobody else could.
func (p *patient) put(ctx context.Context, messages []*schema.Message) (ref string, err error) {
	defer func() {
		if r := recover(); r != nil {
			ref, err = "", fmt.Errorf("archiving panicked: %v", r)
		}
	}()
	return p.inner.Put(ctx, messages)
}

// gone notes that the store is away, unless err is nil, and returns since when.
func (p *patient) gone(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away == nil {
		p.away = err
	}
	return p.away
}

// defaultStoreTimeout is the default of Config.StoreTimeout.
const defaultStoreTimeout = 2 * time.Second
