// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// server is a mem0 server as far as the adapter calls it: it learns "Fact: TEXT" of each
// message of a user. Unknown paths, fields and keys of an API are errors.
type server struct {
	url string

	mu       sync.Mutex
	memories []map[string]any
	leaky    bool // filters have no effect
	dull     bool // it learns nothing
}

func mem0Server(t testing.TB) *server {
	s := &server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /memories", s.add)
	mux.HandleFunc("POST /search", s.search)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.Equal(t, key, r.Header.Get("X-API-Key"))
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// read decodes a body whose fields are all known.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err != nil {
		reply(w, 422, map[string]any{"detail": err.Error()})
	}
	return err == nil
}

func (s *server) add(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Role, Content string }
		UserID   string `json:"user_id"`
		AgentID  string `json:"agent_id"`
		Metadata map[string]any
		Infer    bool
		Prompt   string
		Custom   string `json:"custom_instructions"` // unknown fields are ignored there
	}
	if !read(w, r, &body) {
		return
	}
	results := []map[string]any{}
	for _, m := range body.Messages {
		if body.Infer && (s.dull || m.Role != "user") {
			continue
		}
		id := fmt.Sprintf("id-%d", len(s.memories)+1)
		text := m.Content
		if body.Infer {
			text = "Fact: " + text
		}
		s.memories = append(s.memories, map[string]any{
			"id": id, "memory": text, "metadata": body.Metadata, "created_at": "2026-03-01T10:00:00.000000-07:00",
			"user_id": body.UserID, "agent_id": body.AgentID,
		})
		results = append(results, map[string]any{"id": id, "memory": text, "event": "ADD"})
	}
	reply(w, 200, map[string]any{"results": results})
}

func (s *server) search(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Query   string
		Filters map[string]any
		TopK    int `json:"top_k"`
	}
	if !read(w, r, &body) {
		return
	}
	results := []map[string]any{}
	for _, m := range s.memories {
		hit := shared(body.Query, m["memory"].(string)) > 0
		for k, v := range body.Filters {
			hit = hit && (s.leaky || m[k] == v)
		}
		if hit && len(results) < body.TopK {
			row := maps.Clone(m)
			row["score"] = 0.8
			results = append(results, row)
		}
	}
	reply(w, 200, map[string]any{"results": results})
}

// shared counts the words of a query that a text has.
func shared(query, text string) (n int) {
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if strings.Contains(strings.ToLower(text), strings.Trim(word, "?.")) {
			n++
		}
	}
	return n
}
