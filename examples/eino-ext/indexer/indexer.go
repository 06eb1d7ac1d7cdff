// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package einomem is an indexer of eino-ext's shape over einomem: documents of the person who
// stores them, which the retriever finds beside the memories. See README.md.
package einomem

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/middleware"
)

// IndexerConfig configures an [Indexer].
type IndexerConfig struct {
	// Memory keeps the documents. The caller closes it. Required.
	Memory *middleware.MemoryMiddleware
	// Scope says to whom the documents of a call belong. Optional. Defaults to the scope of the
	// call's context, see middleware.WithScope.
	Scope func(ctx context.Context) (middleware.Scope, error)
}

// Indexer stores documents. It is safe for concurrent use.
type Indexer struct{ config IndexerConfig }

var _ indexer.Indexer = (*Indexer)(nil)

// NewIndexer returns an indexer, or an error if there is no memory.
func NewIndexer(_ context.Context, config *IndexerConfig) (*Indexer, error) {
	if config == nil || config.Memory == nil {
		return nil, fmt.Errorf("[NewIndexer] memory not provided")
	}
	return &Indexer{config: *config}, nil
}

// Store implements indexer.Indexer. It returns the ids of the passages that memory holds then: a
// long document has several. Documents replace those of the same source. Options have no effect,
// as memory has an embedder of its own.
func (x *Indexer) Store(ctx context.Context, docs []*schema.Document, opts ...indexer.Option) (ids []string, err error) {
	ctx = callbacks.EnsureRunInfo(ctx, x.GetType(), components.ComponentOfIndexer)
	ctx = callbacks.OnStart(ctx, &indexer.CallbackInput{Docs: docs})
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	within := ctx
	if x.config.Scope != nil {
		scope, err := x.config.Scope(ctx)
		if err != nil {
			return nil, fmt.Errorf("[einomem indexer] scope: %w", err)
		}
		within = middleware.WithScope(ctx, scope)
	}
	if ids, err = x.config.Memory.AsIndexer().Store(within, docs, opts...); err != nil {
		return nil, fmt.Errorf("[einomem indexer] %w", err)
	}
	callbacks.OnEnd(ctx, &indexer.CallbackOutput{IDs: ids})
	return ids, nil
}

// GetType implements components.Typer.
func (x *Indexer) GetType() string { return "Einomem" }

// IsCallbacksEnabled implements components.Checker: Store calls the callbacks itself.
func (x *Indexer) IsCallbacksEnabled() bool { return true }
