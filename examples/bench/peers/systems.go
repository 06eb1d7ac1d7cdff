// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/schema"
	"github.com/philippgille/chromem-go"
	adk "google.golang.org/adk/memory"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
	trpc "trpc.group/trpc-go/trpc-agent-go/memory"
	"trpc.group/trpc-go/trpc-agent-go/memory/inmemory"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/trial"
)

// top is how many messages a question finds at most, where a library has a setting for it.
const top = 10

// memory holds the messages of one user.
type memory struct {
	add   func(t *trial.Turn) error            // adds what was said after all the others
	find  func(query string) ([]string, error) // returns the ids of messages, the best first
	close func() error
}

// system is a library, or a way to use it.
type system struct {
	name, finds string
	unranked    bool // its hits are unordered
	// open makes an empty memory in an empty folder. A nil embed leaves it words alone.
	open func(ctx context.Context, dir string, embed chromem.EmbeddingFunc) (*memory, error)
}

var (
	byWords = []system{
		{name: "einomem, SQLite", finds: "words", open: openEinomem},
		{name: "bleve, files, no sync", finds: "words, tf-idf", open: openBleve},
		{name: "trpc-agent-go, in the process", finds: "words, BM25", open: openTRPC},
		{name: "adk-go, in the process", finds: "one word, no order", unranked: true, open: openADK},
	}
	byVectors = []system{
		{name: "einomem, SQLite", finds: "words and vectors", open: openEinomem},
		{name: "chromem-go, files, no sync", finds: "vectors", open: openChromem},
	}
)

// said is the text of a message for the other libraries. einomem gets its parts.
func said(t *trial.Turn) string {
	return t.Speaker + ", " + t.Time.Format("2 January 2006: ") + t.Text
}

// idsOf returns the ids of a library's hits.
func idsOf[T any](found []T, id func(T) string) []string {
	out := make([]string, len(found))
	for i, f := range found {
		out[i] = id(f)
	}
	return out
}

// openEinomem opens the default backend on a SQLite file, in which every commit is on disk.
func openEinomem(ctx context.Context, dir string, embed chromem.EmbeddingFunc) (*memory, error) {
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	if err != nil {
		return nil, err
	}
	cfg := &mem0.Config{Store: s, Recall: &recall.Config{EmbedTimeout: time.Minute}} // for a model on the same machine
	if embed != nil {
		cfg.Embedder, cfg.EmbeddingModel = embedder(embed), "the same for all"
	}
	b, err := mem0.New(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	add := func(t *trial.Turn) error {
		text := &schema.Message{Role: schema.User, Name: t.Speaker, Content: t.Text}
		said := []backends.Message{{ID: t.ID, Turn: t.ID, Time: t.Time, Message: text}}
		scope := backends.Scope{UserID: "user", SessionID: t.Session}
		_, err := b.Add(ctx, &backends.AddRequest{Scope: scope, Messages: said})
		return err
	}
	find := func(query string) ([]string, error) {
		resp, err := b.Search(ctx, &backends.SearchRequest{Scope: backends.Scope{UserID: "user"}, Query: query, TopK: top})
		if err != nil {
			return nil, err
		}
		return idsOf(resp.Hits, func(h backends.Hit) string { return h.Origin.Turn }), resp.Degraded
	}
	return &memory{add, find, func() error { return errors.Join(b.Close(ctx), s.Close()) }}, nil
}

// embedder is an embedder of Eino.
type embedder chromem.EmbeddingFunc

// EmbedStrings implements Eino's embedding.Embedder.
func (e embedder) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, text := range texts {
		v, err := e(ctx, text)
		if err != nil {
			return nil, err
		}
		for _, x := range v {
			out[i] = append(out[i], float64(x))
		}
	}
	return out, nil
}

// nothing is the close of a memory that needs none.
func nothing() error { return nil }

// openChromem makes a collection of chromem-go, a file for each message.
func openChromem(ctx context.Context, dir string, embed chromem.EmbeddingFunc) (*memory, error) {
	db, err := chromem.NewPersistentDB(dir, false)
	if err != nil {
		return nil, err
	}
	c, err := db.CreateCollection("user", nil, embed)
	add := func(t *trial.Turn) error { return c.AddDocument(ctx, chromem.Document{ID: t.ID, Content: said(t)}) }
	find := func(query string) ([]string, error) {
		found, err := c.Query(ctx, query, min(top, c.Count()), nil, nil)
		return idsOf(found, func(r chromem.Result) string { return r.ID }), err
	}
	return &memory{add, find, nothing}, err
}

// openBleve makes an index of bleve with its analyzer for English. By default it waits for the
// disk with each message, some 10 ms; here it writes behind, as chromem-go does.
func openBleve(ctx context.Context, dir string, _ chromem.EmbeddingFunc) (*memory, error) {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	index, err := bleve.NewUsing(filepath.Join(dir, "index"), mapping, scorch.Name, scorch.Name, map[string]any{"unsafe_batch": true})
	if err != nil {
		return nil, err
	}
	add := func(t *trial.Turn) error { return index.Index(t.ID, struct{ Text string }{said(t)}) }
	find := func(query string) ([]string, error) {
		found, err := index.SearchInContext(ctx, bleve.NewSearchRequestOptions(bleve.NewMatchQuery(query), top, 0, false))
		if err != nil {
			return nil, err
		}
		return idsOf(found.Hits, func(h *search.DocumentMatch) string { return h.ID }), nil
	}
	return &memory{add, find, index.Close}, nil
}

// openTRPC makes the memory of trpc-agent-go, which returns ten messages at most. It names a
// message by its text, and keeps one of each.
func openTRPC(ctx context.Context, _ string, _ chromem.EmbeddingFunc) (*memory, error) {
	service := inmemory.NewMemoryService(inmemory.WithMemoryLimit(1 << 30)) // by default a user has 1,000
	user, ids := trpc.UserKey{AppName: "peers", UserID: "user"}, map[string]string{}
	add := func(t *trial.Turn) error {
		ids[said(t)] = t.ID
		return service.AddMemory(ctx, user, said(t), nil)
	}
	find := func(query string) ([]string, error) {
		found, err := service.SearchMemories(ctx, user, query)
		return idsOf(found, func(e *trpc.Entry) string { return ids[e.Memory.Memory] }), err
	}
	return &memory{add, find, service.Close}, nil
}

// openADK makes the memory of adk-go, which takes whole sessions: each message is one. It
// returns all messages that have a word of the query.
func openADK(ctx context.Context, _ string, _ chromem.EmbeddingFunc) (*memory, error) {
	service, sessions := adk.InMemoryService(), session.InMemoryService()
	add := func(t *trial.Turn) error {
		created, err := sessions.Create(ctx, &session.CreateRequest{AppName: "peers", UserID: "user", SessionID: t.ID})
		if err != nil {
			return err
		}
		text := genai.NewContentFromText(said(t), genai.RoleUser)
		e := &session.Event{ID: t.ID, Timestamp: t.Time, LLMResponse: model.LLMResponse{Content: text}}
		return errors.Join(sessions.AppendEvent(ctx, created.Session, e), service.AddSessionToMemory(ctx, created.Session))
	}
	find := func(query string) ([]string, error) {
		found, err := service.SearchMemory(ctx, &adk.SearchRequest{Query: query, AppName: "peers", UserID: "user"})
		if err != nil {
			return nil, err
		}
		return idsOf(found.Memories, func(e adk.Entry) string { return e.ID }), nil
	}
	return &memory{add, find, nothing}, nil
}
