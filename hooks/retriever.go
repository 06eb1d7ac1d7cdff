// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// AsRetriever returns the memory as an Eino retriever, for graphs (AddRetrieverNode): one document
// a memory, best first, with its score. The document of a long text is the passage that matched,
// and its metadata say so ("passage": true); Get returns the whole by the document's id. The scope
// comes from the call's context. It takes the options WithTopK, WithScoreThreshold, and WithDSLInfo
// with a filter in the form of [backends.ParseFilter].
//
// Unlike the hooks it returns errors: a retriever is called for its answer.
func (h *Hooks) AsRetriever() retriever.Retriever { return &memoryRetriever{hooks: h} }

type memoryRetriever struct{ hooks *Hooks }

var _ components.Typer = (*memoryRetriever)(nil)

// GetType implements components.Typer.
func (r *memoryRetriever) GetType() string { return "Memory" }

// Retrieve implements retriever.Retriever.
func (r *memoryRetriever) Retrieve(ctx context.Context, query string, opts ...retriever.Option) ([]*schema.Document, error) {
	docs, err := r.retrieve(ctx, query, opts)
	if err != nil {
		return nil, fmt.Errorf("retrieve memories: %w", err)
	}
	return docs, nil
}

func (r *memoryRetriever) retrieve(ctx context.Context, query string, opts []retriever.Option) ([]*schema.Document, error) {
	topK, threshold := r.hooks.cfg.TopK, 0.0
	o := retriever.GetCommonOptions(&retriever.Options{TopK: &topK, ScoreThreshold: &threshold}, opts...)
	scope, err := r.hooks.ResolveScope(ctx)
	if err != nil {
		return nil, err
	}
	req := &backends.SearchRequest{Scope: scope, Query: query, TopK: *o.TopK, Threshold: *o.ScoreThreshold}
	if len(o.DSLInfo) > 0 {
		if req.Filter, err = backends.ParseFilter(o.DSLInfo); err != nil {
			return nil, err
		}
	}
	resp, err := r.hooks.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	docs := make([]*schema.Document, len(resp.Hits))
	for i := range resp.Hits {
		docs[i] = document(&resp.Hits[i])
	}
	return docs, nil
}

// document carries the caller's metadata, and beside it memory's own fields.
func document(hit *backends.Hit) *schema.Document {
	meta := make(map[string]any, len(hit.Metadata)+8)
	maps.Copy(meta, hit.Metadata)
	for key, value := range map[string]string{
		"kind": string(hit.Kind), "when_to_use": hit.WhenToUse, "speaker": hit.Origin.Speaker,
		"user_id": hit.Scope.UserID, "agent_id": hit.Scope.AgentID, "session_id": hit.Scope.SessionID,
	} {
		if value != "" {
			meta[key] = value
		}
	}
	for key, at := range map[string]time.Time{"observed": hit.Observed, "valid": hit.Valid} {
		if !at.IsZero() {
			meta[key] = at.Format(time.RFC3339)
		}
	}
	if hit.Passage != "" {
		meta["passage"] = true
	}
	return (&schema.Document{ID: hit.ID, Content: cmp.Or(hit.Passage, hit.Text), MetaData: meta}).WithScore(hit.Score)
}
