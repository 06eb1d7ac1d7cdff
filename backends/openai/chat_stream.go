// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"errors"
	"io"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// Stream implements model.BaseChatModel. A stream that ends before the model gave
// its reason to stop ends with an error that wraps backends.ErrUnavailable: what
// was received until then is not the answer. Close the stream; the request ends
// with the next piece, the timeout or the context.
func (m *ChatModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	call, err := m.prepare(in, opts)
	if err != nil {
		return nil, err
	}
	call.request.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	ctx = m.start(ctx, in, call)
	pieces, err := m.client.api.CreateChatCompletionStream(ctx, call.request)
	if err != nil {
		err = m.client.failure(call.doing(), err)
		callbacks.OnError(ctx, err)
		return nil, err
	}
	reader, writer := schema.Pipe[callbacks.CallbackOutput](1)
	go m.pump(call, pieces, writer)
	_, reader = callbacks.OnEndWithStreamOutput(ctx, reader)
	return schema.StreamReaderWithConvert(reader, func(o callbacks.CallbackOutput) (*schema.Message, error) {
		return o.(*model.CallbackOutput).Message, nil
	}), nil
}

// pump moves the pieces from the connection to the reader until either ends.
func (m *ChatModel) pump(call *chatCall, pieces *api.ChatCompletionStream, to *schema.StreamWriter[callbacks.CallbackOutput]) {
	defer to.Close()
	defer func() { _ = pieces.Close() }()
	finished := false
	for {
		piece, err := pieces.Recv()
		if err != nil {
			if !finished {
				to.Send(nil, m.client.cut(call.doing(), err))
			}
			return
		}
		msg := fromPiece(&piece)
		if msg == nil {
			continue
		}
		finished = finished || (msg.ResponseMeta != nil && msg.ResponseMeta.FinishReason != "")
		if to.Send(&model.CallbackOutput{Message: msg, Config: call.config(), TokenUsage: callbackUsage(msg)}, nil) {
			return // the reader has gone
		}
	}
}

// cut is the error of a stream that ended too early. To go-openai a connection
// that was closed looks like an end.
func (c *client) cut(doing string, err error) error {
	if errors.Is(err, io.EOF) {
		return &Error{doing: doing, Message: "the stream ended before the answer did", wraps: []error{backends.ErrUnavailable}}
	}
	return c.failure(doing, err)
}
