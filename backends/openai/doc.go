// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package openai talks to OpenAI, and to every server that speaks its API, as
// Eino components: [ChatModel] is a model.ToolCallingChatModel and [Embedder] an
// embedding.Embedder. It is built for memory's own calls, where an answer that is
// half there is worse than none:
//
//	m, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
//		APIKey: os.Getenv("OPENAI_API_KEY"),
//		Model:  "gpt-4o-mini",
//	})
//	emb, err := openai.NewEmbedder(ctx, &openai.EmbedderConfig{
//		APIKey: os.Getenv("OPENAI_API_KEY"),
//		Model:  "text-embedding-3-small",
//	})
//
// [ChatModelFromEnv] and [EmbedderFromEnv] do the same from the environment.
//
// # Failures
//
// A request is sent again after 429, 500, 502, 503 and 504 and after a connection
// that broke, with growing, jittered waits and never before a Retry-After is
// over; it is not sent again after 400, 401 or 404, and never beyond the deadline
// of the context. Every error is an [Error] that wraps one sentinel of package
// backends: ErrUnavailable (later may do), ErrInvalid (never will),
// ErrModel (the answer makes no sense). The API key is in none of them.
//
// An answer is complete or an error: a body that is cut is fetched again, and a
// stream that ends before the model said why it stopped ends with an error.
//
// # Structured answers
//
// Offer one tool and force it (model.WithToolChoice with schema.ToolChoiceForced),
// or pass [WithJSONSchema].
package openai
