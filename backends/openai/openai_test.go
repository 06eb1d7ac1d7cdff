// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

const secret = "sk-very-secret-0123456789"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service speaks the API: it answers each request with the next handler, and with
// the last for ever.
type service struct {
	url      string
	mu       sync.Mutex
	handlers []http.HandlerFunc
	requests []map[string]any
}

// serve starts a service on a local port.
func serve(t *testing.T, handlers ...http.HandlerFunc) *service {
	s := &service{handlers: handlers}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/v1"
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	s.mu.Lock()
	handle := s.handlers[min(len(s.requests), len(s.handlers)-1)]
	s.requests = append(s.requests, body)
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+secret {
		handle = reply(http.StatusUnauthorized, "{}")
	}
	handle(w, r)
}

// RoundTrip answers without a network, so that synctest can measure the waits.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// config is for a service on a local port, or for one without a network.
func (s *service) config() *openai.Config {
	c := &openai.Config{APIKey: secret, BaseURL: s.url, Model: "test-model", MaxRetries: -1, ErrorText: true}
	if s.url == "" {
		c.HTTPClient, c.MaxRetries = &http.Client{Transport: s}, 3
	}
	return c
}

func (s *service) ask(ctx context.Context, t testing.TB) (*schema.Message, error) {
	m, err := openai.NewChatModel(ctx, s.config())
	require.NoError(t, err)
	return m.Generate(ctx, []*schema.Message{schema.UserMessage("hi")})
}

func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// says is an answer that consists of a message.
func says(message string) http.HandlerFunc {
	return reply(200, `{"choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7,
		"total_tokens":18,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`)
}

