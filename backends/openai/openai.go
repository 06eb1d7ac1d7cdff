// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package openai talks to OpenAI, and to every service that speaks its API, as
// Eino components: [ChatModel] is a model.ToolCallingChatModel and [Embedder] an
// embedding.Embedder.
//
//	chat, err := openai.NewChatModel(ctx, &openai.Config{
//		APIKey: os.Getenv("OPENAI_API_KEY"),
//		Model:  "gpt-4o-mini",
//	})
//	embedder, err := openai.NewEmbedder(ctx, &openai.Config{
//		APIKey: os.Getenv("OPENAI_API_KEY"),
//		Model:  "text-embedding-3-small",
//	})
//
// [FromEnv] reads both configs from the environment. For a structured answer offer
// one tool and force it: model.WithTools and
// model.WithToolChoice(schema.ToolChoiceForced).
//
// # Other services
//
// A service that refuses the form of a request is asked in another form, and the process
// remembers it for that address and model. Forms differ in names of fields, roles that
// must alternate, and temperatures. Each change is reported once, by Config.OnError and
// in the log. README.md of this folder lists the tested services.
//
// # Failures
//
// A request that fails with 429 or a 5xx, or whose connection breaks, is retried with
// growing, jittered waits. A retry keeps to its Retry-After and to the deadline. Within 2
// s of the deadline the error comes at once, for a reply that waits for an embedder.
// Every error names the cause and wraps one sentinel of package backends:
//
//   - ErrUnavailable: the service, the network, the key or the account is the
//     cause (every other status, time-outs, answers that are cut or of another
//     protocol; 400 and 422 that are about the key, the account or the form of
//     the request). The same request may succeed once that is repaired.
//   - ErrInvalid: the request can never succeed (other 400 and 422, and 413: too long,
//     refused content; a config or message that the API has no form for).
//   - ErrModel: the answer lacks the choices or the vectors of the request.
//     ErrDimension: vectors of an unexpected length.
//
// When the caller's context ends a call, the error wraps the context's error; only a
// deadline is ErrUnavailable too. Errors never contain the API key.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
)

const (
	defaultTimeout = time.Minute
	defaultRetries = 3
	minWait        = 500 * time.Millisecond // a wait is between these two,
	maxWait        = time.Second            // times the number of attempts
	minRedacted    = 8                      // bytes; a shorter key is a placeholder that may be part of a word
)

// Config configures [NewChatModel] and [NewEmbedder]. It is copied.
type Config struct {
	// APIKey is sent as a bearer token. Optional for services that accept requests
	// without one.
	APIKey string
	// BaseURL is the address of the API, for example "http://localhost:11434/v1". Its
	// query goes with each request; with an api-version in it the key is sent in Azure's
	// form. Optional. Defaults to OpenAI's own.
	BaseURL string
	// Model is the name of the chat model or of the embedding model. Required.
	Model string

	// HTTPClient sends the requests. Its own Timeout would also cut streams: leave
	// it zero. Optional. Defaults to a client of its own with pooled connections.
	HTTPClient *http.Client
	// Timeout bounds a request with its retries, and each piece of a stream. Optional.
	// Defaults to the deadline of the caller's context, and to 60 s for a context without
	// one and for the pieces of a stream.
	Timeout time.Duration
	// MaxRetries is how often a request is retried. Optional. Defaults to 3; below 0
	// turns retries off.
	MaxRetries int

	// Temperature and MaxTokens are a chat model's defaults; the options of a call
	// replace them: memory asks for structured answers at 0. Optional: nil and 0 are left out of
	// requests. Requests to reasoning models (o1, o3, o4, gpt-5), which refuse a temperature, go
	// without one.
	Temperature *float32
	MaxTokens   int

	// Extra are the service's own fields for the body of each request, such as
	// "enable_thinking": false. They replace ours of the same name; nil removes one. Optional.
	Extra map[string]any
	// Adapt names adaptations of the form that are used from the first request on:
	// max_completion_tokens, max_tokens (the reverse), no_temperature, no_top_p, no_stop,
	// no_stream_options, no_names, no_reasoning, reasoning (an empty thought with calls that
	// lack one), no_system (the system's messages become the user's), alternate (messages of
	// one role in a row become one). Optional: each is learnt from the first refusal.
	Adapt []string
	// Answers is the first form for structured answers: "schema" (response_format with a
	// JSON schema), "forced" (a tool that must be called), "auto" (a tool) or "prompt"
	// (JSON in the prompt). A refusal leads to the next one. Optional. Defaults to
	// "schema".
	Answers string
	// Names sends the names of speakers, which some services refuse. Optional.
	Names bool
	// EmptyMessages is the most keep-alive comments in a row; more of them end the stream.
	// Optional: at 0 only Timeout bounds it.
	EmptyMessages int
	// OnError is told once of each learnt adaptation. It must be safe for concurrent use.
	// Optional; the log has it in any case.
	OnError func(ctx context.Context, stage string, err error)

	// Dimensions asks an embedding model for vectors of that length;
	// text-embedding-3 and later models can shorten theirs. Optional. Defaults to
	// the model's own.
	Dimensions int
	// BatchSize is how many texts go into a request for embeddings at most. Optional. Defaults
	// to 100. Memory itself asks for fewer if a service refuses so many.
	BatchSize int

	// ErrorText puts the service's own message into errors. It may quote the request, and
	// so the words of users, and errors stand in logs and in Health. Optional. By default
	// errors have the status and the code.
	ErrorText bool
}

