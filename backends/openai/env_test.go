// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

func setEnv(t *testing.T, key, url, chat, embed string) {
	t.Setenv("OPENAI_API_KEY", key)
	t.Setenv("OPENAI_BASE_URL", url)
	t.Setenv("OPENAI_MODEL", chat)
	t.Setenv("OPENAI_EMBEDDING_MODEL", embed)
}

func TestFromEnv(t *testing.T) {
	tests := []struct {
		name, key, url, chat, embed string
		wantChat, wantEmbed         string // empty: not ok
	}{
		{name: "nothing"},
		{name: "blank key", key: "  "},
		{name: "key alone", key: "k", wantChat: openai.DefaultModel, wantEmbed: openai.DefaultEmbeddingModel},
		{name: "all", key: "k", url: "http://h/v1", chat: "c", embed: "e", wantChat: "c", wantEmbed: "e"},
		{name: "another server may have no embeddings", key: "k", url: "http://h/v1", chat: "c", wantChat: "c"},
		{name: "no key", url: "http://h/v1", chat: "c", embed: "e"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			setEnv(t, tt.key, tt.url, tt.chat, tt.embed)
			m, ok, err := openai.ChatModelFromEnv(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.wantChat != "", ok)
			if ok {
				assert.Contains(t, m.String(), tt.wantChat)
			}
			e, ok, err := openai.EmbedderFromEnv(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.wantEmbed != "", ok)
			if ok {
				assert.Equal(t, tt.wantEmbed, e.Model())
			}
		})
	}
}

func TestFromEnvWithAnAddressThatIsNone(t *testing.T) {
	setEnv(t, "k", "nowhere", "c", "e")
	_, ok, err := openai.ChatModelFromEnv(t.Context())
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.False(t, ok)
	_, ok, err = openai.EmbedderFromEnv(t.Context())
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.False(t, ok)
}

func TestFromEnvReachesTheServer(t *testing.T) {
	f := serve(t, text("ok"))
	setEnv(t, secret, f.URL+"/v1/", "c", "")
	m, ok, err := openai.ChatModelFromEnv(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	_, err = m.Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, "c", f.requests()[0]["model"])
}
