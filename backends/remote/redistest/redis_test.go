// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package redistest_test tests eino-ext's Redis indexer and retriever as a memory, through
// remote.NewVectors, on a server that searches vectors. It is a module of its own, as the library
// requires neither of them. It runs where EINOMEM_REDIS_SEARCH names a server and its module for
// search, PROGRAM:MODULE: see redissearch in .ci/run.
package redistest_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	indexer "github.com/cloudwego/eino-ext/components/indexer/redis"
	retriever "github.com/cloudwego/eino-ext/components/retriever/redis"
	eino "github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

const prefix, index, dim = "mem:", "memories", 64

// server starts a Redis that searches, and returns a client as eino-ext's retriever wants it.
func server(t *testing.T) *redis.Client {
	program, module, found := strings.Cut(os.Getenv("EINOMEM_REDIS_SEARCH"), ":")
	if !found {
		t.Skip("EINOMEM_REDIS_SEARCH names no server with its module for search")
	}
	dir, err := os.MkdirTemp("", "redis") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", socket, "--loadmodule", module, "--save", "", "--dir", dir)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, Protocol: 2, UnstableResp3: true})
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool { return c.Ping(context.Background()).Err() == nil }, time.Minute, 20*time.Millisecond)
	return c
}

var odd = regexp.MustCompile(`[^0-9A-Za-z]`)

// vectors is the program of the documentation: a memory in Redis by eino-ext's own components.
func vectors(ctx context.Context, c *redis.Client, onError func(context.Context, string, error)) (*remote.Vectors, error) {
	embedder := &testkit.Embedder{Dim: dim}
	if err := c.FTCreate(ctx, index, &redis.FTCreateOptions{OnHash: true, Prefix: []any{prefix}},
		&redis.FieldSchema{FieldName: remote.PartitionKey, FieldType: redis.SearchFieldTypeTag, CaseSensitive: true},
		&redis.FieldSchema{FieldName: "vector_content", FieldType: redis.SearchFieldTypeVector, VectorArgs: &redis.FTVectorArgs{
			FlatOptions: &redis.FTFlatOptions{Type: "FLOAT32", Dim: dim, DistanceMetric: "COSINE"},
		}}).Err(); err != nil {
		return nil, err
	}
	in, err := indexer.NewIndexer(ctx, &indexer.IndexerConfig{Client: c, KeyPrefix: prefix, Embedding: embedder})
	if err != nil {
		return nil, err
	}
	out, err := retriever.NewRetriever(ctx, &retriever.RetrieverConfig{
		Client: c, Index: index, Embedding: embedder,
		ReturnFields: []string{"content", remote.PartitionKey, remote.MemoryKey, retriever.SortByDistanceAttributeName},
		DocumentConverter: func(_ context.Context, d redis.Document) (*schema.Document, error) {
			distance, err := strconv.ParseFloat(d.Fields[retriever.SortByDistanceAttributeName], 64)
			doc := &schema.Document{ID: strings.TrimPrefix(d.ID, prefix), Content: d.Fields["content"], MetaData: map[string]any{
				remote.PartitionKey: d.Fields[remote.PartitionKey], remote.MemoryKey: d.Fields[remote.MemoryKey],
			}}
			return doc.WithScore(1 - distance), err
		},
	})
	if err != nil {
		return nil, err
	}
	return remote.NewVectors(&remote.VectorsConfig{
		Indexer: in, Retriever: out, Config: remote.Config{OnError: onError},
		Filter: func(p backends.Partition) []eino.Option { // the server's own: a tag, with all but letters escaped
			query := "@" + remote.PartitionKey + ":{" + odd.ReplaceAllString(p.String(), `\$0`) + "}"
			return []eino.Option{eino.WrapImplSpecificOptFn(func(o *retriever.ImplOptions) { o.FilterQuery = query })}
		},
	})
}

