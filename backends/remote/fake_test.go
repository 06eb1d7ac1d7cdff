// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a mem0 server as far as the adapter calls it: it learns "Fact: TEXT" of each
// message of a user. Unknown paths, fields and keys of an API are errors, and it shows
// everything to everyone, as mem0 does.
type server struct {
	url string

	mu       sync.Mutex
	memories []map[string]any
	history  map[string][]map[string]any
	adds     int
	lose     int  // answers of additions that get lost
	leaky    bool // filters have no effect
}

func mem0Server(t testing.TB) *server {
	s := &server{history: map[string][]map[string]any{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /memories", s.add)
	mux.HandleFunc("GET /memories", s.list)
	mux.HandleFunc("POST /search", s.search)
	mux.HandleFunc("GET /memories/{id}", func(w http.ResponseWriter, r *http.Request) { reply(w, 200, s.get(r.PathValue("id"))) })
	mux.HandleFunc("PUT /memories/{id}", s.update)
	mux.HandleFunc("DELETE /memories/{id}", s.remove)
	mux.HandleFunc("GET /memories/{id}/history", func(w http.ResponseWriter, r *http.Request) { reply(w, 200, s.history[r.PathValue("id")]) })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("X-API-Key") != key {
			reply(w, 401, map[string]any{"detail": "Invalid API key."})
			return
		}
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
	if err := d.Decode(into); err != nil {
		reply(w, 422, map[string]any{"detail": []any{map[string]any{"loc": []any{"body"}, "msg": err.Error()}}})
		return false
	}
	return true
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
	if body.UserID == "" && body.AgentID == "" {
		reply(w, 400, map[string]any{"detail": "At least one identifier (user_id, agent_id, run_id) is required."})
		return
	}
	s.adds++
	results := []map[string]any{}
	for _, m := range body.Messages {
		if body.Infer && m.Role != "user" {
			continue
		}
		id := fmt.Sprintf("id-%d", len(s.history)+1)
		text := m.Content
		if body.Infer {
			text = "Fact: " + text
		}
		now := time.Date(2026, 3, 1, 0, 0, len(s.history), 0, time.UTC).Format("2006-01-02T15:04:05.000000-07:00")
		row := map[string]any{"id": id, "memory": text, "metadata": body.Metadata, "created_at": now, "updated_at": now, "user_id": nil, "agent_id": nil}
		if body.UserID != "" {
			row["user_id"] = body.UserID
		}
		if body.AgentID != "" {
			row["agent_id"] = body.AgentID
		}
		s.memories = append(s.memories, row)
		s.history[id] = []map[string]any{{"id": "h" + id, "memory_id": id, "old_memory": nil, "new_memory": text, "event": "ADD", "created_at": now}}
		results = append(results, map[string]any{"id": id, "memory": text, "event": "ADD"})
	}
	if s.lose > 0 {
		s.lose--
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"results": [`))
		return
	}
	reply(w, 200, map[string]any{"results": results})
}

func (s *server) search(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Query     string
		Filters   map[string]any
		TopK      int      `json:"top_k"`
		Threshold *float64 // 0.1 without
	}
	if !read(w, r, &body) {
		return
	}
	results := []map[string]any{}
	for _, m := range s.memories {
		metadata, _ := m["metadata"].(map[string]any)
		hit := true
		for k, v := range body.Filters {
			hit = hit && (s.leaky || m[k] == v || metadata[k] == v)
		}
		shared := 0.0
		for _, word := range strings.Fields(strings.ToLower(body.Query)) {
			if strings.Contains(strings.ToLower(m["memory"].(string)), strings.Trim(word, "?.")) {
				shared = 0.8
			}
		}
		if hit && (shared > 0 || body.Threshold != nil) && len(results) < body.TopK {
			row := map[string]any{"score": shared}
			for k, v := range m {
				row[k] = v
			}
			results = append(results, row)
		}
	}
	reply(w, 200, map[string]any{"results": results})
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	results := []map[string]any{}
	for _, m := range s.memories {
		if s.leaky || m["user_id"] == r.URL.Query().Get("user_id") || m["agent_id"] == r.URL.Query().Get("agent_id") && r.URL.Query().Has("agent_id") {
			results = append(results, m)
		}
	}
	reply(w, 200, map[string]any{"results": results})
}

func (s *server) get(id string) any {
	for _, m := range s.memories {
		if m["id"] == id {
			return m
		}
	}
	return nil
}

func (s *server) update(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Text     *string
		Metadata map[string]any
	}
	if !read(w, r, &body) {
		return
	}
	m, ok := s.get(r.PathValue("id")).(map[string]any)
	if !ok {
		reply(w, 404, map[string]any{"detail": "Memory not found"})
		return
	}
	if body.Text != nil {
		s.history[m["id"].(string)] = append(s.history[m["id"].(string)], map[string]any{"old_memory": m["memory"], "new_memory": *body.Text, "event": "UPDATE"})
		m["memory"] = *body.Text
	}
	merged := map[string]any{}
	for _, from := range []any{m["metadata"], body.Metadata} {
		for k, v := range from.(map[string]any) {
			merged[k] = v
		}
	}
	m["metadata"] = merged
	reply(w, 200, map[string]any{"message": "Memory updated successfully!"})
}

func (s *server) remove(w http.ResponseWriter, r *http.Request) {
	for i, m := range s.memories {
		if m["id"] == r.PathValue("id") {
			s.memories = append(s.memories[:i:i], s.memories[i+1:]...)
			reply(w, 200, map[string]any{"message": "Memory deleted successfully!"})
			return
		}
	}
	reply(w, 404, map[string]any{"detail": "Memory not found"})
}