// FromEnv returns the configs of the chat model and the embedder that the environment
// names: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL (default gpt-4o-mini) and
// OPENAI_EMBEDDING_MODEL (default text-embedding-3-small). Both are nil without a key.
// embedder is also nil for a base URL without an embedding model, since many compatible
// services lack one.
func FromEnv() (chat, embedder *Config) {
	key, base, embedding := env("OPENAI_API_KEY"), env("OPENAI_BASE_URL"), env("OPENAI_EMBEDDING_MODEL")
	if key == "" {
		return nil, nil
	}
	if embedding != "" || base == "" {
		embedder = &Config{APIKey: key, BaseURL: base, Model: cmp.Or(embedding, "text-embedding-3-small")}
	}
	return &Config{APIKey: key, BaseURL: base, Model: cmp.Or(env("OPENAI_MODEL"), "gpt-4o-mini")}, embedder
}

func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// client is a connection: go-openai's client over a transport that retries. It is
// safe for concurrent use.
type client struct {
	*api.Client
	key     string // to redact it
	quotes  bool   // Config.ErrorText
	timeout time.Duration
	chosen  bool // timeout is the program's
	wire    *wire
}

func newClient(c *Config) (*client, error) {
	if c == nil || strings.TrimSpace(c.Model) == "" {
		return nil, fmt.Errorf("openai: %w: a config with a Model is required, and FromEnv gives none without OPENAI_API_KEY", backends.ErrInvalid)
	}
	out := &client{quotes: c.ErrorText, key: strings.TrimSpace(c.APIKey), timeout: cmp.Or(c.Timeout, defaultTimeout), chosen: c.Timeout != 0}
	config := api.DefaultConfig(out.key)
	u, err := url.Parse(cmp.Or(c.BaseURL, config.BaseURL))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("openai: %w: BaseURL: want http(s)://host/v1", backends.ErrInvalid)
	}
	extra, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("openai: %w: %w", backends.ErrInvalid, err)
	}
	out.wire = &wire{query: u.RawQuery, azure: u.Query().Has("api-version"), extra: extra, adapt: slices.Clone(c.Adapt), empty: c.EmptyMessages, onError: c.OnError}
	u.RawQuery = ""
	config.BaseURL, out.wire.base = u.String(), u.Redacted()
	config.EmptyMessagesLimit = math.MaxUint32 // wire bounds them
	retrying := retryablehttp.Client{
		HTTPClient: out.wire.under(c.HTTPClient), RetryMax: cmp.Or(c.MaxRetries, defaultRetries), RetryWaitMin: minWait, RetryWaitMax: maxWait,
		CheckRetry: out.checkRetry, Backoff: retryablehttp.RateLimitLinearJitterBackoff, ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	config.HTTPClient = retrying.StandardClient()
	out.Client = api.NewClientWithConfig(config)
	return out, nil
}

// check refuses unknown names, and returns Extra in the form of a body.
func (c *Config) check() (extra body, err error) {
	for _, name := range c.Adapt {
		if !slices.ContainsFunc(adaptations, func(a adaptation) bool { return a.name == name }) {
			return nil, fmt.Errorf("there is no adaptation %q", name)
		}
	}
	switch {
	case !slices.Contains([]string{"", "schema", "forced", "auto", "prompt"}, c.Answers):
		return nil, errors.New("use schema, forced, auto or prompt as Answers")
	case c.BatchSize < 0 || c.EmptyMessages < 0:
		return nil, errors.New("a negative BatchSize or EmptyMessages")
	}
	raw, err := json.Marshal(c.Extra)
	if err == nil {
		err = json.Unmarshal(raw, &extra)
	}
	return extra, err
}

