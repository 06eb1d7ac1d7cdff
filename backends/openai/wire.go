// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bufio"
	"bytes"
	"cmp"
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
	maxRefusal = 1 << 16 // bytes of a refusal that are read
	tinyNumber = 1e-30   // go-openai leaves out a zero: a smaller number than this stands for one
)

// wire is the transport of a client. It sends each request in the form that its endpoint takes,
// and learns that form from refusals. It turns unusual answers into the API's own form.
type wire struct {
	next    http.RoundTripper
	base    string // the address
	query   string // of the BaseURL
	azure   bool
	extra   body // Config.Extra; null removes a field
	adapt   []string
	empty   int // Config.EmptyMessages
	onError func(ctx context.Context, stage string, err error)
}

// under returns a copy of an HTTP client, which may be nil, that sends over the wire.
func (w *wire) under(c *http.Client) *http.Client {
	out := *cmp.Or(c, retryablehttp.NewClient().HTTPClient) // that has pooled connections
	if w.next = out.Transport; w.next == nil {
		w.next = http.DefaultTransport
	}
	out.Transport = w
	return &out
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var original body
	err := json.NewDecoder(req.Body).Decode(&original)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	w.complete(original)
	var model string
	_ = json.Unmarshal(original["model"], &model)
	name := model + " at " + w.base
	known := slices.Clone(w.adapt)
	endpointOf(name).Range(func(key, _ any) bool { known = append(known, key.(string)); return true })
	for {
		b := maps.Clone(original)
		for i := range adaptations {
			if slices.Contains(known, adaptations[i].name) {
				adaptations[i].apply(b)
			}
		}
		resp, err := w.send(req, b)
		if err != nil {
			return nil, err
		}
		stream := string(b["stream"]) == "true"
		news := w.learn(req.Context(), name, b, known, refusal(resp, stream))
		if len(news) > 0 {
			_ = resp.Body.Close()
			known = append(known, news...)
			continue
		}
		if stream && resp.StatusCode < http.StatusBadRequest {
			resp.Body = &lines{ReadCloser: resp.Body, from: bufio.NewReader(resp.Body), most: w.empty}
		}
		return resp, nil
	}
}

// complete adds fields that go-openai cannot send: zeros, and fields of the provider.
func (w *wire) complete(b body) {
	for _, name := range []string{"temperature", "top_p"} {
		if x, err := strconv.ParseFloat(string(b[name]), 64); err == nil && x < tinyNumber {
			b[name] = json.RawMessage("0")
		}
	}
	maps.Copy(b, w.extra)
	maps.DeleteFunc(b, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
}

// learn returns the adaptations that a refusal asks for, and that change the request.
func (w *wire) learn(ctx context.Context, endpoint string, b body, known []string, refusal string) (news []string) {
	if refusal == "" || fault.Content(refusal) {
		return nil
	}
	for i := range adaptations {
		a := &adaptations[i]
		if slices.Contains(known, a.name) || !a.refusal.MatchString(refusal) || !a.apply(maps.Clone(b)) {
			continue
		}
		news = append(news, a.name)
		if _, is := endpointOf(endpoint).LoadOrStore(a.name, true); !is {
			work.Learnt(ctx, w.onError, fmt.Errorf("openai: %s refused the form of a request. It is asked with the adaptation %q from now on. Config.Adapt saves the refused request", endpoint, a.name))
		}
	}
	return news
}

func (w *wire) send(req *http.Request, b body) (*http.Response, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	out := req.Clone(req.Context())
	out.Body, out.ContentLength, out.GetBody = io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
	out.URL.RawQuery = w.query
	if key, ok := strings.CutPrefix(out.Header.Get("Authorization"), "Bearer "); ok && w.azure {
		out.Header.Set("api-key", key)
		out.Header.Del("Authorization")
	}
	return w.next.RoundTrip(out)
}

// refusal returns a service's text against a request, and "" for an answer. It gives a refusal
// of the form the status 400. Services have others: llama.cpp says 500, and OpenRouter 404, or
// 200 with an error inside.
func refusal(resp *http.Response, stream bool) string {
	answered := resp.StatusCode < http.StatusBadRequest
	if answered && stream && !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return ""
	}
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a later reader gets the error again
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	if answered {
		resp.StatusCode = statusInside(head, resp.StatusCode)
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusBadGateway:
		if errors.Is(fault.Sentinel(http.StatusBadRequest, string(head)), fault.ErrForm) {
			resp.StatusCode = http.StatusBadRequest
		}
	}
	if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnprocessableEntity {
		return ""
	}
	return string(head)
}

// statusInside returns the status of an error object in an answer without choices, else the
// answer's own.
func statusInside(answer []byte, status int) int {
	var got struct {
		Error   *struct{ Code any }
		Choices []json.RawMessage
	}
	if json.Unmarshal(answer, &got) != nil || got.Error == nil || len(got.Choices) > 0 {
		return status
	}
	if code, ok := got.Error.Code.(float64); ok && code >= http.StatusBadRequest && code < 600 {
		return int(code)
	}
	return http.StatusBadGateway
}

// lines is a stream without its comments, which only keep a connection alive. It ends with
// io.EOF only behind [DONE]: a broken stream is io.ErrUnexpectedEOF.
type lines struct {
	io.ReadCloser
	from *bufio.Reader
	most int // comments in a row; 0 is any number

	line  []byte // the rest of one
	empty int
	done  bool
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.line) == 0 {
		line, err := l.from.ReadBytes('\n')
		switch trimmed := bytes.TrimSpace(line); {
		case len(trimmed) > 0 && trimmed[0] != ':':
			l.line, l.empty, l.done = line, 0, l.done || bytes.HasPrefix(trimmed, []byte("data:")) && bytes.HasSuffix(trimmed, []byte("[DONE]"))
		case len(trimmed) > 0:
			l.empty++
		}
		switch {
		case l.most > 0 && l.empty > l.most:
			return 0, errors.New("too many empty messages: Config.EmptyMessages")
		case len(l.line) > 0:
		case errors.Is(err, io.EOF) && !l.done:
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		}
	}
	n := copy(p, l.line)
	l.line = l.line[n:]
	return n, nil
}
