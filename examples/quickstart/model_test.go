// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeOpenAI speaks as much of the API as the example needs: it answers a chat by
// the note that it sees, extracts one fact, and embeds by length.
type fakeOpenAI struct {
	*httptest.Server
	mu   sync.Mutex
	seen traffic
}

// traffic is what a fakeOpenAI was asked.
type traffic struct {
	chats, extractions, vectors int
	keys                        map[string]bool
}

// traffic returns what was asked so far.
func (f *fakeOpenAI) traffic() traffic {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.seen
	t.keys = maps.Clone(t.keys)
	return t
}

type chatRequest struct {
	Messages []struct{ Role, Name, Content string }
	Tools    []struct{ Function struct{ Name string } }
	Input    []string
}

func newFakeOpenAI(t *testing.T) *fakeOpenAI {
	f := &fakeOpenAI{seen: traffic{keys: map[string]bool{}}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeOpenAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in chatRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.keys[r.Header.Get("Authorization")] = true
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		f.seen.vectors++
		var data []string
		for i, text := range in.Input {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1,1]}`, i, len(text)))
		}
		fmt.Fprintf(w, `{"data":[%s],"usage":{}}`, strings.Join(data, ","))
		return
	}
	for _, tool := range in.Tools {
		if tool.Function.Name == "remember" { // what mem0 asks the model for
			f.seen.extractions++
			f.answer(w, "", `{"operations":[{"op":"add","text":"Allergic to peanuts","said_by":"user","messages":[0]}]}`)
			return
		}
	}
	f.seen.chats++
	reply := "no note"
	for _, m := range in.Messages {
		if m.Name == "memory" {
			reply = strings.ReplaceAll(m.Content, "\n", " ")
		}
	}
	f.answer(w, reply, "")
}

func (f *fakeOpenAI) answer(w http.ResponseWriter, content, operations string) {
	message := map[string]any{"role": "assistant", "content": content}
	finish := "stop"
	if operations != "" {
		finish = "tool_calls"
		message["tool_calls"] = []any{map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": "remember", "arguments": operations}}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
}

func (f *fakeOpenAI) env(more ...string) []string {
	return append([]string{"OPENAI_API_KEY=sk-secret", "OPENAI_BASE_URL=" + f.URL + "/v1", "OPENAI_MODEL=test"}, more...)
}

func TestWithAKeyFactsAreExtracted(t *testing.T) {
	for name, more := range map[string][]string{"words": nil, "vectors": {"OPENAI_EMBEDDING_MODEL=embed-test"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeOpenAI(t)
			db := filepath.Join(t.TempDir(), "memory.db")
			r := start(t, f.env(more...), "-db", db, "-user", "ann", "-say", "I am allergic to peanuts.")
			require.Zero(t, r.code, r.stderr)
			assert.Equal(t, "no note\n", r.stdout)
			assert.Equal(t, 1, f.traffic().extractions)

			r = start(t, f.env(more...), "-db", db, "-user", "ann", "-session", "s2", "-say", "What am I allergic to?")
			require.Zero(t, r.code, r.stderr)
			assert.Contains(t, r.stdout, "Allergic to peanuts", "the fact, not what was said")
			assert.NotContains(t, r.stderr, "demo model")

			r = start(t, f.env(more...), "-db", db, "-user", "bob", "-say", "What am I allergic to?")
			require.Zero(t, r.code, r.stderr)
			assert.Equal(t, "no note\n", r.stdout)
			assert.Equal(t, more != nil, f.traffic().vectors > 0)
			assert.Equal(t, map[string]bool{"Bearer sk-secret": true}, f.traffic().keys)
		})
	}
}

func TestAModelThatRefusesTheKey(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"message":"no such key","type":"invalid_request_error"}}`)
	}))
	t.Cleanup(srv.Close)
	db := filepath.Join(t.TempDir(), "memory.db")
	r := start(t, []string{"OPENAI_API_KEY=sk-secret", "OPENAI_BASE_URL=" + srv.URL + "/v1"}, "-db", db, "-say", "hi")
	assert.Equal(t, 1, r.code)
	assert.Empty(t, r.stdout)
	assert.Contains(t, r.stderr, "no such key")
	assert.NotContains(t, r.stderr, "sk-secret")
}

func TestRunInProcess(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	db := filepath.Join(t.TempDir(), "memory.db")
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-db", db, "-say", "I like tea."}, &stdout, &stderr), stderr.String())
	require.Zero(t, run(t.Context(), []string{"-db", db, "-session", "s2", "-say", "What do I like?"}, &stdout, &stderr), stderr.String())
	assert.Equal(t, "Noted.\nYou told me: \"I like tea.\"\n", stdout.String())
}
