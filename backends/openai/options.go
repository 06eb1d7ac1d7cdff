// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"

	"github.com/cloudwego/eino/components/model"
	api "github.com/sashabaranov/go-openai"
)

// JSONSchema asks for an answer that is JSON of a given shape.
type JSONSchema struct {
	// Name names the shape to the model: letters, digits, '_' and '-'. Required.
	Name string
	// Description tells the model what the shape is for. Optional.
	Description string
	// Schema is the JSON schema: a json.RawMessage, or anything that marshals to
	// one, such as *jsonschema.Schema of github.com/eino-contrib/jsonschema.
	// Required.
	Schema json.Marshaler
	// Strict has the server hold the model to the schema. Optional. OpenAI then
	// wants every property required and no additional ones.
	Strict bool
}

type callOptions struct {
	format *api.ChatCompletionResponseFormat
}

// WithJSONSchema has the model answer with JSON that follows the schema. Servers
// that do not know response_format ignore it or answer 400 (ErrInvalid).
func WithJSONSchema(s JSONSchema) model.Option {
	return model.WrapImplSpecificOptFn(func(o *callOptions) {
		o.format = &api.ChatCompletionResponseFormat{
			Type: api.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &api.ChatCompletionResponseFormatJSONSchema{
				Name: s.Name, Description: s.Description, Schema: s.Schema, Strict: s.Strict,
			},
		}
	})
}

// WithJSONObject has the model answer with some JSON object. The prompt must ask
// for JSON as well.
func WithJSONObject() model.Option {
	return model.WrapImplSpecificOptFn(func(o *callOptions) {
		o.format = &api.ChatCompletionResponseFormat{Type: api.ChatCompletionResponseFormatTypeJSONObject}
	})
}
