// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends/openai"
)

const secret = "sk-very-secret-0123456789"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAPI answers each request with the next handler, and the last for ever.
type fakeAPI struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	bodies   []map[string]any
	headers  []http.Header
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *fakeAPI {
	t.Helper()
	f := &fakeAPI{handlers: handlers}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	f.mu.Lock()
	h := f.handlers[min(len(f.bodies), len(f.handlers)-1)]
	f.bodies = append(f.bodies, body)
	f.headers = append(f.headers, r.Header.Clone())
	f.mu.Unlock()
	h(w, r)
}

// requests returns the bodies of the requests so far.
func (f *fakeAPI) requests() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]map[string]any(nil), f.bodies...)
}

func (f *fakeAPI) chatModel(t *testing.T, change ...func(*openai.ChatModelConfig)) *openai.ChatModel {
	t.Helper()
	c := &openai.ChatModelConfig{APIKey: secret, BaseURL: f.URL + "/v1", Model: "gpt-test", HTTPClient: f.Client(), Backoff: time.Millisecond}
	for _, ch := range change {
		ch(c)
	}
	m, err := openai.NewChatModel(t.Context(), c)
	require.NoError(t, err)
	return m
}

func (f *fakeAPI) embedder(t *testing.T, change ...func(*openai.EmbedderConfig)) *openai.Embedder {
	t.Helper()
	c := &openai.EmbedderConfig{APIKey: secret, BaseURL: f.URL + "/v1", Model: "embed-test", HTTPClient: f.Client(), Backoff: time.Millisecond}
	for _, ch := range change {
		ch(c)
	}
	e, err := openai.NewEmbedder(t.Context(), c)
	require.NoError(t, err)
	return e
}

// text is a complete answer.
func text(content string) http.HandlerFunc {
	return message(fmt.Sprintf(`{"role":"assistant","content":%q}`, content), "stop")
}

func message(msg, finish string) http.HandlerFunc {
	return raw(200, fmt.Sprintf(`{"id":"1","object":"chat.completion","choices":[{"index":0,"message":%s,"finish_reason":%q}],
		"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`, msg, finish))
}

func raw(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func apiError(status int, code, msg string, headers ...string) http.HandlerFunc {
	return raw(status, fmt.Sprintf(`{"error":{"message":%q,"type":"some_error","code":%q}}`, msg, code), headers...)
}

// cutBody promises more bytes than it sends and then drops the connection.
func cutBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "5000")
	_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"half`)
	panic(http.ErrAbortHandler)
}

// reset drops the connection before any answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// hang answers when the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// events is a stream of server-sent events, each flushed.
func events(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, l := range lines {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", l)
			w.(http.Flusher).Flush()
		}
	}
}

func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

func last(finish string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}`
}

const usageEvent = `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`
