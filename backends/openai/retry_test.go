// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

func TestWhatIsSentAgain(t *testing.T) {
	tests := []struct {
		name  string
		first http.HandlerFunc
		again bool
	}{
		{"429", apiError(429, "rate_limit", "slow down"), true},
		{"429, quota spent", apiError(429, "insufficient_quota", "pay"), false},
		{"500", apiError(500, "", "oops"), true},
		{"502 with a page", raw(502, "<html>bad gateway</html>"), true},
		{"503", raw(503, ""), true},
		{"504", raw(504, ""), true},
		{"connection dropped", reset, true},
		{"cut body", cutBody, true},
		{"501", raw(501, ""), false},
		{"400", apiError(400, "context_length_exceeded", "too long"), false},
		{"401", apiError(401, "invalid_api_key", "who?"), false},
		{"404", apiError(404, "model_not_found", "which?"), false},
		{"malformed JSON", raw(200, `{"choices":[`), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := serve(t, tt.first, text("ok"))
			out, err := api.chatModel(t).Generate(t.Context(), ask("hi"))
			if !tt.again {
				require.Error(t, err)
				require.Len(t, api.requests(), 1)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "ok", out.Content)
			require.Len(t, api.requests(), 2)
			assert.Equal(t, api.requests()[0], api.requests()[1], "the same request")
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	api := serve(t, apiError(503, "", "busy"))
	for retries, want := range map[int]int{0: 4, -1: 1, 2: 3} {
		before := len(api.requests())
		_, err := api.chatModel(t, func(c *openai.ChatModelConfig) { c.MaxRetries = retries }).Generate(t.Context(), ask("hi"))
		require.ErrorIs(t, err, backends.ErrUnavailable)
		assert.Equal(t, want, len(api.requests())-before, "MaxRetries %d", retries)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		header string
		least  time.Duration
	}{
		"seconds":      {"7", 7 * time.Second},
		"fractions":    {"0.5", 500 * time.Millisecond},
		"date":         {now.Add(11 * time.Second).Format(http.TimeFormat), 11 * time.Second},
		"past date":    {now.Add(-time.Hour).Format(http.TimeFormat), 0},
		"nonsense":     {"soon", 0},
		"negative":     {"-3", 0},
		"no header":    {"", 0},
		"not a number": {"NaN", 0},
	} {
		t.Run(name, func(t *testing.T) {
			api := serve(t, apiError(429, "", "slow", "Retry-After", tt.header), text("ok"))
			m := api.chatModel(t, func(c *openai.ChatModelConfig) { c.Clock = func() time.Time { return now } })
			waits := openai.RecordWaits(m)
			_, err := m.Generate(t.Context(), ask("hi"))
			require.NoError(t, err)
			require.Len(t, waits.All(), 1)
			assert.GreaterOrEqual(t, waits.All()[0], tt.least)
			assert.LessOrEqual(t, waits.All()[0], max(tt.least, time.Millisecond))
		})
	}
}

func TestAServerThatAsksForTooMuchIsGivenUpOn(t *testing.T) {
	api := serve(t, apiError(429, "", "come back tomorrow", "Retry-After", "86400"), text("ok"))
	_, err := api.chatModel(t).Generate(t.Context(), ask("hi"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Len(t, api.requests(), 1)
}

func TestWaitsGrowWithJitter(t *testing.T) {
	api := serve(t, raw(500, ""))
	m := api.chatModel(t, func(c *openai.ChatModelConfig) { c.Backoff, c.MaxRetries = time.Second, 8 })
	waits := openai.RecordWaits(m)
	_, err := m.Generate(t.Context(), ask("hi"))
	require.Error(t, err)
	full := time.Second
	for i, w := range waits.All() {
		assert.GreaterOrEqual(t, w, full/2, "wait %d", i)
		assert.LessOrEqual(t, w, full, "wait %d", i)
		full = min(2*full, 20*time.Second)
	}
	assert.Len(t, waits.All(), 8)
}

func TestNoWaitBeyondTheDeadline(t *testing.T) {
	api := serve(t, apiError(429, "", "slow", "Retry-After", "50"), text("ok"))
	m := api.chatModel(t)
	waits := openai.RecordWaits(m)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := m.Generate(ctx, ask("hi"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Empty(t, waits.All())
	var e *openai.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 429, e.Status)
}

func TestDeadlineAndCancellation(t *testing.T) {
	api := serve(t, hang)
	m := api.chatModel(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := m.Generate(ctx, ask("hi"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, backends.ErrUnavailable)

	ctx, cancel = context.WithCancel(t.Context())
	arrived := make(chan struct{})
	waiting := serve(t, func(w http.ResponseWriter, r *http.Request) { close(arrived); hang(w, r) })
	go func() { <-arrived; cancel() }()
	_, err = waiting.chatModel(t).Generate(ctx, ask("hi"))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backends.ErrUnavailable, "the server did nothing wrong")
}

func TestCancellationEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		apiError(429, "", "slow", "Retry-After", "30")(w, r)
		time.AfterFunc(10*time.Millisecond, cancel)
	})
	_, err := api.chatModel(t).Generate(ctx, ask("hi"))
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, api.requests(), 1)
}

func TestTimeoutOfAnAttempt(t *testing.T) {
	api := serve(t, hang)
	short := func(c *openai.ChatModelConfig) { c.Timeout = 20 * time.Millisecond }
	_, err := api.chatModel(t, short).Generate(t.Context(), ask("hi"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	assert.Len(t, api.requests(), 1, "it would take as long again")
}

func TestServerThatIsNotThere(t *testing.T) {
	api := serve(t, text("ok"))
	m := api.chatModel(t)
	waits := openai.RecordWaits(m)
	api.Close()
	_, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("hi")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Len(t, waits.All(), 3)
}
