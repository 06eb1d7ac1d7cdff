// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package einomem is a retriever of eino-ext's shape over einomem: the memories of the person who
// asks, as documents. See README.md.
package einomem

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/middleware"
)

// RetrieverConfig configures a [Retriever].
type RetrieverConfig struct {
	// Memory holds what is found. The caller closes it. Required.
	Memory *middleware.MemoryMiddleware
	// Scope says whose memory a call reads. Optional. Defaults to the scope of the call's context,
	// see middleware.WithScope.
	Scope func(ctx context.Context) (middleware.Scope, error)
	// TopK is the most documents of a call. Optional. Defaults to 5.
	TopK int
	// ScoreThreshold is the least score of a document, 0 to 1. Optional.
	ScoreThreshold *float64
}

// Retriever finds memories. It is safe for concurrent use.
type Retriever struct{ config RetrieverConfig }

var _ retriever.Retriever = (*Retriever)(nil)

// NewRetriever returns a retriever, or an error if there is no memory.
func NewRetriever(_ context.Context, config *RetrieverConfig) (*Retriever, error) {
	if config == nil || config.Memory == nil {
		return nil, fmt.Errorf("[NewRetriever] memory not provided")
	}
	r := &Retriever{config: *config}
	if r.config.TopK == 0 {
		r.config.TopK = 5
	}
	return r, nil
}

// Retrieve implements retriever.Retriever. It takes WithTopK, WithScoreThreshold, and WithDSLInfo
// with a filter as backends.ParseFilter reads it.
func (r *Retriever) Retrieve(ctx context.Context, query string, opts ...retriever.Option) (docs []*schema.Document, err error) {
	topK := r.config.TopK
	common := retriever.GetCommonOptions(&retriever.Options{TopK: &topK, ScoreThreshold: r.config.ScoreThreshold}, opts...)
	ctx = callbacks.EnsureRunInfo(ctx, r.GetType(), components.ComponentOfRetriever)
	ctx = callbacks.OnStart(ctx, &retriever.CallbackInput{Query: query, TopK: *common.TopK, ScoreThreshold: common.ScoreThreshold})
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	within := ctx
	if r.config.Scope != nil {
		scope, err := r.config.Scope(ctx)
		if err != nil {
			return nil, fmt.Errorf("[einomem retriever] scope: %w", err)
		}
		within = middleware.WithScope(ctx, scope)
	}
	all := []retriever.Option{retriever.WithTopK(*common.TopK), retriever.WithDSLInfo(common.DSLInfo)}
	if common.ScoreThreshold != nil {
		all = append(all, retriever.WithScoreThreshold(*common.ScoreThreshold))
	}
	if docs, err = r.config.Memory.AsRetriever().Retrieve(within, query, all...); err != nil {
		return nil, fmt.Errorf("[einomem retriever] %w", err)
	}
	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: docs})
	return docs, nil
}

// GetType implements components.Typer.
func (r *Retriever) GetType() string { return "Einomem" }

// IsCallbacksEnabled implements components.Checker: Retrieve calls the callbacks itself.
func (r *Retriever) IsCallbacksEnabled() bool { return true }
