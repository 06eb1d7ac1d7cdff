// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package choose_test

import (
	"io"
	"strings"
	"testing"

	einoext "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/examples/demomodel/choose"
)

func TestTheEnvironmentChoosesTheModels(t *testing.T) {
	demo, config, stderr := &demomodel.Model{}, &mem0.Config{}, &strings.Builder{}
	t.Setenv("OPENAI_API_KEY", "")
	m, err := choose.Model(t.Context(), demo, config, stderr)
	require.NoError(t, err)
	assert.Same(t, demo, m)
	assert.Equal(t, &mem0.Config{}, config)
	assert.Equal(t, demomodel.Notice+"\n", stderr.String())

	t.Setenv("OPENAI_API_KEY", "k")
	m, err = choose.Model(t.Context(), demo, config, io.Discard)
	require.NoError(t, err)
	assert.IsType(t, &einoext.ChatModel{}, m)
	assert.IsType(t, &openai.ChatModel{}, config.Model)
	assert.NotNil(t, config.Embedder)
	assert.Equal(t, "text-embedding-3-small", config.EmbeddingModel)

	t.Setenv("OPENAI_BASE_URL", "nowhere")
	_, err = choose.Model(t.Context(), demo, config, io.Discard)
	require.ErrorContains(t, err, "BaseURL")
}
