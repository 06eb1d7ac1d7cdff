// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// Embedder is an embedding model as an Eino component. It reports to callbacks
// itself. Use [NewEmbedder]. It is safe for concurrent use.
type Embedder struct {
	client     *client
	model      string
	dimensions int // asked for; 0: the model's own
	batch      int
	learnt     atomic.Int64 // the dimension of the vectors seen; 0: none yet
}

var _ embedding.Embedder = (*Embedder)(nil)

// NewEmbedder returns an embedder; it makes no request yet. It returns
// backends.ErrInvalid for a config without Model, with a BaseURL that is none or
// with negative numbers.
func NewEmbedder(_ context.Context, c *EmbedderConfig) (*Embedder, error) {
	if c == nil {
		return nil, fmt.Errorf("openai: embedder: %w: a config is required", backends.ErrInvalid)
	}
	if err := checkModel(c.Model); err != nil {
		return nil, err
	}
	if c.Dimensions < 0 || c.BatchSize < 0 {
		return nil, fmt.Errorf("openai: embedder: %w: Dimensions and BatchSize cannot be negative", backends.ErrInvalid)
	}
	conn, err := newClient(connection{
		key: c.APIKey, base: c.BaseURL, http: c.HTTPClient, timeout: c.Timeout, backoff: c.Backoff, retries: c.MaxRetries, clock: c.Clock,
	})
	if err != nil {
		return nil, err
	}
	return &Embedder{client: conn, model: c.Model, dimensions: c.Dimensions, batch: orDefault(c.BatchSize, defaultBatchSize)}, nil
}

// EmbedStrings implements embedding.Embedder: one vector a text, in the order of
// the texts, all of one dimension. A blank text is backends.ErrInvalid; vectors
// that are missing, empty or not finite are backends.ErrModel; vectors of another
// dimension than the configured one are backends.ErrDimension. The option
// embedding.WithModel names another model for one call.
func (e *Embedder) EmbedStrings(ctx context.Context, texts []string, opts ...embedding.Option) (out [][]float64, err error) {
	name := *embedding.GetCommonOptions(&embedding.Options{Model: &e.model}, opts...).Model
	conf := &embedding.Config{Model: name, EncodingFormat: string(api.EmbeddingEncodingFormatFloat)}
	ctx = callbacks.EnsureRunInfo(ctx, e.GetType(), components.ComponentOfEmbedding)
	ctx = callbacks.OnStart(ctx, &embedding.CallbackInput{Texts: texts, Config: conf})
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			return nil, fmt.Errorf("openai: embedding text %d of %d: %w: it is blank", i+1, len(texts), backends.ErrInvalid)
		}
	}
	out = make([][]float64, 0, len(texts))
	used := &embedding.TokenUsage{}
	for from := 0; from < len(texts); from += e.batch {
		vectors, usage, err := e.request(ctx, name, texts[from:min(from+e.batch, len(texts))])
		if err != nil {
			return nil, err
		}
		out = append(out, vectors...)
		used.PromptTokens += usage.PromptTokens
		used.TotalTokens += usage.TotalTokens
	}
	if err = e.checkDimension(name, out); err != nil {
		return nil, err
	}
	callbacks.OnEnd(ctx, &embedding.CallbackOutput{Embeddings: out, Config: conf, TokenUsage: used})
	return out, nil
}

func (e *Embedder) request(ctx context.Context, name string, texts []string) ([][]float64, api.Usage, error) {
	doing := fmt.Sprintf("embedding %d texts with %q", len(texts), name)
	resp, err := e.client.api.CreateEmbeddings(ctx, api.EmbeddingRequest{
		Input: texts, Model: api.EmbeddingModel(name), Dimensions: e.dimensions, EncodingFormat: api.EmbeddingEncodingFormatFloat,
	})
	if err != nil {
		return nil, api.Usage{}, e.client.failure(doing, err)
	}
	vectors, err := inOrder(resp.Data, len(texts))
	if err != nil {
		return nil, api.Usage{}, &Error{doing: doing, Message: err.Error(), wraps: []error{backends.ErrModel}}
	}
	return vectors, resp.Usage, nil
}

// Dimension returns the length of the model's vectors. The first call embeds one
// word to find out, unless texts were embedded before or Dimensions is
// configured; a failure is not remembered.
func (e *Embedder) Dimension(ctx context.Context) (int, error) {
	if e.dimensions > 0 {
		return e.dimensions, nil
	}
	if d := e.learnt.Load(); d > 0 {
		return int(d), nil
	}
	vectors, err := e.EmbedStrings(ctx, []string{"dimension"})
	if err != nil {
		return 0, fmt.Errorf("probing the dimension: %w", err)
	}
	return len(vectors[0]), nil
}

// Model returns the model's name: what recall.Config calls EmbeddingModel.
func (e *Embedder) Model() string { return e.model }

// GetType implements components.Typer.
func (e *Embedder) GetType() string { return "OpenAI" }

// IsCallbacksEnabled implements components.Checker: the embedder reports itself.
func (e *Embedder) IsCallbacksEnabled() bool { return true }

// String names the model, without the API key.
func (e *Embedder) String() string { return fmt.Sprintf("openai embedder %q", e.model) }

// GoString is String.
func (e *Embedder) GoString() string { return e.String() }

// checkDimension compares all vectors with each other and with what is known of
// the model.
func (e *Embedder) checkDimension(name string, vectors [][]float64) error {
	want := e.dimensions
	if want == 0 && name == e.model {
		want = int(e.learnt.Load())
	}
	for _, v := range vectors {
		if want == 0 {
			want = len(v)
		}
		if len(v) != want {
			return &Error{doing: fmt.Sprintf("embedding with %q", name), wraps: []error{backends.ErrDimension},
				Message: fmt.Sprintf("a vector has %d dimensions, not %d", len(v), want)}
		}
	}
	if name == e.model {
		e.learnt.Store(int64(want))
	}
	return nil
}

// inOrder puts the vectors at the place that their index says, and makes sure
// that each text has exactly one.
func inOrder(data []api.Embedding, n int) ([][]float64, error) {
	if len(data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(data), n)
	}
	out := make([][]float64, n)
	for _, d := range data {
		switch {
		case d.Index < 0 || d.Index >= n:
			return nil, fmt.Errorf("a vector for text %d of %d", d.Index, n)
		case out[d.Index] != nil:
			return nil, fmt.Errorf("two vectors for text %d of %d", d.Index, n)
		case len(d.Embedding) == 0:
			return nil, fmt.Errorf("the vector of text %d is empty", d.Index)
		}
		v := make([]float64, len(d.Embedding))
		for i, x := range d.Embedding {
			if v[i] = float64(x); math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
				return nil, fmt.Errorf("the vector of text %d is not finite", d.Index)
			}
		}
		out[d.Index] = v
	}
	return out, nil
}
