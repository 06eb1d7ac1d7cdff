// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/testkit"
)

// slowModel streams two words and waits between them for proceed.
type slowModel struct {
	*testkit.Chat
	proceed <-chan struct{}
	err     error // instead of the second word
}

// IsCallbacksEnabled implements components.Checker: Eino reports for the model.
func (s *slowModel) IsCallbacksEnabled() bool { return false }

func (s *slowModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

func (s *slowModel) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	sr, sw := schema.Pipe[*schema.Message](1)
	go func() {
		defer sw.Close()
		sw.Send(schema.AssistantMessage("first ", nil), nil)
		<-s.proceed
		if s.err != nil {
			sw.Send(nil, s.err)
			return
		}
		sw.Send(schema.AssistantMessage("second", nil), nil)
	}()
	return sr, nil
}
