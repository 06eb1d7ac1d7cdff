// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/testkit"
)

const key = "key-0123456789"

var (
	_ backends.Backend = (*remote.Mem0)(nil)
	_ backends.Backend = (*remote.ReMe)(nil)
	_ backends.Backend = (*remote.AgentMemoryServer)(nil)
	_ backends.Backend = (*remote.Vectors)(nil)
)

var ann = backends.Scope{UserID: "ann", SessionID: "s1"}

// exchange is a request and its answer, in the form in which servers are recorded.
type exchange struct {
	Request struct {
		Method, Path string
		Headers      map[string]string
		Body         any
	}
	Response struct {
		Status      int
		ContentType string `json:"content_type"`
		Body        any
	}
}

// play answers as a file of exchanges says, each named one once and in this order, and fails
// the test for any other request.
func play(t *testing.T, file string, names ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var all map[string]exchange
	require.NoError(t, json.Unmarshal(data, &all))
	var steps []exchange
	for _, name := range names {
		require.Contains(t, all, name)
		steps = append(steps, all[name])
	}
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !assert.NotEmpty(t, steps, "unexpected %s %s", r.Method, r.URL) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		step := steps[0]
		steps = steps[1:]
		assert.Equal(t, step.Request.Method, r.Method)
		if path, rest, ok := strings.Cut(step.Request.Path, "$any"); ok {
			assert.True(t, strings.HasPrefix(r.URL.RequestURI(), path) && strings.HasSuffix(r.URL.RequestURI(), rest), r.URL)
		} else {
			assert.Equal(t, step.Request.Path, r.URL.RequestURI())
		}
		for name, value := range step.Request.Headers {
			assert.Equal(t, value, r.Header.Get(name))
		}
		var body any
		if data, _ := io.ReadAll(r.Body); len(data) > 0 {
			assert.NoError(t, json.Unmarshal(data, &body))
		}
		assert.True(t, matches(step.Request.Body, body), "body of %s: want %v, got %v", step.Request.Path, step.Request.Body, body)
		answer(w, &step)
	}))
	t.Cleanup(func() {
		srv.Close()
		assert.Empty(t, steps, "requests that were not made")
	})
	return srv.URL
}

func answer(w http.ResponseWriter, e *exchange) {
	if e.Response.ContentType == "" {
		e.Response.ContentType = "application/json"
	}
	w.Header().Set("Content-Type", e.Response.ContentType)
	w.WriteHeader(e.Response.Status)
	_ = json.NewEncoder(w).Encode(e.Response.Body)
}

// matches compares JSON values; "$any" is any value that is there.
func matches(want, got any) bool {
	object, ok := want.(map[string]any)
	if !ok {
		list, isList := want.([]any)
		other, same := got.([]any)
		if !isList || !same || len(list) != len(other) {
			return want == "$any" && got != nil || reflect.DeepEqual(want, got)
		}
		for i := range list {
			if !matches(list[i], other[i]) {
				return false
			}
		}
		return true
	}
	other, ok := got.(map[string]any)
	if !ok || len(object) != len(other) {
		return false
	}
	for k := range object {
		if !matches(object[k], other[k]) {
			return false
		}
	}
	return true
}

// config is for a server, with a clock that stands.
func config(url string, failures *testkit.Failures) *remote.Config {
	c := &remote.Config{BaseURL: url, APIKey: key, MaxRetries: -1, Clock: testkit.NewClock().Now}
	if failures != nil {
		c.OnError = failures.Add
	}
	return c
}

func said(turns ...string) []backends.Message {
	out := testkit.User(turns...)
	for i := range out {
		if i%2 == 1 {
			out[i].Message = schema.AssistantMessage(turns[i], nil)
		}
		out[i].Turn = "t1"
	}
	return out
}

func texts(hits []backends.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Text)
	}
	return out
}
