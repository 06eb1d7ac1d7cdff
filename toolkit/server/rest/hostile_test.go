// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/server/access"
)

const (
	annsSecret = "mem_ann"
	bobsSecret = "mem_bob"
	readSecret = "mem_read"
)

func tenants() []access.Key {
	return []access.Key{
		{Name: "ann", Hash: access.Hash(annsSecret), Users: []string{"ann"}, Agents: []string{"ann"}, Workspaces: []string{"ann"}, Write: true},
		{Name: "bob", Hash: access.Hash(bobsSecret), Users: []string{"bob"}, Agents: []string{"bob"}, Workspaces: []string{"bob"}, Write: true},
		{Name: "reader", Hash: access.Hash(readSecret), Users: []string{"ann"}, Workspaces: []string{"ann"}},
	}
}

// bodyFor returns a body that fits the schema and names id wherever a person can be named.
func bodyFor(s *jsonschema.Schema, id string) map[string]any {
	out := map[string]any{}
	for name, p := range s.Properties {
		switch name {
		case "scope":
			out[name] = map[string]any{"user_id": id, "session_id": "s1"}
		case "user_id", "workspace_id", "agent_id", "workspace", "src_workspace_id":
			if p.Type == "string" || len(p.Types) > 0 {
				out[name] = id
			}
		}
	}
	for _, name := range s.Required {
		if _, ok := out[name]; !ok {
			out[name] = valueFor(s.Properties[name], id)
		}
	}
	return out
}

func valueFor(s *jsonschema.Schema, id string) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	kind := s.Type
	for _, t := range s.Types {
		if t != "null" {
			kind = t
		}
	}
	switch kind {
	case "object":
		if len(s.Properties) > 0 {
			return bodyFor(s, id)
		}
		return map[string]any{"user_id": id}
	case "array":
		if s.Items != nil {
			return []any{valueFor(s.Items, id)}
		}
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	default:
		return "text"
	}
}

// address returns the route's path with what it asks for.
func address(rt *route, id, memory string) string {
	path := strings.ReplaceAll(rt.path, "{$}", "")
	for strings.Contains(path, "{") {
		from, to := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:from] + url.PathEscape(memory) + path[to+1:]
	}
	query := "?"
	for _, part := range []string{"user_id=" + id, "session_id=s1"} {
		name, _, _ := strings.Cut(part, "=")
		if !rt.strict || slices.ContainsFunc(rt.params, func(p param) bool { return p.name == name }) {
			query += part + "&"
		}
	}
	return path + query
}

func TestAKeyReachesNothingOfAnotherTenant(t *testing.T) {
	now := backends.SystemClock()
	s := newServer(t, tenants(), func(c *Config) { c.Clock = func() time.Time { return now } })
	status, out := s.call(annsSecret, "POST", "/api/v1/add", map[string]any{"scope": map[string]any{"user_id": "ann", "session_id": "s1"},
		"verbatim": true, "messages": []any{map[string]any{"role": "user", "content": "My password hint is a purple heron."}}})
	require.Equal(t, http.StatusOK, status, out)
	memory := out["items"].([]any)[0].(map[string]any)["memory"].(map[string]any)["id"].(string)
	status, out = s.call(annsSecret, "PUT", "/v1/working-memory/s1", map[string]any{"user_id": "ann",
		"messages": []any{map[string]any{"role": "user", "content": "The purple heron again."}}})
	require.Equal(t, http.StatusOK, status, out)

	// What bob's key gets of ann is what it gets of a person who is not there.
	for _, rt := range s.routes {
		if strings.HasPrefix(rt.path, "/api/v1/jobs/") {
			continue
		}
		t.Run(rt.pattern, func(t *testing.T) {
			ask := func(secret, id, memory string) (int, string) {
				var body any
				if rt.body != nil {
					body = bodyFor(rt.body.Schema(), id)
				}
				status, out := s.call(secret, rt.method, address(rt, id, memory), body)
				b, err := json.Marshal(out)
				require.NoError(t, err)
				return status, string(b)
			}
			status, text := ask(bobsSecret, "ann", memory)
			require.NotContains(t, text, "heron")
			status2, text2 := ask(bobsSecret, "nix", "00000000-0000-0000-0000-000000000000")
			require.Equal(t, status2, status)
			require.Equal(t, strings.ReplaceAll(text2, "nix", "ann"), text)
			if status < 400 {
				require.Contains(t, []string{"GET /api/v1/me", "GET /api/v1/people", "GET /health", "GET /v1/ping/{$}", "GET /v1/health", "GET /entities", "GET /v1/entities/{$}"}, rt.pattern, text)
			}
			if status, _ := ask("wrong", "ann", memory); status != http.StatusUnauthorized {
				t.Errorf("a wrong key gets %d", status)
			}
			if rt.mode&access.Write != 0 {
				status, _ := ask(readSecret, "ann", memory)
				require.Contains(t, []int{http.StatusForbidden, http.StatusNotFound}, status)
			}
		})
	}
	_, out = s.call(annsSecret, "POST", "/api/v1/search", map[string]any{"scope": ann(), "query": "heron"})
	require.NotEmpty(t, out["hits"], "what is ann's is still there")
}

