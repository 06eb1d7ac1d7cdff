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

var _ backends.Backend = (*AgentMemoryServer)(nil)

// NewAgentMemoryServer returns a backend on the server of cfg.BaseURL. It makes no request
// yet. A malformed config is ErrInvalid.
func NewAgentMemoryServer(cfg *Config) (*AgentMemoryServer, error) {
	a := &AgentMemoryServer{}
	var err error
	if a.frame, err = newFrame("agent-memory-server", cfg, a); err != nil {
		return nil, err
	}
	a.agentless = true
	return a, a.connect("Authorization", "Bearer ")
}

// amsRecord is a record of long-term memory.
type amsRecord struct {
	ID        string  `json:"id"`
	Text      string  `json:"text"`
	Session   string  `json:"session_id,omitempty"`
	User      string  `json:"user_id"`
	Namespace string  `json:"namespace"`
	Type      string  `json:"memory_type"`
	Created   string  `json:"created_at,omitempty"`
	Updated   string  `json:"updated_at,omitempty"`
	Event     string  `json:"event_date,omitempty"`
	Score     float64 `json:"score,omitempty"`
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
			ID: row.ID, Kind: backends.KindFact, Text: row.Text, Scope: held(p, backends.Scope{SessionID: row.Session}), Origin: backends.Origin{Session: row.Session},
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
	if len(r.Metadata) > 0 || !r.Expires.IsZero() || r.Instructions != "" {
		return nil, a.errorf("learning", backends.ErrInvalid, "Metadata, Expires and Instructions: the server has none of them")
	}
	namespace, user := a.identity(p)
	if r.Verbatim {
		memories, items := a.drafts(p, r, said)
		rows := make([]amsRecord, len(memories))
		for i, m := range memories {
			rows[i] = amsRecord{ID: m.ID, Text: m.Text, Session: m.Scope.SessionID, User: user, Namespace: namespace, Type: "semantic", Created: m.Observed.UTC().Format(time.RFC3339Nano)}
			if m.Kind == backends.KindEpisode {
				rows[i].Type = "message"
			}
		}
		// Without deduplicate the server's model does not merge what is to be stored as it is.
		return items, a.do(ctx, call{doing: "storing", method: http.MethodPost, path: "/v1/long-term-memory/", body: map[string]any{"memories": rows, "deduplicate": false}})
	}
	// A session of its own for each batch: the server replaces sessions whole, and one that
	// several share would lose messages. A repeat replaces the same session.
	batch, messages := []string{"batch", p.String(), r.Scope.SessionID, r.IdempotencyKey}, make([]map[string]any, len(said))
	for i, m := range said {
		messages[i] = map[string]any{"role": m.Role, "content": m.Content, "created_at": m.of.Time.UTC().Format(time.RFC3339Nano)}
		batch = append(batch, m.of.ID, m.Content)
	}
	return nil, a.do(ctx, call{doing: "learning", method: http.MethodPut, path: "/v1/working-memory/" + hashPrefix + keeper.HashID(batch...),
		body: map[string]any{"messages": messages, "namespace": namespace, "user_id": user, "ttl_seconds": amsTTL}})
}
