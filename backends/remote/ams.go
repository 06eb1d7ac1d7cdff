// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"net/http"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

const (
	amsTopK = 100          // rows of an answer, at most
	amsTTL  = 24 * 60 * 60 // seconds that a batch stays in working memory; the server learns from it within a minute
)

// AgentMemoryServer is a backend on redis/agent-memory-server. It is safe for concurrent use.
type AgentMemoryServer struct{ *frame }

// NewAgentMemoryServer returns a backend on the server of cfg.BaseURL. It makes no request
// yet. A malformed config is ErrInvalid.
func NewAgentMemoryServer(cfg *Config) (*AgentMemoryServer, error) {
	a := &AgentMemoryServer{newFrame("agent-memory-server", cfg)}
	a.server, a.agentless = a, true
	return a, a.connect("Authorization", "Bearer ")
}

// amsRecord is a record of long-term memory.
type amsRecord struct {
	ID, Text, Namespace string
	Session             string `json:"session_id"`
	User                string `json:"user_id"`
	Type                string `json:"memory_type"`
	Created             string `json:"created_at"`
	Updated             string `json:"updated_at"`
	Event               string `json:"event_date"`
	Score               float64
}

// identity returns the names by which the server keeps a partition apart.
func (a *AgentMemoryServer) identity(p backends.Partition) (namespace, user string) {
	plain := ""
	if p.Kind == backends.PartitionUser {
		plain = p.ID
	}
	return (&Config{}).partitionName(backends.Partition{Namespace: p.Namespace}, p.Namespace), a.cfg.partitionName(p, plain)
}

func (a *AgentMemoryServer) search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) (hits []backends.Hit, err error) {
	namespace, user := a.identity(p)
	var out struct{ Memories []amsRecord }
	err = a.do(ctx, call{doing: "searching", method: http.MethodPost, path: "/v1/long-term-memory/search", out: &out, body: map[string]any{
		"text": r.Query, "namespace": map[string]any{"eq": namespace}, "user_id": map[string]any{"eq": user}, "limit": min(r.TopK, amsTopK),
	}})
	// The server's filters take no account of case, and it drops that of the namespace where
	// nothing is found.
	for _, row := range own(ctx, a.frame, out.Memories, func(row *amsRecord) bool { return row.Namespace == namespace && row.User == user }) {
		hit := backends.Hit{Score: min(max(row.Score, 0), 1), Memory: backends.Memory{
			ID: row.ID, Kind: backends.KindFact, Text: row.Text, Scope: p.Scope().Or(backends.Scope{SessionID: row.Session}), Origin: backends.Origin{Session: row.Session},
			Created: timeOf(row.Created, time.UTC), Updated: timeOf(row.Updated, time.UTC), Valid: timeOf(row.Event, time.UTC),
		}}
		if row.Type == "message" {
			hit.Kind = backends.KindEpisode
		}
		hits = append(hits, hit)
	}
	return hits, err
}

func (a *AgentMemoryServer) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) ([]backends.Item, error) {
	if r.Verbatim || len(r.Metadata) > 0 || !r.Expires.IsZero() || r.Instructions != "" {
		return nil, a.errorf("learning", backends.ErrInvalid, "Verbatim, Metadata, Expires and Instructions: the server has none of them for conversations")
	}
	namespace, user := a.identity(p)
	// A session of its own for each batch: the server replaces sessions whole, and one that
	// several share would lose messages. A repeat replaces the same session.
	batch, messages := []string{"batch", p.String(), r.Scope.SessionID, r.IdempotencyKey}, make([]map[string]any, len(said))
	for i, m := range said {
		messages[i] = map[string]any{"role": m.Role, "content": m.Content, "created_at": m.of.Time.UTC()}
		batch = append(batch, m.of.ID, m.Content)
	}
	return nil, a.do(ctx, call{doing: "learning", method: http.MethodPut, path: "/v1/working-memory/" + hashPrefix + keeper.HashID(batch...),
		body: map[string]any{"messages": messages, "namespace": namespace, "user_id": user, "ttl_seconds": amsTTL}})
}
