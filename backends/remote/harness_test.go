// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/test/testkit"
)

const key = "key-0123456789"

var ann = backends.Scope{UserID: "ann", SessionID: "s1"}

var (
	_ backends.Manager   = (*remote.Einomem)(nil)
	_ backends.Forgetter = (*remote.Einomem)(nil)
)

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
	data := must(os.ReadFile(filepath.Join("testdata", file)))(t)
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
		like(t, step.Request.Method+" "+step.Request.Path, r.Method+" "+r.URL.RequestURI())
		for name, value := range step.Request.Headers {
			assert.Equal(t, value, r.Header.Get(name))
		}
		var body any
		if r.Method != http.MethodGet {
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		}
		like(t, string(must(json.Marshal(step.Request.Body))(t)), string(must(json.Marshal(body))(t)))
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

// like asserts that a text is the wanted one, where $any is anything that is there.
func like(t *testing.T, want, got string) {
	pattern := regexp.QuoteMeta(strings.ReplaceAll(want, `"$any"`, "$any"))
	assert.Regexp(t, "^"+strings.ReplaceAll(pattern, `\$any`, ".+")+"$", got)
}

// must returns what a call returned, which must not fail.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// config is for a server, with a clock that stands.
func config(url string, failures *testkit.Failures) *remote.Config {
	c := &remote.Config{BaseURL: url, APIKey: key, MaxRetries: -1, ErrorText: true, Clock: testkit.NewClock().Now}
	if failures != nil {
		c.OnError = failures.Add
	}
	return c
}

// named is config where the server has the names of the scope.
func named(url string, failures *testkit.Failures) *remote.Config {
	c := config(url, failures)
	c.Name = func(p backends.Partition) string { return p.ID }
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
