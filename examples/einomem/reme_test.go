// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
)

func unset(t *testing.T) {
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_EMBEDDING_MODEL",
		"FLOW_LLM_API_KEY", "FLOW_LLM_BASE_URL", "FLOW_EMBEDDING_API_KEY", "FLOW_EMBEDDING_BASE_URL",
	} {
		t.Setenv(name, "")
	}
}

// The start lines of ReMe's README and cookbook.
func TestReMesStartLine(t *testing.T) {
	unset(t)
	t.Setenv("FLOW_LLM_API_KEY", "k")
	t.Setenv("FLOW_LLM_BASE_URL", "http://models/v1")
	t.Setenv("FLOW_EMBEDDING_API_KEY", "k")
	t.Setenv("FLOW_EMBEDDING_BASE_URL", "http://models/v1")
	c, err := load("", "", "", "")
	require.NoError(t, err)
	line := "backend=http http.port=8002 http.host=0.0.0.0 llm.default.model_name=qwen3-30b embedding_model.default.model_name=text-embedding-v4 vector_store.default.backend=local" +
		" http.limit_concurrency=64 language=zh op.memory_validation_op.params.validation_threshold=0.7"
	require.NoError(t, c.startLine("serve", strings.Fields(line)))
	assert.Equal(t, []any{"0.0.0.0:8002", "memory.db", 64, 0.7}, []any{c.Listen, c.Store, c.Limits.Connections, c.Experience.Task.MinQuality})
	assert.EqualValues(t, "zh", c.Experience.Language)
	for name, want := range map[string]string{"API_KEY": "k", "BASE_URL": "http://models/v1", "MODEL": "qwen3-30b", "EMBEDDING_MODEL": "text-embedding-v4"} {
		assert.Equal(t, want, os.Getenv("OPENAI_"+name))
	}
	require.Error(t, c.keys(true, nil), "no address of other machines without a key")
	assert.Empty(t, c.Tools)
	require.NoError(t, c.startLine("serve", []string{"backend=mcp", "mcp.transport=sse", "mcp.port=8001", "vector_store.default.backend=memory"}))
	assert.Equal(t, []any{"0.0.0.0:8001", ":memory:", []string{"reme"}}, []any{c.Listen, c.Store, c.Tools})
	require.NoError(t, c.startLine("mcp", []string{"backend=mcp", "mcp.transport=stdio"}))
}

// Settings without a meaning here are a wrong command line, whose error names the way out.
func TestReMesSettingsWithoutAMeaning(t *testing.T) {
	for line, why := range map[string]string{
		"vector_store.default.backend=elasticsearch":                 "redis://host:6379",
		"llm.default.backend=litellm":                                "OpenAI's API",
		"backend=cmd":                                                "http or mcp",
		"backend=mcp mcp.transport=stdio":                            "einomem mcp",
		"config=my_config":                                           "-config names a file",
		"flow.my_flow.flow_content=A()":                              "no counterpart",
		"embedding_model.default.params.dimensions=1024":             "no counterpart",
		"http.limit_concurrency=many":                                "invalid syntax",
		"http.port":                                                  "KEY=VALUE",
		"op.memory_validation_op.params.validation_threshold=higher": "float64",
	} {
		unset(t)
		var out, log bytes.Buffer
		args := append([]string{"serve", "-check", "-store", ":memory:"}, strings.Fields(line)...)
		assert.Equal(t, 2, run(t.Context(), args, &out, &log), line)
		assert.Contains(t, log.String(), why, line)
	}
	unset(t)
	t.Setenv("FLOW_LLM_BASE_URL", "http://a/v1")
	t.Setenv("FLOW_EMBEDDING_BASE_URL", "http://b/v1")
	require.ErrorContains(t, (&settings{Listen: "localhost:1"}).startLine("serve", nil), "FLOW_EMBEDDING_API_KEY")
}

// ReMe's embedder may be another service than its model, and neither gets the other's key.
func TestReMesEmbedderMayBeElsewhere(t *testing.T) {
	service := func(key string) (url string, asked *atomic.Int32) {
		asked = &atomic.Int32{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			assert.Equal(t, "Bearer "+key, r.Header.Get("Authorization"))
			_, _ = w.Write([]byte(`{"data":[{"index":0,"embedding":[0.6,0.8]}]}`))
		}))
		t.Cleanup(server.Close)
		return server.URL, asked
	}
	unset(t)
	chat, chats := service("k1")
	vectors, embeds := service("k2")
	for name, value := range map[string]string{"LLM_API_KEY": "k1", "LLM_BASE_URL": chat, "EMBEDDING_API_KEY": "k2", "EMBEDDING_BASE_URL": vectors} {
		t.Setenv("FLOW_"+name, value)
	}
	c, err := load("", "", "", "")
	require.NoError(t, err)
	require.NoError(t, c.startLine("serve", []string{"llm.default.model_name=m", "embedding_model.default.model_name=e"}))
	p, err := c.parts(t.Context(), testkit.SQLite(t))
	require.NoError(t, err)
	_, err = p.facts.Remember(t.Context(), backends.Scope{UserID: "ann"}, "I like tea.")
	require.NoError(t, err)
	require.NoError(t, p.Close(t.Context()))
	require.Positive(t, embeds.Load())
	require.Zero(t, chats.Load())
}
