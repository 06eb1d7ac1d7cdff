// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/toolkit/server/rest"
)

// scriptedKey is the key of the scripted model.
const scriptedKey = "scripted"

// scripted puts a chat model that learns one fact from whatever it is shown, and an embedder, into the
// environment, under OpenAI's API. The embedder fails while it is told to.
func scripted(t *testing.T, embedderFails *atomic.Bool) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
		if !strings.HasSuffix(r.URL.Path, "/embeddings") {
			_, _ = fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant",
				"content":"{\"operations\":[{\"op\":\"add\",\"text\":\"Ann likes tea.\",\"messages\":[0]}]}"}}],
				"usage":{"prompt_tokens":900,"completion_tokens":30,"total_tokens":930}}`)
			return
		}
		if embedderFails.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		data := make([]string, len(asked.Input))
		for i := range data {
			data[i] = fmt.Sprintf(`{"index":%d,"embedding":[0.6,0.8]}`, i)
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s],"usage":{"prompt_tokens":5,"total_tokens":5}}`, strings.Join(data, ","))
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"OPENAI_API_KEY": scriptedKey, "OPENAI_BASE_URL": server.URL, "OPENAI_MODEL": "small-1", "OPENAI_EMBEDDING_MODEL": "vectors-1"} {
		t.Setenv(name, value)
	}
}

// says puts a turn of ann's into a session, by the API of agent-memory-server.
func says(t *testing.T, url, session, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/v1/working-memory/"+session,
		strings.NewReader(`{"user_id":"ann","messages":[{"role":"user","content":"`+text+`"},{"role":"assistant","content":"Noted."}]}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
}

// usageOf is what the server says about its cost and its backlog.
func usageOf(t *testing.T, url string) (out struct {
	Days   []rest.Day
	Budget struct{ Calls, Tokens int }
}, health struct {
	Messages   int64
	OverBudget int64   `json:"over_budget"`
	Lag        float64 `json:"lag_seconds"`
	Failing    int
}) {
	t.Helper()
	for path, into := range map[string]any{"/api/v1/usage": &out, "/api/v1/health": &health} {
		status, body := get(t, url+path)
		require.Equal(t, http.StatusOK, status, body)
		require.NoError(t, json.Unmarshal([]byte(body), into))
	}
	return out, health
}

func TestTheCostIsSeen(t *testing.T) {
	var down atomic.Bool
	scripted(t, &down)
	db := filepath.Join(t.TempDir(), "memory.db")
	url, _, stop := start(t, "-store", db, "-learn-calls", "1", "-learn-tokens", "100000")
	says(t, url, "monday", "I like tea.")
	require.Eventually(t, func() bool { _, h := usageOf(t, url); return h.Messages == 0 }, time.Minute, 10*time.Millisecond)
	says(t, url, "tuesday", "I like coffee even more.")
	require.Eventually(t, func() bool { _, h := usageOf(t, url); return h.OverBudget == 2 }, time.Minute, 10*time.Millisecond)
	search := `{"scope":{"user_id":"ann"},"query":"What does Ann like?"}`
	status, out := post(t, url+"/api/v1/search", search)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, fmt.Sprint(out), "Ann likes tea.")
	require.NotContains(t, out, "degraded")
	down.Store(true)
	_, out = post(t, url+"/api/v1/search", search)
	require.Contains(t, out, "degraded")

	seen, health := usageOf(t, url)
	require.Equal(t, 1, seen.Budget.Calls)
	require.Zero(t, health.Failing)
	require.Positive(t, health.Lag)
	today := seen.Days[0]
	require.Equal(t, []int64{1, 900, 30, 2, 1, 0}, []int64{today.ModelCalls, today.PromptTokens, today.CompletionTokens, today.Searches, today.ByWords, today.InPart})
	require.Equal(t, 5*(today.EmbeddingRequests-today.FailedCalls), today.EmbeddingTokens)
	_, metrics := get(t, url+"/metrics")
	for _, line := range []string{
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="small-1",gen_ai_token_type="input"} 900`,
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="small-1",gen_ai_token_type="output"} 30`,
		`gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="small-1"} 1`,
		`einomem_search_duration_seconds_count{degraded="by_words"} 1`, `einomem_backlog_over_budget_messages 2`, `einomem_failures_total{stage="budget"} 1`,
	} {
		require.Contains(t, metrics, line)
	}
	require.Regexp(t, `einomem_learning_lag_seconds [0-9.e-]*[1-9]`, metrics)
	require.NoError(t, stop())

	// The counts and what was spent are in the store.
	url, _, _ = start(t, "-store", db, "-learn-calls", "1")
	says(t, url, "wednesday", "And water.")
	require.Eventually(t, func() bool { _, h := usageOf(t, url); return h.OverBudget == 4 }, time.Minute, 10*time.Millisecond)
	seen, _ = usageOf(t, url)
	require.Equal(t, today.ModelCalls, seen.Days[0].ModelCalls)
	require.GreaterOrEqual(t, seen.Days[0].Searches, today.Searches)
	table := calls(t, 0, db, "stats")
	require.Regexp(t, `(?s)OVER-BUDGET.*user ann +\d+ +\d+ +3 +6 +4 +4 +0\n\nUNLEARNT.*\n4 +20.*\n\nDAY +CALLS.*\n20\d\d-\d\d-\d\d +1 +`, table)
	require.Contains(t, calls(t, 0, db, "stats", "-json"), `"model_calls":1,`)
	require.NotContains(t, calls(t, 0, db, "stats", "-user", "ann"), "CALLS")
}

// With these settings the model takes part in searches, and its calls are seen.
func TestTheModelMayTakePartInSearches(t *testing.T) {
	var down atomic.Bool
	file := filepath.Join(t.TempDir(), "einomem.yaml")
	require.NoError(t, os.WriteFile(file, []byte("rewrite: true\nrerank: true\n"), 0o600))
	var errout strings.Builder
	t.Setenv("OPENAI_API_KEY", "")
	require.Equal(t, 1, run(t.Context(), []string{"serve", "-check", "-config", file, "-store", filepath.Join(t.TempDir(), "memory.db")}, io.Discard, &errout))
	require.Contains(t, errout.String(), "rewrite, rerank: they need a model")
	scripted(t, &down)
	url, _, _ := start(t, "-config", file)
	status, out := post(t, url+"/api/v1/add", `{"scope":{"user_id":"ann"},"verbatim":true,"messages":[{"role":"user","content":"I like tea."}]}`)
	require.Equal(t, http.StatusOK, status, out)
	status, out = post(t, url+"/api/v1/search", `{"scope":{"user_id":"ann"},"query":"What tea do I like?"}`)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, out["hits"], 1)
	seen, _ := usageOf(t, url)
	require.Positive(t, seen.Days[0].ModelCalls)
}
