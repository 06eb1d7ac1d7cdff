// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"os"
	"strings"
)

// The models that the environment need not name.
const (
	DefaultModel          = "gpt-4o-mini"
	DefaultEmbeddingModel = "text-embedding-3-small"
)

// ChatModelFromEnv returns the chat model that OPENAI_API_KEY, OPENAI_BASE_URL
// and OPENAI_MODEL (default [DefaultModel]) name. Without a key ok is false and
// the error nil.
func ChatModelFromEnv(ctx context.Context) (m *ChatModel, ok bool, err error) {
	key := fromEnv("OPENAI_API_KEY")
	if key == "" {
		return nil, false, nil
	}
	c := &ChatModelConfig{APIKey: key, BaseURL: fromEnv("OPENAI_BASE_URL"), Model: fromEnv("OPENAI_MODEL")}
	if c.Model == "" {
		c.Model = DefaultModel
	}
	m, err = NewChatModel(ctx, c)
	return m, err == nil, err
}

// EmbedderFromEnv returns the embedder that OPENAI_API_KEY, OPENAI_BASE_URL and
// OPENAI_EMBEDDING_MODEL name. Without a key ok is false and the error nil; so it
// is for a base URL without an embedding model, since many servers that speak
// the API have none. At OpenAI itself the default is [DefaultEmbeddingModel].
func EmbedderFromEnv(ctx context.Context) (e *Embedder, ok bool, err error) {
	c := &EmbedderConfig{APIKey: fromEnv("OPENAI_API_KEY"), BaseURL: fromEnv("OPENAI_BASE_URL"), Model: fromEnv("OPENAI_EMBEDDING_MODEL")}
	if c.Model == "" && c.BaseURL == "" {
		c.Model = DefaultEmbeddingModel
	}
	if c.APIKey == "" || c.Model == "" {
		return nil, false, nil
	}
	e, err = NewEmbedder(ctx, c)
	return e, err == nil, err
}

func fromEnv(name string) string { return strings.TrimSpace(os.Getenv(name)) }
