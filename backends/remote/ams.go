// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"net/http"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// workingTTL is how long, in seconds, a batch stays in working memory. The server learns from it
// within a minute.
const workingTTL = 24 * 60 * 60

// AgentMemoryServer is a backend on redis/agent-memory-server. It is safe for concurrent use.
type AgentMemoryServer struct{ *frame }

// NewAgentMemoryServer returns a backend on the server of cfg.BaseURL, and connects with the first
// call. A malformed config is ErrInvalid.
func NewAgentMemoryServer(cfg *Config) (*AgentMemoryServer, error) {
	a := &AgentMemoryServer{newFrame("agent-memory-server", cfg)}
	a.server, a.textsAlone = a, true
	return a, a.connect("Authorization", "Bearer ")
}

func (a *AgentMemoryServer) search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error) {
	user := a.nameOf(p)
	body := map[string]any{
		"text": r.Query, "limit": min(r.TopK, 100), // its most
		"namespace": map[string]any{"eq": p.Namespace}, "user_id": map[string]any{"eq": user},
	}
	var out struct{ Memories []row }
	err := a.do(ctx, call{doing: "searching", method: http.MethodPost, path: "/v1/long-term-memory/search", in: body, out: &out})
	// The server's filters ignore case, and it drops the namespace's filter if a search
	// finds nothing.
	return a.hits(ctx, p, out.Memories, func(r *row) bool { return r.Namespace == p.Namespace && r.User == user }), err
}

func (a *AgentMemoryServer) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) ([]backends.Item, error) {
	// Each batch has a session of its own: the server replaces whole sessions, and a shared
	// one would lose messages. A repeat replaces the same session.
	batch := []string{"batch", p.String(), r.Scope.SessionID, r.IdempotencyKey}
	messages := make([]map[string]any, len(said))
	for i, m := range said {
		messages[i] = map[string]any{"role": m.Role, "content": m.Content, "created_at": m.of.Time.UTC()}
		batch = append(batch, m.of.ID, m.Content)
	}
	body := map[string]any{"messages": messages, "namespace": p.Namespace, "user_id": a.nameOf(p), "ttl_seconds": workingTTL}
	path := "/v1/working-memory/" + text.HashID(batch...)
	return nil, a.do(ctx, call{doing: "learning", method: http.MethodPut, path: path, in: body})
}
