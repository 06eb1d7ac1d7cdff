// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package assistant

import (
	"context"
	"fmt"
	"io"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/internal/demomodel"
	"github.com/einomem/einomem/modes"
)

// models are what the program talks to. With a real model facts are extracted
// from what was said; without, what was said is remembered word for word.
type models struct {
	chat      model.ToolCallingChatModel // answers
	extract   model.BaseChatModel        // turns conversations into facts; nil: word for word
	embedder  embedding.Embedder         // nil: search by words alone
	embedding string                     // the embedding model's name
}

func chooseModels(ctx context.Context, mode modes.Mode, stderr io.Writer) (*models, error) {
	chat, embedder := openai.FromEnv()
	if chat == nil {
		fmt.Fprintln(stderr, demomodel.Notice)
		// A real model decides by itself what to note down under agent_control.
		return &models{chat: demomodel.New(&demomodel.Config{Notes: mode == modes.AgentControl})}, nil
	}
	c, err := openai.NewChatModel(ctx, chat)
	if err != nil {
		return nil, fmt.Errorf("chat model: %w", err)
	}
	m := &models{chat: c, extract: c}
	if embedder != nil {
		if m.embedder, err = openai.NewEmbedder(ctx, embedder); err != nil {
			return nil, fmt.Errorf("embedder: %w", err)
		}
		m.embedding = embedder.Model
	}
	return m, nil
}