// bound ends a request after Config.Timeout. Without Config.Timeout the caller's deadline
// decides.
func (c *client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded && !c.chosen {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, c.timeout, errTimeout)
}

// checkRetry is retryablehttp's policy with one exception. The call may end before the
// wait that the service asks for, or before a wait of our own and as much time for an
// answer. Then the service's answer is the error.
func (c *client) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	retry, _ := retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	wait := retryablehttp.DefaultBackoff(0, 0, 0, resp) // Retry-After, or 0
	deadline, bounded := ctx.Deadline()
	return retry && wait < c.timeout && (!bounded || max(wait, 2*maxWait) < time.Until(deadline)), nil
}

// errTimeout is the cause of a context that Config.Timeout ended.
var errTimeout = errors.New("no answer in time")

// failure returns the caller's error for err, which is go-openai's or wraps a sentinel
// already. It leaves other errors unwrapped: they may repeat the API key.
func (c *client) failure(ctx context.Context, doing string, err error) error {
	return fault.Told(c.told(ctx, doing, err))
}

func (c *client) told(ctx context.Context, doing string, err error) error {
	var answer *api.APIError
	var page *api.RequestError // an answer of somebody else, such as a proxy
	if errors.As(err, &page) {
		answer = &api.APIError{HTTPStatusCode: page.HTTPStatusCode, Message: fmt.Sprintf("%.200q", page.Body)}
	}
	var text string
	sentinel := backends.ErrUnavailable
	switch isAnswer := answer != nil || errors.As(err, &answer) && answer != nil; {
	case errors.Is(err, backends.ErrModel), errors.Is(err, backends.ErrDimension):
		return fmt.Errorf("openai: %s: %w", doing, err)
	case isAnswer:
		text, sentinel = c.fromAPI(answer)
	case errors.Is(context.Cause(ctx), errTimeout):
		text = fmt.Sprintf("no answer within %s: raise openai.Config.Timeout if the model needs longer", c.timeout)
	case errors.Is(ctx.Err(), context.Canceled): // the caller's decision
		return fmt.Errorf("openai: %s: %w", doing, ctx.Err())
	case ctx.Err() != nil:
		return fmt.Errorf("openai: %s: %w: %w", doing, sentinel, ctx.Err())
	default:
		text = fmt.Sprintf("no complete answer of the API (%v): check BaseURL (OPENAI_BASE_URL)", err)
	}
	if len(c.key) >= minRedacted {
		text = strings.ReplaceAll(text, c.key, "[API key]")
	}
	return fmt.Errorf("openai: %s: %w: %s", doing, sentinel, text)
}

// The way out for the statuses that blame neither the request nor the service.
var hints = map[int]string{
	http.StatusUnauthorized:    ": set OPENAI_API_KEY, or APIKey in the config, to a valid key",
	http.StatusPaymentRequired: ": the account's quota is spent",
	http.StatusForbidden:       ": the key may not use this model",
	http.StatusNotFound:        ": check Model and BaseURL (OPENAI_MODEL, OPENAI_BASE_URL)",
}

// fromAPI returns the text and the sentinel for a failure that the API reports: by a
// status or, with status 0, inside a stream.
func (c *client) fromAPI(e *api.APIError) (text string, sentinel error) {
	status := e.HTTPStatusCode
	if inside, ok := e.Code.(int); ok && status == 0 && inside >= http.StatusBadRequest { // in a stream
		status = inside
	}
	hint := hints[status]
	if e.Code == "insufficient_quota" {
		hint = hints[http.StatusPaymentRequired]
	}
	kind := status
	if status == 0 && e.Type == "invalid_request_error" { // inside a stream
		kind = http.StatusBadRequest
	}
	if e.Code == nil || e.Code == 0 { // null is decoded to 0
		e.Code = e.Type
	}
	text = fmt.Sprintf("status %d (%v): %s%s", status, e.Code, e.Message, hint)
	if sentinel = fault.Sentinel(kind, text); !c.quotes {
		text = fmt.Sprintf("status %d%s%s%s", status, code(e), fault.About(sentinel, text), hint)
	}
	return text, sentinel
}

// code returns the API's code of a failure, if it is a name: another text may quote.
func code(e *api.APIError) string {
	if name := fmt.Sprint(e.Code); named.MatchString(name) {
		return " (" + name + ")"
	}
	return ""
}

var named = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
