// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

func TestEmbedderKeepsTheOrderAcrossBatches(t *testing.T) {
	var sizes []int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // [length of the text, 1], in reverse
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		sizes = append(sizes, len(in.Input))
		var data []string
		for i := len(in.Input) - 1; i >= 0; i-- {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(in.Input[i])))
		}
		reply(200, `{"data":[`+strings.Join(data, ",")+`],"usage":{"prompt_tokens":3,"total_tokens":3}}`)(w, r)
	}))
	defer srv.Close()
	var out *embedding.CallbackOutput
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, callbacks.NewHandlerBuilder().
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, o callbacks.CallbackOutput) context.Context {
			out = embedding.ConvCallbackOutput(o)
			return ctx
		}).Build())
	var texts []string
	for i := range 7 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	e, err := openai.NewEmbedder(t.Context(), &openai.Config{Model: "m", BaseURL: srv.URL + "/v1", BatchSize: 3})
	require.NoError(t, err)
	vectors, err := e.EmbedStrings(ctx, texts)
	require.NoError(t, err)
	require.Len(t, vectors, 7)
	for i, v := range vectors {
		assert.Equal(t, []float64{float64(i + 1), 1}, v)
	}
	assert.Equal(t, []int{3, 3, 1}, sizes)
	assert.Len(t, out.Embeddings, 7)
	assert.Equal(t, 9, out.TokenUsage.TotalTokens, "of all requests")

	none, err := e.EmbedStrings(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Len(t, sizes, 3, "nothing was sent")
}

func TestEmbedderSendsTheDimensionsAndTheModel(t *testing.T) {
	s := serve(t, reply(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`))
	c := s.config()
	c.Dimensions = 3
	e, err := openai.NewEmbedder(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, "test-model", e.Model())
	assert.Equal(t, "OpenAI", e.GetType())
	_, err = e.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("another"))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"input": []any{"a"}, "model": "another", "dimensions": 3.0}, s.requests[0])
}

func TestVectorsThatCannotBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		data     string
		sentinel error
	}{
		"too few":            {`[{"index":0,"embedding":[1,2]}]`, backends.ErrModel},
		"too many":           {`[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]`, backends.ErrModel},
		"one twice":          {`[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]`, backends.ErrModel},
		"index out of range": {`[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]`, backends.ErrModel},
		"negative index":     {`[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]`, backends.ErrModel},
		"an empty one":       {`[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]`, backends.ErrModel},
		"a missing one":      {`[{"index":0,"embedding":[1]},{"index":1}]`, backends.ErrModel},
		"of unequal length":  {`[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]`, backends.ErrDimension},
		"of another length":  {`[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]`, backends.ErrDimension},
		"beyond float32":     {`[{"index":0,"embedding":[1,1]},{"index":1,"embedding":[1e99,1]}]`, backends.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, reply(200, `{"data":`+tt.data+`}`)).config()
			if strings.HasPrefix(name, "of ") {
				c.Dimensions = 2
			}
			e, err := openai.NewEmbedder(t.Context(), c)
			require.NoError(t, err)
			_, err = e.EmbedStrings(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, tt.sentinel)
			require.ErrorContains(t, err, "embedding 2 texts with test-model")
		})
	}
}
