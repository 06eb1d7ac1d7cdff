// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

const (
	// workingTTL is how long, in seconds, a batch stays in working memory. The server learns from
	// it within a minute.
	workingTTL = 24 * 60 * 60
	// patience is how long a batch counts as queued, whatever the server says: it may be set to
	// learn nothing, and it may lose the mark of what it has learnt.
	patience = 10 * time.Minute
)

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

func (a *AgentMemoryServer) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) (*backends.AddResponse, error) {
	if r.Verbatim || r.Author == backends.AuthorAgent {
		return a.store(ctx, p, r, said)
	}
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
	if learnt, known, err := a.learnt(ctx, path, p); known || err != nil {
		return &backends.AddResponse{Queued: !learnt}, err
	}
	return &backends.AddResponse{Queued: true}, a.do(ctx, call{doing: "learning", method: http.MethodPut, path: path, in: body})
}

// learnt reports whether the server knows the session of a batch, and has learnt from it.
func (a *AgentMemoryServer) learnt(ctx context.Context, path string, p backends.Partition) (learnt, known bool, err error) {
	var held struct {
		Messages []struct {
			Learnt string `json:"discrete_memory_extracted"`
		}
		Created time.Time `json:"created_at"`
	}
	absent := false
	query := url.Values{"namespace": {p.Namespace}, "user_id": {a.nameOf(p)}}
	err = a.do(ctx, call{doing: "asking whether it is learnt", method: http.MethodGet, path: path, query: query, out: &held, absent: &absent})
	learnt = true
	for _, m := range held.Messages {
		learnt = learnt && m.Learnt == "t"
	}
	return learnt || a.cfg.Clock().Sub(held.Created) > patience, !absent && len(held.Messages) > 0, err
}

// store stores texts as they are, among the memories of the server. It indexes them in a moment.
func (a *AgentMemoryServer) store(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) (*backends.AddResponse, error) {
	kind := "semantic"
	if r.Verbatim && cmp.Or(r.Kind, backends.KindEpisode) == backends.KindEpisode {
		kind = "message"
	}
	records := make([]map[string]any, len(said))
	for i := range said {
		m := a.memoryOf(p, r, &said[i])
		records[i] = map[string]any{
			"id": m.ID, "text": m.Text, "memory_type": kind, "namespace": p.Namespace, "user_id": a.nameOf(p), "created_at": m.Observed.UTC(),
		}
	}
	body := map[string]any{"memories": records}
	return &backends.AddResponse{Queued: true}, a.do(ctx, call{doing: "storing", method: http.MethodPost, path: "/v1/long-term-memory/", in: body})
}
