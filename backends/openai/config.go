// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

const (
	defaultTimeout    = 60 * time.Second
	defaultMaxRetries = 3
	defaultBackoff    = 500 * time.Millisecond
	defaultBatchSize  = 100
)

// ChatModelConfig configures [NewChatModel]. It is copied and never changed.
type ChatModelConfig struct {
	// APIKey is sent as a bearer token. Optional for servers that ask for none.
	APIKey string
	// BaseURL is where the API is served, for example "http://localhost:11434/v1".
	// Optional. Defaults to OpenAI's own.
	BaseURL string
	// Model is the model's name, for example "gpt-4o-mini". Required.
	Model string

	// HTTPClient sends the requests. Its own Timeout would also cut streams: leave
	// it zero. Optional. Defaults to a client of http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout bounds one attempt: until the whole answer is there or, when
	// streaming, until its next piece is. Optional. Defaults to 60 s; below 0
	// there is none but the context's.
	Timeout time.Duration
	// MaxRetries is how often a request is sent again. Optional. Defaults to 3;
	// below 0 it is never sent again.
	MaxRetries int
	// Backoff is the first wait between attempts; each further one is twice as
	// long. Optional. Defaults to 500 ms.
	Backoff time.Duration

	// Temperature, TopP, MaxTokens and Stop are the defaults of every call.
	// Optional: what is not set is not sent. The reasoning models (o1, o3, o4,
	// gpt-5) accept no temperature and no top p: to them neither is sent.
	Temperature *float32
	TopP        *float32
	MaxTokens   int
	Stop        []string

	// Clock reads a Retry-After that is a date. Optional. Defaults to
	// backends.SystemClock.
	Clock backends.Clock
}

// String tells the configuration without the API key.
func (c ChatModelConfig) String() string {
	return fmt.Sprintf("openai chat model %q at %s", c.Model, shownURL(c.BaseURL))
}

// GoString is String, so that %#v does not tell the API key either.
func (c ChatModelConfig) GoString() string { return c.String() }

// EmbedderConfig configures [NewEmbedder]. It is copied and never changed.
type EmbedderConfig struct {
	// APIKey, BaseURL, HTTPClient, Timeout, MaxRetries, Backoff and Clock are as
	// in [ChatModelConfig].
	APIKey     string
	BaseURL    string
	HTTPClient *http.Client
	Timeout    time.Duration
	MaxRetries int
	Backoff    time.Duration
	Clock      backends.Clock

	// Model is the embedding model's name, for example "text-embedding-3-small".
	// Required.
	Model string
	// Dimensions asks for vectors of that length, which text-embedding-3 and later
	// models can shorten to. Optional. Defaults to the model's own.
	Dimensions int
	// BatchSize is how many texts one request carries at most. Optional. Defaults
	// to 100; OpenAI accepts 2,048.
	BatchSize int
}

// String tells the configuration without the API key.
func (c EmbedderConfig) String() string {
	return fmt.Sprintf("openai embedder %q at %s", c.Model, shownURL(c.BaseURL))
}

// GoString is String, so that %#v does not tell the API key either.
func (c EmbedderConfig) GoString() string { return c.String() }

func shownURL(base string) string {
	if base == "" {
		return "the default address"
	}
	u, err := url.Parse(base)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Redacted()
}

func checkURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("openai: base URL: %w: want http(s)://host/v1", backends.ErrInvalid)
	}
	return nil
}

func checkModel(name string) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf("openai: %w: Model is required", backends.ErrInvalid)
	}
	return nil
}
