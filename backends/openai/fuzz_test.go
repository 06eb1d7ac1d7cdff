// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

// answers is a server without a network: it gives every request one answer.
type answers struct {
	status int
	body   []byte
	header http.Header
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	h := a.header
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Header: h, Body: io.NopCloser(bytes.NewReader(a.body))}, nil
}

func offline(t testing.TB, a answers) *openai.ChatModel {
	m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{
		APIKey: secret, BaseURL: "http://nowhere/v1", Model: "m", MaxRetries: -1, HTTPClient: &http.Client{Transport: a},
	})
	require.NoError(t, err)
	return m
}

func checkError(t testing.TB, err error) {
	for _, sentinel := range []error{backends.ErrUnavailable, backends.ErrInvalid, backends.ErrModel} {
		if errors.Is(err, sentinel) {
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the key is in %v", err)
			}
			return
		}
	}
	t.Fatalf("no sentinel in %v", err)
}

// Whatever a server answers, a call returns an answer or an error of the contract.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`))
	f.Add(200, []byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}]}}]}`))
	f.Add(200, []byte(`{"choices":[{}]}`))
	f.Add(401, []byte(`{"error":{"message":["a","`+secret+`"],"code":1.5}}`))
	f.Add(500, []byte(`<html>`+secret))
	f.Add(429, []byte(`{"error":{"message":null}}`))
	f.Add(200, []byte(`null`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 || status >= 300 && status < 400 {
			return // redirects and what HTTP does not have
		}
		out, err := offline(t, answers{status: status, body: body}).Generate(t.Context(), ask("hi"))
		if err != nil {
			checkError(t, err)
		} else if out == nil || out.Role != schema.Assistant {
			t.Fatalf("no answer and no error: %v", out)
		}
	})
}

// Whatever a stream holds, it ends well only if the model said why it stopped.
func FuzzStreams(f *testing.F) {
	f.Add([]byte("data: " + delta(`{"content":"a"}`) + "\n\ndata: " + last("stop") + "\n\ndata: [DONE]\n"))
	f.Add([]byte("data: " + delta(`{"content":"a"}`) + "\n\ndata: [DONE]\n"))
	f.Add([]byte("data: {\"error\":{\"message\":\"" + secret + "\"}}\n\n"))
	f.Add([]byte(`{"choices":[{"message":{"content":"no stream at all"},"finish_reason":"stop"}]}` + "\n"))
	f.Add([]byte(": comment\n\ndata:{}\n"))
	f.Add([]byte(strings.Repeat("\n", 400)))
	f.Fuzz(func(t *testing.T, body []byte) {
		stream, err := offline(t, answers{status: 200, body: body}).Stream(t.Context(), ask("hi"))
		require.NoError(t, err)
		defer stream.Close()
		reason := ""
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				checkError(t, err)
				return
			}
			if m.ResponseMeta != nil && m.ResponseMeta.FinishReason != "" {
				reason = m.ResponseMeta.FinishReason
			}
		}
		if reason == "" {
			t.Fatal("a stream without an end was taken for an answer")
		}
	})
}

// However long the server asks to wait, and whatever it writes, the wait is within
// bounds, and what is refused is refused at once.
func TestWaitsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		header := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{1,6}(\.[0-9]{1,3})?`), rapid.Just("Infinity"), rapid.Just("1e400")).Draw(rt, "header")
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{
			Model: "m", MaxRetries: rapid.IntRange(1, 40).Draw(rt, "retries"), Backoff: time.Duration(rapid.Int64().Draw(rt, "backoff")),
			HTTPClient: &http.Client{Transport: answers{status: 429, header: http.Header{"Retry-After": {header}}}},
		})
		require.NoError(rt, err)
		waits := openai.RecordWaits(m)
		_, err = m.Generate(t.Context(), ask("hi"))
		require.ErrorIs(rt, err, backends.ErrUnavailable)
		for _, w := range waits.All() {
			if w < 0 || w > time.Minute {
				rt.Fatalf("a wait of %v", w)
			}
		}
	})
}

// Whatever people are called, the name that is sent is one that the API accepts.
func TestNamesAreLegal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sent []byte
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent, _ = io.ReadAll(r.Body)
			return answers{status: 200, body: []byte(`{"choices":[{}]}`)}.RoundTrip(r)
		})}
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{Model: "m", HTTPClient: client})
		require.NoError(rt, err)
		_, err = m.Generate(t.Context(), []*schema.Message{{Role: schema.User, Content: "hi", Name: rapid.String().Draw(rt, "name")}})
		require.NoError(rt, err)
		_, name, named := strings.Cut(string(sent), `"name":"`)
		if name, _, _ = strings.Cut(name, `"}`); named && (name == "" || strings.ContainsAny(name, " \t\n<|/>") || strings.Contains(name, `\n`)) {
			rt.Fatalf("name %q", name)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
