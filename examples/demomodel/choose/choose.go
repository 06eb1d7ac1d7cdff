// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package choose picks the models of the examples: real ones where the environment names them, else
// the demo model.
package choose

import (
	"context"
	"fmt"
	"io"

	einoext "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/examples/demomodel"
)

// Model returns the model that answers in an example. It sets the models by which config learns
// and searches to the ones that the environment names ([openai.FromEnv]). Without any it returns
// demo, announces it on stderr, and leaves config as it is, so that messages are remembered word
// for word. The model that answers is a chat model of eino-ext, as any agent may have; the others
// are clients of this project.
func Model(ctx context.Context, demo *demomodel.Model, config *mem0.Config, stderr io.Writer) (model.ToolCallingChatModel, error) {
	chatConfig, embedderConfig := openai.FromEnv()
	if chatConfig == nil {
		fmt.Fprintln(stderr, demomodel.Notice)
		return demo, nil
	}
	chatConfig.ErrorText = true // in an example the user reads the errors
	learner, err := openai.NewChatModel(ctx, chatConfig)
	config.Model = learner
	if err == nil && embedderConfig != nil {
		embedderConfig.ErrorText = true
		config.EmbeddingModel = embedderConfig.Model
		config.Embedder, err = openai.NewEmbedder(ctx, embedderConfig)
	}
	if err != nil {
		return nil, err
	}
	return einoext.NewChatModel(ctx, &einoext.ChatModelConfig{APIKey: chatConfig.APIKey, BaseURL: chatConfig.BaseURL, Model: chatConfig.Model})
}
