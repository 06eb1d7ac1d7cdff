// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// AsIndexer returns the memory as an Eino indexer, for graphs (AddIndexerNode) behind loaders and
// splitters. The backend keeps the documents in the scope of the call's context, where they replace
// those of the same source ([backends.AddRequest.Documents]), and [Hooks.AsRetriever] finds them. It returns the ids of the passages that memory
// holds then: a long document has several. Options are ignored, as memory has an embedder of its own.
//
// It returns errors: of the backend, of a missing scope, and ErrInvalid under backends.Incognito.
func (h *Hooks) AsIndexer() indexer.Indexer { return (*memoryIndexer)(h) }

type memoryIndexer Hooks

// GetType implements components.Typer.
func (*memoryIndexer) GetType() string { return "Memory" }

// Store implements indexer.Indexer.
func (x *memoryIndexer) Store(ctx context.Context, docs []*schema.Document, _ ...indexer.Option) (ids []string, err error) {
	scope, err := (*Hooks)(x).ResolveScope(ctx)
	if err == nil && backends.IsIncognito(ctx) {
		err = fmt.Errorf("%w: this turn is not to be remembered", backends.ErrInvalid)
	}
	resp := &backends.AddResponse{}
	if err == nil && len(docs) > 0 {
		resp, err = x.cfg.Backend.Add(ctx, &backends.AddRequest{Scope: scope, Kind: backends.KindDocument, Documents: docs})
	}
	if err != nil {
		return nil, fmt.Errorf("index documents: %w", err)
	}
	for _, item := range resp.Items {
		switch item.Outcome {
		case backends.OutcomeAdded, backends.OutcomeUpdated, backends.OutcomeUnchanged:
			ids = append(ids, item.Memory.ID)
		}
	}
	return ids, nil
}