func open(t *testing.T, failures *testkit.Failures) *remote.Vectors {
	t.Helper()
	v, err := vectors(t.Context(), server(t), failures.Add)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close(context.Background())) })
	return v
}

// An agent says something in one session, and knows it in the next.
func TestAnAgentRemembersInRedis(t *testing.T) {
	var failures testkit.Failures
	mem, err := middleware.New(t.Context(), &middleware.Config{
		Backend: open(t, &failures), Sessions: testkit.SQLite(t), Mode: modes.StaticControl, AwaitWrite: true, OnError: failures.Add,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
	chat := testkit.New(testkit.Text("Noted."))
	ask := func(user, session, words string) string {
		scope := middleware.Scope{UserID: user, SessionID: session}
		a := testkit.Agent(t, "a", chat, nil)
		testkit.Drain(mem.WrapRunner(testkit.Runner(a, false, nil)).Query(middleware.WithScope(t.Context(), scope), words))
		calls := chat.Calls()
		return strings.Join(testkit.Lines(calls[len(calls)-1]), "\n")
	}
	ask("ann", "monday", "I always take the train to Oslo.")
	require.Contains(t, ask("ann", "friday", "Which train takes me to Oslo?"), "I always take the train to Oslo.")
	require.NotContains(t, ask("bob", "friday", "Which train takes me to Oslo?"), "always")
	require.NoError(t, failures.Err())
}

// Whoever stores what under whatever name, a search finds the best of its own partition, all of
// them up to its limit, and nothing of another's.
func TestIsolationInRedis(t *testing.T) {
	var failures testkit.Failures
	v, round := open(t, &failures), 0
	names := []string{"ann", "Ann", "ANN", "ann,bob", "a b", "a-b", "a_b", "{ann}", "ann|bob", "@x", `a\b`, "a\"b", "安", "安安", "a/b", "a%2Fb", "(a)", "-ann", "a.b", "~a", "a:b", "$a", "a&b=c", "'"}
	rapid.Check(t, func(t *rapid.T) {
		round++
		ctx, space := context.Background(), fmt.Sprint("round", round)
		scopeOf := rapid.Custom(func(t *rapid.T) backends.Scope {
			name := rapid.OneOf(rapid.SampledFrom(names), rapid.StringMatching(`[ -)+-~安ñ]{1,12}`)).Filter(func(s string) bool { return strings.TrimSpace(s) == s && s != "" })
			return backends.Scope{Namespace: space + rapid.OneOf(rapid.Just(""), name).Draw(t, "namespace"), UserID: name.Draw(t, "user")}
		})
		scopes := rapid.SliceOfN(scopeOf, 2, 6).Draw(t, "scopes")
		want := map[backends.Partition]map[string]bool{}
		for i, s := range scopes {
			p, err := s.Owner()
			require.NoError(t, err)
			if want[p] == nil {
				want[p] = map[string]bool{}
			}
			for n := range 3 {
				text := fmt.Sprintf("the harbour of town %d%d", i, n)
				want[p][text] = true
				_, err = v.Add(ctx, &backends.AddRequest{Scope: s, Messages: testkit.User(text)})
				require.NoError(t, err)
			}
		}
		for _, s := range scopes {
			p, _ := s.Owner()
			found, err := v.Search(ctx, &backends.SearchRequest{Scope: s, Query: "harbour of town", TopK: 100})
			require.NoError(t, err)
			require.ElementsMatch(t, slices.Collect(maps.Keys(want[p])), testkit.Texts(found.Hits), "%q", p.String())
			few, err := v.Search(ctx, &backends.SearchRequest{Scope: s, Query: "harbour of town", TopK: 2})
			require.NoError(t, err)
			require.Len(t, few.Hits, 2, "others take no place of %q", p.String())
			for _, hit := range few.Hits {
				require.Positive(t, hit.Score)
			}
		}
		require.NoError(t, failures.Err(), "the server's filter lets nothing through, so that nothing has to be dropped")
	})
}
