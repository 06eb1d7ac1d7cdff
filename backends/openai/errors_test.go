// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

func TestErrorsSayWhatAndTheWayOut(t *testing.T) {
	tests := []struct {
		name     string
		answer   http.HandlerFunc
		sentinel error
		status   int
		code     string
		says     []string
	}{
		{"401", apiError(401, "invalid_api_key", "Incorrect API key: "+secret), backends.ErrInvalid, 401, "invalid_api_key", []string{"OPENAI_API_KEY", "[API key]"}},
		{"403", apiError(403, "", "no"), backends.ErrInvalid, 403, "", []string{"may not use"}},
		{"404", apiError(404, "model_not_found", "no such model"), backends.ErrInvalid, 404, "model_not_found", []string{"OPENAI_MODEL", "no such model"}},
		{"400", apiError(400, "context_length_exceeded", "too long"), backends.ErrInvalid, 400, "context_length_exceeded", []string{"too long", `asking "gpt-test"`}},
		{"429", apiError(429, "rate", "slow"), backends.ErrUnavailable, 429, "rate", nil},
		{"quota", apiError(429, "insufficient_quota", "pay"), backends.ErrUnavailable, 429, "insufficient_quota", []string{"quota is spent"}},
		{"500 with a page that has the key", raw(500, "<h1>"+secret+"</h1>\n\n x"), backends.ErrUnavailable, 500, "", []string{"<h1>[API key]</h1> x"}},
		{"numeric code", raw(418, `{"error":{"message":"tea","code":7}}`), backends.ErrInvalid, 418, "7", []string{"tea"}},
		{"malformed JSON", raw(200, `<html>login</html>`), backends.ErrUnavailable, 0, "", []string{"OPENAI_BASE_URL"}},
		{"empty body", raw(200, ``), backends.ErrUnavailable, 0, "", []string{"BaseURL"}},
		{"wrong types", raw(200, `{"choices":"none"}`), backends.ErrUnavailable, 0, "", []string{"BaseURL"}},
		{"no choices", raw(200, `{"choices":[]}`), backends.ErrModel, 0, "", []string{"no choices"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := serve(t, tt.answer)
			_, err := api.chatModel(t, func(c *openai.ChatModelConfig) { c.MaxRetries = -1 }).Generate(t.Context(), ask("hi"))
			require.ErrorIs(t, err, tt.sentinel)
			var e *openai.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tt.status, e.Status)
			assert.Equal(t, tt.code, e.Code)
			for _, s := range tt.says {
				assert.Contains(t, err.Error(), s)
			}
			for walk := err; walk != nil; walk = errors.Unwrap(walk) {
				assert.NotContains(t, walk.Error(), secret)
			}
			assert.NotContains(t, e.Message, secret)
		})
	}
}

func TestAModelThatOnlyCompletesIsInvalid(t *testing.T) {
	api := serve(t, text("ok"))
	_, err := api.chatModel(t, func(c *openai.ChatModelConfig) { c.Model = "text-davinci-003" }).Generate(t.Context(), ask("hi"))
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Empty(t, api.requests())
}