// hang answers when the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestErrorsNameTheCauseAndTheWayOut(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   http.HandlerFunc
		sentinel error
		text     string // parts of it, between "|"
	}{
		"400":             {reply(400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`), backends.ErrInvalid, `asking test-model|400 (context_length_exceeded): too long`},
		"refused content": {reply(400, `{"error":{"message":"not this","type":"invalid_request_error","code":"content_filter"}}`), backends.ErrInvalid, "content_filter"},
		"422":             {reply(422, `{"error":{"message":"no"}}`), backends.ErrInvalid, "422"},
		"413":             {reply(413, "<h1>too large</h1>"), backends.ErrInvalid, "too large"},
		"an unpaid 400":   {reply(400, `{"error":{"message":"Your credit balance is too low"}}`), backends.ErrUnavailable, "400"},
		"numeric code":    {reply(418, `{"error":{"message":"tea","code":7}}`), backends.ErrUnavailable, "418 (7): tea"},
		"401":             {reply(401, `{"error":{"message":"Incorrect API key: `+secret+`","type":"auth"}}`), backends.ErrUnavailable, "401 (auth): Incorrect API key: [API key]|OPENAI_API_KEY"},
		"402":             {reply(402, `{"error":{"message":"pay"}}`), backends.ErrUnavailable, "quota is spent"},
		"403":             {reply(403, `{"error":{"message":"no"}}`), backends.ErrUnavailable, "may not use this model"},
		"404":             {reply(404, `{"error":{"message":"no such model"}}`), backends.ErrUnavailable, "no such model|OPENAI_MODEL"},
		"408":             {reply(408, `{"error":{"message":"late"}}`), backends.ErrUnavailable, "408"},
		"429":             {reply(429, `{"error":{"message":"slow down","type":"requests"}}`), backends.ErrUnavailable, "429 (requests)"},
		"quota":           {reply(429, `{"error":{"message":"pay","code":"insufficient_quota"}}`), backends.ErrUnavailable, "quota is spent"},
		"500 with a page": {reply(500, "<h1>"+secret+"</h1>"+strings.Repeat("x", 999)), backends.ErrUnavailable, "<h1>[API key]</h1>"},
		"no JSON":         {reply(200, `<html>login</html>`), backends.ErrUnavailable, "OPENAI_BASE_URL"},
		"empty body":      {reply(200, ``), backends.ErrUnavailable, "no complete answer"},
		"wrong types":     {reply(200, `{"choices":"none"}`), backends.ErrUnavailable, "no complete answer"},
		"no choices":      {reply(200, `{"choices":[]}`), backends.ErrModel, "no choices"},
		"cut body":        {reply(200, `{"choices":[{"message":{`, "Content-Length", "5000"), backends.ErrUnavailable, "unexpected EOF"},
		"broken connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			backends.ErrUnavailable, "EOF|check BaseURL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, tt.answer).ask(t.Context(), t)
			require.ErrorIs(t, err, tt.sentinel)
			for part := range strings.SplitSeq(tt.text, "|") {
				assert.ErrorContains(t, err, part)
			}
			assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), secret)
			assert.Less(t, len(err.Error()), 400)
		})
	}
}

func TestErrorsQuoteTheServiceOnlyWhereAskedTo(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"message": reply(400, `{"error":{"message":"refused: my secret is ZEBRA","code":"content_filter"}}`),
		"code":    reply(400, `{"error":{"message":"no","code":"my secret is ZEBRA"}}`),
		"type":    reply(400, `{"error":{"message":"no","type":"my secret is ZEBRA"}}`),
		"page":    reply(502, `<p>my secret is ZEBRA`),
	} {
		s := serve(t, answer)
		for _, quoted := range []bool{true, false} {
			c := s.config()
			c.ErrorText = quoted
			m, err := openai.NewChatModel(t.Context(), c)
			require.NoError(t, err)
			_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("my secret is ZEBRA")})
			require.ErrorContains(t, err, "status ", name)
			require.Equal(t, quoted, strings.Contains(fmt.Sprintf("%+v %#v", err, err), "ZEBRA"), "%s: %v", name, err)
			e, err := openai.NewEmbedder(t.Context(), c)
			require.NoError(t, err)
			_, err = e.EmbedStrings(t.Context(), []string{"ZEBRA"})
			require.Equal(t, quoted, strings.Contains(err.Error(), "ZEBRA"), "%s: %v", name, err)
		}
	}
}

func TestAShortKeyIsNotRedacted(t *testing.T) {
	s := serve(t, nil)
	c := s.config()
	c.APIKey = "a"
	m, err := openai.NewChatModel(t.Context(), c)
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), []*schema.Message{schema.UserMessage("hi")})
	require.ErrorContains(t, err, "set OPENAI_API_KEY, or APIKey in the config, to a valid key", "no word is garbled")
	assert.NotContains(t, fmt.Sprintf("%+v %#v", m, *m), secret)
}

func TestConfigsThatCannotWorkAreRefused(t *testing.T) {
	for name, c := range map[string]*openai.Config{
		"nil": nil, "no model": {APIKey: "k"}, "no scheme": {Model: "m", BaseURL: "localhost:1"}, "no host": {Model: "m", BaseURL: "http://"},
		"control character": {Model: "m", BaseURL: "http://a\x00b"},
	} {
		_, err := openai.NewChatModel(t.Context(), c)
		assert.ErrorIs(t, err, backends.ErrInvalid, name)
		_, err = openai.NewEmbedder(t.Context(), c)
		assert.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := openai.NewEmbedder(t.Context(), &openai.Config{Model: "m", Dimensions: -1})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// What is retried, and how long the client waits before it: synctest's clock
// shows it to the nanosecond.
func TestRetries(t *testing.T) {
	busy := `{"error":{"message":"slow down"}}`
	in := func(d time.Duration) string {
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(time.RFC1123)
	}
	const first, second, third = time.Second, 3 * time.Second, 6 * time.Second // the longest waits, added up
	for name, tt := range map[string]struct {
		answers     []http.HandlerFunc // before the one that succeeds
		requests    int
		least, most time.Duration
	}{
		"429":                      {[]http.HandlerFunc{reply(429, busy)}, 2, first / 2, first},
		"500, 502 and 504":         {[]http.HandlerFunc{reply(500, ""), reply(502, "<html>"), reply(504, "")}, 4, third / 2, third},
		"503 and 529":              {[]http.HandlerFunc{reply(503, ""), reply(529, "")}, 3, second / 2, second},
		"Retry-After in seconds":   {[]http.HandlerFunc{reply(429, busy, "Retry-After", "7")}, 2, 7 * time.Second, 7 * time.Second},
		"Retry-After as a date":    {[]http.HandlerFunc{reply(503, busy, "Retry-After", in(11*time.Second))}, 2, 11 * time.Second, 11 * time.Second},
		"Retry-After in the past":  {[]http.HandlerFunc{reply(429, busy, "Retry-After", in(-time.Hour))}, 2, 0, 0},
		"Retry-After as nonsense":  {[]http.HandlerFunc{reply(429, busy, "Retry-After", "soon")}, 2, first / 2, first},
		"Retry-After is too long":  {[]http.HandlerFunc{reply(429, busy, "Retry-After", "86400")}, 1, 0, 0},
		"retries end":              {[]http.HandlerFunc{reply(500, ""), reply(500, ""), reply(500, ""), reply(500, "")}, 4, third / 2, third},
		"400 is not retried":       {[]http.HandlerFunc{reply(400, busy)}, 1, 0, 0},
		"401 is not retried":       {[]http.HandlerFunc{reply(401, busy)}, 1, 0, 0},
		"501 is not retried":       {[]http.HandlerFunc{reply(501, busy)}, 1, 0, 0},
		"malformed is not retried": {[]http.HandlerFunc{reply(200, "{")}, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{handlers: append(tt.answers, says(`{"content":"ok"}`))}
				start := time.Now()
				out, err := s.ask(t.Context(), t)
				require.Len(t, s.requests, tt.requests)
				if tt.requests > len(tt.answers) {
					require.NoError(t, err)
					require.Equal(t, "ok", out.Content)
					require.Equal(t, s.requests[0], s.requests[len(s.requests)-1], "the same request")
				} else {
					require.ErrorContains(t, err, "openai: ")
				}
				require.GreaterOrEqual(t, time.Since(start), tt.least)
				require.LessOrEqual(t, time.Since(start), tt.most)
			})
		})
	}
}

func TestTimeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := (&service{handlers: []http.HandlerFunc{hang}}).ask(t.Context(), t)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it is not the caller's")
		require.ErrorContains(t, err, "no answer within 1m0s: raise openai.Config.Timeout")
		require.Equal(t, time.Minute, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = (&service{handlers: []http.HandlerFunc{hang}}).ask(ctx, t)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		start = time.Now()
		_, err = (&service{handlers: []http.HandlerFunc{reply(429, "busy", "Retry-After", "30")}}).ask(ctx, t)
		require.ErrorContains(t, err, "status 429", "the cause, instead of a wait beyond the deadline")
		require.Zero(t, time.Since(start))

		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start = time.Now()
		_, err = (&service{handlers: []http.HandlerFunc{reply(500, "down")}}).ask(ctx, t)
		require.ErrorContains(t, err, "status 500", "a reply that waits gets the error, and no pause")
		require.Zero(t, time.Since(start))

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = (&service{handlers: []http.HandlerFunc{reply(429, "busy", "Retry-After", "30")}}).ask(ctx, t)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, backends.ErrUnavailable, "the service did nothing wrong")
	})
}

func TestFromEnv(t *testing.T) {
	for name, tt := range map[string]struct {
		key, url, chat, embedding string
		wantChat, wantEmbedding   *openai.Config
	}{
		"nothing":     {},
		"a blank key": {key: "  ", url: "http://h/v1", chat: "c", embedding: "e"},
		"a key alone": {key: "k", wantChat: &openai.Config{APIKey: "k", Model: "gpt-4o-mini"}, wantEmbedding: &openai.Config{APIKey: "k", Model: "text-embedding-3-small"}},
		"everything": {"k", "http://h/v1", "c", "e", &openai.Config{APIKey: "k", BaseURL: "http://h/v1", Model: "c"},
			&openai.Config{APIKey: "k", BaseURL: "http://h/v1", Model: "e"}},
		"another service may have no embeddings": {key: "k", url: "http://h/v1", wantChat: &openai.Config{APIKey: "k", BaseURL: "http://h/v1", Model: "gpt-4o-mini"}},
	} {
		t.Setenv("OPENAI_API_KEY", tt.key)
		t.Setenv("OPENAI_BASE_URL", tt.url)
		t.Setenv("OPENAI_MODEL", tt.chat)
		t.Setenv("OPENAI_EMBEDDING_MODEL", tt.embedding)
		chat, embedder := openai.FromEnv()
		assert.Equal(t, tt.wantChat, chat, name)
		assert.Equal(t, tt.wantEmbedding, embedder, name)
	}
}

// Whatever a service answers, a call returns an answer or one of the sentinels,
// and never the key.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`))
	f.Add(200, []byte(`{"choices":[{"message":{"content":[{"type":"text","text":"a"}]}}]}`))
	f.Add(200, []byte(`{"choices":[{}]}`))
	f.Add(401, []byte(`{"error":{"message":["a","`+secret+`"],"code":1.5}}`))
	f.Add(500, []byte(`<html>`+secret))
	f.Add(429, []byte(`{"error":{"message":null}}`))
	f.Add(200, []byte(`{"data":[{"index":-1,"embedding":null}]}`))
	f.Add(200, []byte(`null`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 || status >= 300 && status < 400 {
			return // redirects, and what HTTP does not have
		}
		s := &service{handlers: []http.HandlerFunc{reply(status, string(body))}}
		c := s.config()
		c.MaxRetries = -1
		m, err := openai.NewChatModel(t.Context(), c)
		require.NoError(t, err)
		out, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("hi")})
		require.True(t, err != nil || out.Role == schema.Assistant)
		e, eerr := openai.NewEmbedder(t.Context(), c)
		require.NoError(t, eerr)
		vectors, eerr := e.EmbedStrings(t.Context(), []string{"a", "b"})
		require.True(t, eerr != nil || len(vectors) == 2 && len(vectors[0])*len(vectors[1]) > 0)
		for _, err := range []error{err, eerr} {
			known := errors.Is(err, backends.ErrUnavailable) || errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrModel) || errors.Is(err, backends.ErrDimension)
			if err != nil && (!known || strings.Contains(err.Error(), secret)) {
				t.Fatal(err)
			}
		}
	})
}

func TestEmbedderKeepsTheOrderAcrossBatches(t *testing.T) {
	var sizes []int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // [length of the text, 1], in reverse
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		sizes = append(sizes, len(in.Input))
		var data []string
		for i := len(in.Input) - 1; i >= 0; i-- {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(in.Input[i])))
		}
		reply(200, `{"data":[`+strings.Join(data, ",")+`],"usage":{"prompt_tokens":3,"total_tokens":3}}`)(w, r)
	}))
	defer srv.Close()
	var out *embedding.CallbackOutput
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, callbacks.NewHandlerBuilder().
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, o callbacks.CallbackOutput) context.Context {
			out = embedding.ConvCallbackOutput(o)
			return ctx
		}).Build())
	var texts []string
	for i := range 250 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	e, err := openai.NewEmbedder(t.Context(), &openai.Config{Model: "m", BaseURL: srv.URL + "/v1"})
	require.NoError(t, err)
	vectors, err := e.EmbedStrings(ctx, texts)
	require.NoError(t, err)
	require.Len(t, vectors, 250)
	for i, v := range vectors {
		assert.Equal(t, []float64{float64(i + 1), 1}, v)
	}
	assert.Equal(t, []int{100, 100, 50}, sizes)
	assert.Len(t, out.Embeddings, 250)
	assert.Equal(t, 9, out.TokenUsage.TotalTokens, "of all requests")

	none, err := e.EmbedStrings(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Len(t, sizes, 3, "nothing was sent")
}