func TestAJobIsItsKeysAlone(t *testing.T) {
	s := newServer(t, tenants(), nil)
	body := map[string]any{"scope": ann(), "verbatim": true, "messages": []any{map[string]any{"role": "user", "content": "I like herons."}}}
	status, out := s.call(annsSecret, "POST", "/api/v1/add", body, "Prefer", "respond-async")
	require.Equal(t, http.StatusAccepted, status, out)
	at := out["url"].(string)
	status, _ = s.call(bobsSecret, "GET", at, nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Eventually(t, func() bool {
		status, out = s.call(annsSecret, "GET", at, nil)
		return out["status"] != nil
	}, 10*time.Second, 10*time.Millisecond)
	require.EqualValues(t, http.StatusOK, out["status"])
	require.Len(t, out["body"].(map[string]any)["items"], 1)

	status, out = s.call(annsSecret, "POST", "/api/v1/add", body, "Accept", "text/event-stream")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, out["raw"], "event: result")

	require.NoError(t, s.Close(t.Context()))
	status, _ = s.call(annsSecret, "POST", "/api/v1/add", body, "Prefer", "respond-async")
	require.Equal(t, http.StatusServiceUnavailable, status, "no job begins after Close")
}

// TestMalformedRequestsAreTheCallersFault sends bodies and addresses that are damaged at random.
func TestMalformedRequestsAreTheCallersFault(t *testing.T) {
	s := newServer(t, tenants(), nil)
	random := rand.New(rand.NewPCG(14, 1))
	counts := map[int]int{}
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	for range n {
		rt := s.routes[random.IntN(len(s.routes))]
		r := damaged(random, rt)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		counts[w.Code/100]++
		require.Less(t, w.Code, 500, "%s %s: %s", r.Method, r.URL, w.Body)
		for _, inside := range []string{"goroutine", ".go:", "panic", "runtime error", "SELECT", "0x"} {
			require.NotContains(t, w.Body.String(), inside, "%s %s", r.Method, r.URL)
		}
	}
	t.Logf("answers by hundreds: %v", counts)
}

