// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/window"
)

// Memory is what is served: a middleware.MemoryMiddleware is one.
type Memory interface {
	Backend() backends.Backend
	Window() *window.Window   // sessions and archives; nil: not offered
	Working() *working.Memory // the log of turns; nil: not offered
	Forget(ctx context.Context, s backends.Scope) (*backends.Receipt, error)
	ForgetPart(ctx context.Context, s backends.Scope, part *backends.Part) (*backends.Receipt, error)
	Export(ctx context.Context, s backends.Scope, w io.Writer) (store.TransferCount, error)
	Import(ctx context.Context, s backends.Scope, r io.Reader, o *store.ImportOptions) (store.TransferCount, error)
	Flush(ctx context.Context) error
}

// Search searches m's backend, and what was said and is not learnt yet.
func Search(ctx context.Context, m Memory, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if w := m.Working(); w != nil && len(r.Beside) == 0 {
		said, _, err := w.Unlearnt(ctx, r.Scope)
		if err != nil {
			return nil, err
		}
		withBeside := *r
		withBeside.Beside = said
		r = &withBeside
	}
	return m.Backend().Search(ctx, r)
}

// Manager returns m's backend as one whose memories can be looked at and changed, or
// backends.ErrInvalid.
func Manager(m Memory) (backends.Manager, error) {
	if manager, ok := backends.As[backends.Manager](m.Backend()); ok {
		return manager, nil
	}
	return nil, fmt.Errorf("%w: this backend does not list or change single memories", backends.ErrInvalid)
}
