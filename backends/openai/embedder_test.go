// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	api "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

// lengths embeds each text as [its length, 1] and sends the vectors back in
// reverse order.
func lengths(f **fakeAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		requests := (*f).requests()
		input := requests[len(requests)-1]["input"].([]any)
		var data []string
		for i := len(input) - 1; i >= 0; i-- {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(input[i].(string))))
		}
		raw(200, `{"data":[`+strings.Join(data, ",")+`],"usage":{"prompt_tokens":3,"total_tokens":3}}`)(w, nil)
	}
}

func serveLengths(t *testing.T) *fakeAPI {
	var f *fakeAPI
	f = serve(t, lengths(&f))
	return f
}

func TestEmbedderKeepsTheOrderAcrossBatches(t *testing.T) {
	f := serveLengths(t)
	var texts []string
	for i := range 7 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	out, err := f.embedder(t, func(c *openai.EmbedderConfig) { c.BatchSize = 3 }).EmbedStrings(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, out, 7)
	for i, v := range out {
		assert.Equal(t, []float64{float64(i + 1), 1}, v)
	}
	var sizes []int
	for _, r := range f.requests() {
		sizes = append(sizes, len(r["input"].([]any)))
	}
	assert.Equal(t, []int{3, 3, 1}, sizes)
	assert.Equal(t, "embed-test", f.requests()[0]["model"])
	assert.NotContains(t, f.requests()[0], "dimensions")
}

func TestEmbedderBatchesOfAHundred(t *testing.T) {
	f := serveLengths(t)
	_, err := f.embedder(t).EmbedStrings(t.Context(), strings.Fields(strings.Repeat("a ", 201)))
	require.NoError(t, err)
	assert.Len(t, f.requests(), 3)
}

func TestEmbedderReportsToCallbacks(t *testing.T) {
	var in *embedding.CallbackInput
	var out *embedding.CallbackOutput
	var failed error
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, i callbacks.CallbackInput) context.Context {
			in = embedding.ConvCallbackInput(i)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, o callbacks.CallbackOutput) context.Context {
			out = embedding.ConvCallbackOutput(o)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			failed = err
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Component: components.ComponentOfEmbedding}, h)
	e := serveLengths(t).embedder(t, func(c *openai.EmbedderConfig) { c.BatchSize = 1 })
	_, err := e.EmbedStrings(ctx, []string{"a", "bb"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "bb"}, in.Texts)
	assert.Len(t, out.Embeddings, 2)
	assert.Equal(t, 6, out.TokenUsage.TotalTokens, "of both requests")
	_, err = e.EmbedStrings(ctx, []string{"a", " "})
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Equal(t, err, failed)
}

func TestVectorsThatMakeNoSense(t *testing.T) {
	tests := []struct {
		name, data string
		sentinel   error
	}{
		{"too few", `[{"index":0,"embedding":[1,2]}]`, backends.ErrModel},
		{"too many", `[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]`, backends.ErrModel},
		{"one twice", `[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]`, backends.ErrModel},
		{"index out of range", `[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]`, backends.ErrModel},
		{"negative index", `[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]`, backends.ErrModel},
		{"an empty one", `[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]`, backends.ErrModel},
		{"a missing one", `[{"index":0,"embedding":[1]},{"index":1}]`, backends.ErrModel},
		{"unequal", `[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]`, backends.ErrDimension},
		{"beyond float32", `[{"index":0,"embedding":[1]},{"index":1,"embedding":[1e99]}]`, backends.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := serve(t, raw(200, `{"data":`+tt.data+`}`)).embedder(t).EmbedStrings(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, tt.sentinel)
		})
	}
}

func TestVectorsThatAreNotFinite(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := openai.InOrder([]api.Embedding{{Embedding: []float32{1, float32(x)}}}, 1)
		assert.Error(t, err, x)
	}
}

func TestDimension(t *testing.T) {
	f := serveLengths(t)
	e := f.embedder(t)
	for range 2 {
		d, err := e.Dimension(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, d)
	}
	assert.Len(t, f.requests(), 1, "probed once")

	f = serveLengths(t)
	e = f.embedder(t)
	_, err := e.EmbedStrings(t.Context(), []string{"a"})
	require.NoError(t, err)
	_, err = e.Dimension(t.Context())
	require.NoError(t, err)
	assert.Len(t, f.requests(), 1, "known from the first texts")
}

func TestAFailedProbeIsNotRemembered(t *testing.T) {
	f := serve(t, apiError(400, "", "no"), raw(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`))
	e := f.embedder(t)
	_, err := e.Dimension(t.Context())
	require.ErrorIs(t, err, backends.ErrInvalid)
	d, err := e.Dimension(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, d)
}

func TestDimensionsParameter(t *testing.T) {
	f := serveLengths(t)
	d, err := f.embedder(t, func(c *openai.EmbedderConfig) { c.Dimensions = 256 }).Dimension(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 256, d)
	assert.Empty(t, f.requests())
	_, err = f.embedder(t, func(c *openai.EmbedderConfig) { c.Dimensions = 256 }).EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, backends.ErrDimension, "the server ignored it")
	assert.EqualValues(t, 256, f.requests()[0]["dimensions"])
}

func TestAModelThatChangesItsDimensionIsNoticed(t *testing.T) {
	f := serve(t, raw(200, `{"data":[{"index":0,"embedding":[1,2]}]}`), raw(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`))
	e := f.embedder(t)
	_, err := e.EmbedStrings(t.Context(), []string{"a"})
	require.NoError(t, err)
	_, err = e.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("another"))
	require.NoError(t, err, "another model may have another")
	assert.Equal(t, "another", f.requests()[1]["model"])
	_, err = e.EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, backends.ErrDimension)
}

func TestEmbedderEdges(t *testing.T) {
	f := serveLengths(t)
	out, err := f.embedder(t).EmbedStrings(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, out)
	assert.Empty(t, f.requests())
	for name, c := range map[string]*openai.EmbedderConfig{"nil": nil, "no model": {}, "dimensions": {Model: "m", Dimensions: -1}, "batch": {Model: "m", BatchSize: -1}, "url": {Model: "m", BaseURL: "x"}} {
		_, err := openai.NewEmbedder(t.Context(), c)
		assert.ErrorIs(t, err, backends.ErrInvalid, name)
	}
}

func TestEmbedderRetriesAndExplains(t *testing.T) {
	f := serve(t, raw(503, ""), cutBody, raw(200, `{"data":[{"index":0,"embedding":[1]}]}`), apiError(401, "", "key "+secret))
	e := f.embedder(t)
	_, err := e.EmbedStrings(t.Context(), []string{"a"})
	require.NoError(t, err)
	_, err = e.EmbedStrings(t.Context(), []string{"a"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Contains(t, err.Error(), "OPENAI_API_KEY")
	assert.NotContains(t, err.Error(), secret)
}

func TestEmbedderGivesUpWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := serveLengths(t).embedder(t).EmbedStrings(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzEmbeddingsNeverPanic(f *testing.F) {
	f.Add([]byte(`[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[0.5,-1]}]`), 2)
	f.Add([]byte(`[{"index":-1,"embedding":null}]`), 1)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		var data []api.Embedding
		if json.Unmarshal(raw, &data) != nil || n < 0 || n > 1000 {
			return
		}
		out, err := openai.InOrder(data, n)
		if err == nil && len(out) != n {
			t.Fatalf("%d vectors for %d texts", len(out), n)
		}
		for _, v := range out {
			if err == nil && len(v) == 0 {
				t.Fatal("an empty vector got through")
			}
		}
	})
}