func damaged(random *rand.Rand, rt *route) *http.Request {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	strange := func() any {
		return []any{nil, -1, 1e300, "", "\x00", strings.Repeat("é", 3000), []any{}, map[string]any{}, true, "ann", "..", "*",
			[]any{map[string]any{"role": 7}}, map[string]any{"a": map[string]any{"$gt": []any{}}}}[random.IntN(14)]
	}
	text := ""
	if rt.body != nil {
		body := bodyFor(rt.body.Schema(), "ann")
		for name := range maps.Clone(rt.body.Schema().Properties) {
			if random.IntN(3) == 0 {
				body[name] = strange()
			}
		}
		b, err := json.Marshal(body)
		if err != nil {
			b = []byte("{")
		}
		text = string(b)
		if random.IntN(4) == 0 && len(text) > 1 {
			text = text[:random.IntN(len(text))] + pick("", "}", "[", "\xff", "nul")
		}
	}
	path := address(rt, "ann", pick("x", "..", "%00", "a/b", strings.Repeat("z", 3000), "'; DROP"))
	if random.IntN(5) == 0 {
		path += pick("limit=-1", "limit=x", "after=9e9", "session_id=%00", "namespace=%2a", "cursor=zz")
	}
	r := httptest.NewRequestWithContext(context.Background(), rt.method, path, strings.NewReader(text))
	r.Header.Set("Authorization", pick("Bearer ", "Token ", "Bearer x", "")+annsSecret)
	r.Header.Set("Content-Type", pick("application/json", "application/json", "application/json", "text/plain", ""))
	if random.IntN(50) == 0 {
		r.Header.Set("Origin", "https://elsewhere.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	return r
}

func TestPagesOfOtherOriginsAndOtherMachinesAreRefused(t *testing.T) {
	s := newServer(t, nil, nil)
	ask := func(change func(r *http.Request)) int {
		r := httptest.NewRequestWithContext(context.Background(), "POST", "http://127.0.0.1:8080/api/v1/list", strings.NewReader(`{"scope":{"user_id":"ann"}}`))
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("Content-Type", "application/json")
		change(r)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		return w.Code
	}
	require.Equal(t, http.StatusOK, ask(func(*http.Request) {}))
	for name, change := range map[string]func(r *http.Request){
		"another origin":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another machine": func(r *http.Request) { r.RemoteAddr = "10.0.0.7:4711" },
		"a proxy":         func(r *http.Request) { r.Header.Set("X-Forwarded-For", "10.0.0.7") },
		"a rebound name":  func(r *http.Request) { r.Host = "elsewhere.example" },
	} {
		require.Equal(t, http.StatusForbidden, ask(change), name)
	}
	require.Equal(t, http.StatusBadRequest, ask(func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), "a form cannot send JSON")
}

func TestLimitsOfBodyAndRate(t *testing.T) {
	s := newServer(t, nil, func(c *Config) { c.MaxBody = 100 })
	status, out := s.call("", "POST", "/api/v1/search", map[string]any{"scope": ann(), "query": strings.Repeat("x", 200)})
	require.Equal(t, http.StatusRequestEntityTooLarge, status, out)
	guard, err := access.New(&access.Config{PerSecond: 0.001}) // one at once
	require.NoError(t, err)
	s = newServer(t, nil, func(c *Config) { c.Guard = guard })
	status, _ = s.call("", "POST", "/api/v1/search", map[string]any{"scope": ann(), "query": "x"})
	require.Equal(t, http.StatusOK, status)
	status, out = s.call("", "POST", "/api/v1/search", map[string]any{"scope": ann(), "query": "x"})
	require.Equal(t, http.StatusTooManyRequests, status, out)
}

func TestTheDocumentDescribesEveryRoute(t *testing.T) {
	s := newServer(t, nil, nil)
	status, doc := s.call("", "GET", "/openapi.json", nil)
	require.Equal(t, http.StatusOK, status)
	paths := doc["paths"].(map[string]any)
	ids := map[string]bool{}
	for _, rt := range s.routes {
		op := paths[strings.ReplaceAll(rt.path, "{$}", "")].(map[string]any)[strings.ToLower(rt.method)].(map[string]any)
		require.NotEmpty(t, op["summary"], rt.pattern)
		require.False(t, ids[op["operationId"].(string)], rt.pattern)
		ids[op["operationId"].(string)] = true
		for _, name := range strings.Split(rt.path, "/") {
			if strings.HasPrefix(name, "{") && name != "{$}" {
				require.Contains(t, fmt.Sprint(op["parameters"]), "name:"+strings.Trim(name, "{}"), rt.pattern)
			}
		}
	}
}

func TestExportAndImportStreamAPerson(t *testing.T) {
	from, to := newServer(t, nil, nil), newServer(t, nil, nil)
	status, out := from.call("", "POST", "/api/v1/add", map[string]any{"scope": ann(), "verbatim": true,
		"messages": []any{map[string]any{"role": "user", "content": "I moved to Hangzhou."}}})
	require.Equal(t, http.StatusOK, status, out)
	res, err := http.Get(from.url + "/api/v1/export?user_id=ann")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, to.url+"/api/v1/import?user_id=ann", res.Body)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, string(b))
	_, out = to.call("", "POST", "/api/v1/search", map[string]any{"scope": ann(), "query": "Hangzhou"})
	require.Len(t, out["hits"], 1)
}

func TestPeopleAreThoseThatTheKeyOpens(t *testing.T) {
	s := newServer(t, tenants(), nil)
	for _, who := range []string{"ann", "bob"} {
		status, out := s.call("mem_"+who, "POST", "/api/v1/add", map[string]any{"scope": map[string]any{"user_id": who}, "verbatim": true,
			"messages": []any{map[string]any{"role": "user", "content": "I like tea."}}})
		require.Equal(t, http.StatusOK, status, out)
	}
	_, out := s.call(bobsSecret, "GET", "/api/v1/people", nil)
	require.Equal(t, []any{map[string]any{"namespace": backends.DefaultNamespace, "kind": "user", "id": "bob"}}, out["partitions"])
}