func TestEmbedderSendsTheDimensionsAndTheModel(t *testing.T) {
	s := serve(t, reply(200, `{"data":[{"index":0,"embedding":[1,2,3]}]}`))
	c := s.config()
	c.Dimensions = 3
	e, err := openai.NewEmbedder(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, "OpenAI", e.GetType())
	_, err = e.EmbedStrings(t.Context(), []string{"a"}, embedding.WithModel("another"))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"input": []any{"a"}, "model": "another", "dimensions": 3.0}, s.requests[0])
}

func TestVectorsThatCannotBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		data     string
		sentinel error
	}{
		"too few":            {`[{"index":0,"embedding":[1,2]}]`, backends.ErrModel},
		"too many":           {`[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]`, backends.ErrModel},
		"one twice":          {`[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]`, backends.ErrModel},
		"index out of range": {`[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]`, backends.ErrModel},
		"negative index":     {`[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]`, backends.ErrModel},
		"an empty one":       {`[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]`, backends.ErrModel},
		"a missing one":      {`[{"index":0,"embedding":[1]},{"index":1}]`, backends.ErrModel},
		"of unequal length":  {`[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]`, backends.ErrDimension},
		"of another length":  {`[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]`, backends.ErrDimension},
		"beyond float32":     {`[{"index":0,"embedding":[1,1]},{"index":1,"embedding":[1e99,1]}]`, backends.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, reply(200, `{"data":`+tt.data+`}`)).config()
			if strings.HasPrefix(name, "of ") {
				c.Dimensions = 2
			}
			e, err := openai.NewEmbedder(t.Context(), c)
			require.NoError(t, err)
			_, err = e.EmbedStrings(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, tt.sentinel)
			require.ErrorContains(t, err, "embedding 2 texts with test-model")
		})
	}
}
