// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
)

// ReembedRequest asks for new vectors.
type ReembedRequest struct {
	Scope    backends.Scope // Required. Names the workspace. Defaults to that of the context.
	Progress Progress       // Optional. Defaults to that of the Config. See [Watched].
}

// Reembed makes the vectors of a workspace anew with the ranker's embedder, after its
// model changed, and returns how many memories have one. Without an embedder it is
// ErrInvalid. After an error the workspace is as it was. See [recall.Ranker.Reembed].
func (l *Library) Reembed(ctx context.Context, r *ReembedRequest) (int, error) {
	if r == nil {
		r = &ReembedRequest{}
	}
	at, err := l.place(ctx, r.Scope)
	if err != nil {
		return 0, err
	}
	if _, err := l.settle(ctx, at); err != nil {
		return 0, fmt.Errorf("library: re-embedding workspace %s: %w", at.partition.ID, err)
	}
	tell, total := l.reporter(r.Progress), 0
	if err := l.each(ctx, at.partition, func(ids []string) error { total += len(ids); return nil }); err != nil {
		return 0, fmt.Errorf("library: re-embedding workspace %s: %w", at.partition.ID, err)
	}
	tell(0, total, StageEmbed)
	w := &watch{tell: tell, total: total}
	n, err := l.keeper.Reembed(context.WithValue(ctx, watchKey{}, w), at.partition)
	if err != nil {
		return n, fmt.Errorf("library: re-embedding workspace %s: %w", at.partition.ID, err)
	}
	tell(total, total, StageEmbed)
	return n, nil
}

type watchKey struct{}

// watch counts what is embedded for one Reembed.
type watch struct {
	tell  Progress
	total int
	done  atomic.Int64
}

// Watched returns an embedder like e that tells the Progress of a Reembed after each
// call how far it is: give it to the ranker instead of e. Without it a Reembed tells
// its beginning and its end.
func Watched(e embedding.Embedder) embedding.Embedder {
	if e == nil {
		return nil
	}
	return &watched{e}
}

type watched struct{ embedding.Embedder }

// EmbedStrings implements [embedding.Embedder].
func (w *watched) EmbedStrings(ctx context.Context, texts []string, opts ...embedding.Option) ([][]float64, error) {
	out, err := w.Embedder.EmbedStrings(ctx, texts, opts...)
	if on, ok := ctx.Value(watchKey{}).(*watch); ok && err == nil {
		on.tell(min(int(on.done.Add(int64(len(texts)))), on.total), on.total, StageEmbed)
	}
	return out, err
}

// GetType tells the type of the embedder inside.
func (w *watched) GetType() string {
	if t, ok := components.GetType(w.Embedder); ok {
		return t
	}
	return "Embedder"
}

// IsCallbacksEnabled tells whether the embedder inside calls callbacks itself.
func (w *watched) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(w.Embedder) }
