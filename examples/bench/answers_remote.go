// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// remote is a mem0 server. What it answers is recorded, so that who replays needs none.
type remote struct{ calls *recorded }

// Add has the server learn what was said. It has no field for the day, so each message begins with it.
func (r *remote) Add(ctx context.Context, req *backends.AddRequest) (*backends.AddResponse, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var said []message
	for _, m := range req.Messages {
		day := m.Time.Format(dayLayout) + ", " + cmp.Or(m.Name, string(m.Role))
		said = append(said, message{cmp.Or(string(m.Role), "user"), day + ": " + m.Content})
	}
	return nil, r.post(ctx, "/memories", map[string]any{"user_id": req.Scope.UserID, "messages": said}, nil)
}

// Search returns what the server finds.
func (r *remote) Search(ctx context.Context, req *backends.SearchRequest) (*backends.SearchResponse, error) {
	var found struct {
		Results []struct{ Memory string }
	}
	user := map[string]string{"user_id": req.Scope.UserID}
	err := r.post(ctx, "/search", map[string]any{"query": req.Query, "filters": user, "top_k": req.TopK}, &found)
	resp := &backends.SearchResponse{}
	for _, f := range found.Results {
		resp.Hits = append(resp.Hits, backends.Hit{Memory: backends.Memory{Text: f.Memory}})
	}
	return resp, err
}

func (r *remote) post(ctx context.Context, path string, body, to any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := r.calls.Generate(ctx, []*schema.Message{{Role: schema.User, Name: path, Content: string(sent)}})
	if err != nil || to == nil {
		return err
	}
	return json.Unmarshal([]byte(answer.Content), to)
}

// server is asked like a model: by the body of a request, whose name is the path.
type server struct {
	model.ToolCallingChatModel // nil: nothing but Generate is called
	url                        string
}

// Generate implements model.BaseChatModel.
func (s *server) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.url, "/")+in[0].Name, strings.NewReader(in[0].Content))
	if err != nil {
		return nil, fmt.Errorf("-mem0: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", os.Getenv("MEM0_API_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("-mem0: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode/100 != 2 {
		return nil, errors.Join(err, fmt.Errorf("-mem0: %s: %.200s", resp.Status, body))
	}
	out := schema.AssistantMessage(string(body), nil)
	out.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{}}
	return out, nil
}
