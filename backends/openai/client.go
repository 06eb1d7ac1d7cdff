// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"net/http"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// client is the connection that both components have: go-openai's client over a
// transport that authenticates and retries, and errors without the key.
type client struct {
	api  *api.Client
	send *transport
	hide func(string) string // removes the API key from a text
}

// connection is what the two configurations have in common.
type connection struct {
	key, base        string
	http             *http.Client
	timeout, backoff time.Duration
	retries          int
	clock            backends.Clock
}

func newClient(c connection) (*client, error) {
	if err := checkURL(c.base); err != nil {
		return nil, err
	}
	key := strings.TrimSpace(c.key)
	send := &transport{
		client:  c.http,
		timeout: orDefault(c.timeout, defaultTimeout),
		// A closure, not a field: printing a component cannot print the key.
		authorize: func(h http.Header) {
			if key != "" {
				h.Set("Authorization", "Bearer "+key)
			}
		},
		retry: retryPolicy{max: orDefault(c.retries, defaultMaxRetries), first: orDefault(c.backoff, defaultBackoff), clock: c.clock},
		wait:  wait,
	}
	if send.client == nil {
		send.client = &http.Client{}
	}
	if send.retry.clock == nil {
		send.retry.clock = backends.SystemClock
	}
	conf := api.DefaultConfig("")
	conf.HTTPClient = send
	if c.base != "" {
		conf.BaseURL = c.base
	}
	hide := func(s string) string { return s }
	if key != "" {
		hide = func(s string) string { return strings.ReplaceAll(s, key, "[API key]") }
	}
	return &client{api: api.NewClientWithConfig(conf), send: send, hide: hide}, nil
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}
