// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/work"
)

const (
	maxRefusal   = 1 << 16 // bytes of a refusal that are read
	tinyNumber   = 1e-30   // go-openai leaves out a zero: what is smaller than this is meant to be one
	stageRequest = "model request"
)

// wire is the transport of a client. It sends each request in the form that its endpoint takes,
// and learns that form from refusals; it makes of answers that are no plain ones what the API
// would have said.
type wire struct {
	next    http.RoundTripper
	base    string // the address, for reports
	query   string // of the BaseURL
	azure   bool
	extra   map[string]any
	adapt   []string
	empty   int // Config.EmptyMessages
	onError func(ctx context.Context, stage string, err error)
}

// under returns a copy of an HTTP client, which may be nil, that sends over the wire.
func (w *wire) under(c *http.Client) *http.Client {
	out := *retryablehttp.NewClient().HTTPClient // with pooled connections
	if c != nil {
		out = *c
	}
	if w.next = out.Transport; w.next == nil {
		w.next = http.DefaultTransport
	}
	out.Transport = w
	return &out
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	var original body
	if err := json.Unmarshal(data, &original); err != nil {
		return nil, fmt.Errorf("the request is no JSON: %w", err)
	}
	if err := w.complete(original); err != nil {
		return nil, err
	}
	var model string
	_ = json.Unmarshal(original["model"], &model)
	e := endpointOf(w.base, model)
	for range len(adaptations) + 1 {
		b := maps.Clone(original)
		applied := w.apply(b, append(e.names(), w.adapt...))
		resp, err := w.send(req, b)
		if err != nil {
			return nil, err
		}
		text := refusal(resp, bytes.Equal(b["stream"], []byte("true")))
		if text == "" || !w.learn(req.Context(), e, b, applied, text) {
			return w.readable(resp, b), nil
		}
		_ = resp.Body.Close()
	}
	return nil, errors.New("the service refuses the request in each form") // each round learns an adaptation, and applies it
}

// complete puts in what go-openai has no way to send: fields of the provider, and zeros.
func (w *wire) complete(b body) error {
	for _, name := range []string{"temperature", "top_p"} {
		if x, err := strconv.ParseFloat(string(b[name]), 64); err == nil && x < tinyNumber {
			b[name] = json.RawMessage("0")
		}
	}
	for name, value := range w.extra {
		if value == nil {
			delete(b, name)
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("Config.Extra %q: %w", name, err)
		}
		b[name] = raw
	}
	return nil
}

// apply carries out adaptations. It returns the names of those that changed the request.
func (w *wire) apply(b body, names []string) (applied []string) {
	for i := range adaptations {
		a := &adaptations[i]
		if slices.Contains(names, a.name) && a.apply(b) {
			applied = append(applied, a.name)
		}
	}
	return applied
}

// learn looks for adaptations that the text of a refusal asks for, and reports whether the
// request can be sent in another form.
func (w *wire) learn(ctx context.Context, e *endpoint, b body, applied []string, text string) (learnt bool) {
	if fault.Content(text) {
		return false
	}
	for i := range adaptations {
		a := &adaptations[i]
		if slices.Contains(applied, a.name) || !a.refusal.MatchString(text) || !a.apply(maps.Clone(b)) {
			continue
		}
		learnt = true
		if e.adapts(a.name) {
			w.report(ctx, fmt.Errorf("openai: %s refused the form of a request. It is asked with the adaptation %q from now on. Config.Adapt saves the refused request", e.name, a.name))
		}
	}
	return learnt
}

func (w *wire) report(ctx context.Context, err error) { work.Report(ctx, w.onError, stageRequest, err) }

func (w *wire) send(req *http.Request, b body) (*http.Response, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	out.URL.RawQuery = w.query
	if key, ok := strings.CutPrefix(out.Header.Get("Authorization"), "Bearer "); ok && w.azure {
		out.Header.Set("api-key", key)
		out.Header.Del("Authorization")
	}
	return w.next.RoundTrip(out)
}

// refusal returns what a service says against a request, and "" for an answer. A refusal of the
// form has the status 400 then, whatever the service gave it: llama.cpp says 500, and OpenRouter
// 404, or 200 with an error inside.
func refusal(resp *http.Response, stream bool) string {
	if resp.StatusCode < http.StatusBadRequest && stream && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return ""
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), failing{err}, rest), rest}
	if resp.StatusCode < http.StatusBadRequest {
		inside := errorInside(head)
		if inside == 0 {
			return ""
		}
		resp.StatusCode = inside
	}
	text := string(head)
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusBadGateway:
		if errors.Is(fault.Sentinel(http.StatusBadRequest, text), fault.ErrForm) {
			resp.StatusCode = http.StatusBadRequest
		}
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return text
	}
	return ""
}

// failing is a reader of an error; without one it ends.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// errorInside returns the status of an error object in an answer that has no choices, 0 for none.
func errorInside(answer []byte) int {
	var got struct {
		Error   *struct{ Code any }
		Choices []json.RawMessage
	}
	if json.Unmarshal(answer, &got) != nil || got.Error == nil || len(got.Choices) > 0 {
		return 0
	}
	if code, ok := got.Error.Code.(float64); ok && code >= http.StatusBadRequest && code < 600 {
		return int(code)
	}
	return http.StatusBadGateway
}

// readable returns an answer whose stream go-openai reads as it is meant.
func (w *wire) readable(resp *http.Response, b body) *http.Response {
	if bytes.Equal(b["stream"], []byte("true")) && resp.StatusCode < http.StatusBadRequest {
		resp.Body = &lines{from: bufio.NewReader(resp.Body), close: resp.Body, most: w.empty}
	}
	return resp
}

// errEmptyMessages ends a stream of nothing but keep-alive comments.
var errEmptyMessages = errors.New("too many empty messages: Config.EmptyMessages")

// lines is a stream without its comments and blank lines, which keep a connection alive and
// say nothing. It ends with io.EOF only behind [DONE]: one that breaks off is
// io.ErrUnexpectedEOF.
type lines struct {
	from  *bufio.Reader
	close io.Closer
	most  int // of lines in a row that say nothing; 0 is any number

	line  []byte // what is left of one
	empty int
	done  bool
}

func (l *lines) Close() error { return l.close.Close() }

func (l *lines) Read(p []byte) (int, error) {
	for len(l.line) == 0 {
		line, err := l.from.ReadBytes('\n')
		trimmed := bytes.TrimSpace(line)
		switch says := len(trimmed) > 0 && trimmed[0] != ':'; {
		case says:
			l.line, l.empty = line, 0
			data, isData := bytes.CutPrefix(trimmed, []byte("data:"))
			l.done = l.done || isData && string(bytes.TrimSpace(data)) == "[DONE]"
		case len(trimmed) > 0:
			if l.empty++; l.most > 0 && l.empty > l.most {
				return 0, errEmptyMessages
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !l.done && len(l.line) == 0:
			return 0, io.ErrUnexpectedEOF
		case err != nil && len(l.line) == 0:
			return 0, err
		}
	}
	n := copy(p, l.line)
	l.line = l.line[n:]
	return n, nil
}
