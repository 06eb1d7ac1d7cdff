// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// batchSize is how many texts go into one request by default; OpenAI accepts 2,048.
const batchSize = 100

// Embedder is an embedding model as an Eino component. It runs the callbacks
// itself. It is safe for concurrent use.
type Embedder struct {
	client     *client
	model      string
	dimensions int // 0: the model's own
	batch      int // Config.BatchSize
}

var _ embedding.Embedder = (*Embedder)(nil)

// NewEmbedder returns an embedder, which connects with the first call. It returns
// backends.ErrInvalid without Model, with a malformed BaseURL or with negative Dimensions.
func NewEmbedder(_ context.Context, c *Config) (*Embedder, error) {
	connection, err := newClient(c)
	if err != nil {
		return nil, err
	}
	if c.Dimensions < 0 {
		return nil, fmt.Errorf("openai: %w: Dimensions cannot be negative", backends.ErrInvalid)
	}
	return &Embedder{client: connection, model: c.Model, dimensions: c.Dimensions, batch: cmp.Or(c.BatchSize, batchSize)}, nil
}

// GetType implements components.Typer.
func (e *Embedder) GetType() string { return "OpenAI" }

// IsCallbacksEnabled implements components.Checker: the embedder runs the
// callbacks itself.
func (e *Embedder) IsCallbacksEnabled() bool { return true }

// EmbedStrings implements embedding.Embedder: one vector a text, in the order of
// the texts. It returns backends.ErrModel for vectors that are missing or empty,
// and ErrDimension for vectors of another length than Config.Dimensions or each
// other. The option embedding.WithModel names another model for one call.
func (e *Embedder) EmbedStrings(ctx context.Context, texts []string, opts ...embedding.Option) ([][]float64, error) {
	name := *embedding.GetCommonOptions(&embedding.Options{Model: &e.model}, opts...).Model
	config := &embedding.Config{Model: name}
	ctx = callbacks.EnsureRunInfo(ctx, e.GetType(), components.ComponentOfEmbedding)
	ctx = callbacks.OnStart(ctx, &embedding.CallbackInput{Texts: texts, Config: config})
	out := make([][]float64, 0, len(texts))
	used := &embedding.TokenUsage{}
	for batch := range slices.Chunk(texts, e.batch) {
		vectors, usage, err := e.request(ctx, name, batch)
		if err != nil {
			callbacks.OnError(ctx, err)
			return nil, err
		}
		out = append(out, vectors...)
		used.PromptTokens += usage.PromptTokens
		used.TotalTokens += usage.TotalTokens
	}
	callbacks.OnEnd(ctx, &embedding.CallbackOutput{Embeddings: out, Config: config, TokenUsage: used})
	return out, nil
}

// request embeds the texts of one batch.
func (e *Embedder) request(ctx context.Context, name string, texts []string) (vectors [][]float64, usage *api.Usage, err error) {
	ctx, cancel := e.client.bound(ctx)
	defer cancel()
	resp, err := e.client.CreateEmbeddings(ctx, api.EmbeddingRequest{Input: texts, Model: api.EmbeddingModel(name), Dimensions: e.dimensions})
	if err == nil {
		vectors, err = e.inOrder(resp.Data, len(texts))
	}
	if err != nil {
		err = e.client.failure(ctx, fmt.Sprintf("embedding %d texts with %s", len(texts), name), err)
	}
	return vectors, &resp.Usage, err
}

// inOrder puts each vector at the place that its index names. It checks that each text has
// exactly one, of the requested length. Vectors without indexes come in order.
func (e *Embedder) inOrder(data []api.Embedding, n int) ([][]float64, error) {
	if len(data) != n {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", backends.ErrModel, len(data), n)
	}
	out := make([][]float64, n)
	indexed := slices.ContainsFunc(data, func(d api.Embedding) bool { return d.Index != 0 })
	for i, d := range data {
		if !indexed {
			d.Index = i
		}
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil || len(d.Embedding) == 0 {
			return nil, fmt.Errorf("%w: the vector of text %d of %d is empty, a second one or of no text", backends.ErrModel, d.Index, n)
		}
		if want := cmp.Or(e.dimensions, len(data[0].Embedding)); len(d.Embedding) != want {
			return nil, fmt.Errorf("%w: a vector has %d dimensions, not %d", backends.ErrDimension, len(d.Embedding), want)
		}
		out[d.Index] = make([]float64, len(d.Embedding))
		for i, x := range d.Embedding {
			out[d.Index][i] = float64(x)
		}
	}
	return out, nil
}
