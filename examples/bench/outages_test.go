// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/middleware"
)

// services are an embedder, a model and a reranker. Each request is answered by answer.
type services struct {
	answer func(r *http.Request) (body string, err error)
}

// RoundTrip implements http.RoundTripper.
func (s *services) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := s.answer(r)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if body == "" {
		status = http.StatusInternalServerError
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
}

// Rerank implements recall.Reranker.
func (s *services) Rerank(ctx context.Context, _ string, hits []backends.Hit) ([]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://made-up/rerank", http.NoBody)
	if err != nil {
		return nil, err
	}
	if body, err := s.answer(r); err != nil || body == "" {
		return nil, fmt.Errorf("no answer: %w", errors.Join(err, backends.ErrUnavailable))
	}
	return make([]float64, len(hits)), nil
}

// How long a reply waits for memory, and how many of 40 get a note, while the embedder, the
// reranker or the model hangs, fails with 500, or takes 300 ms:
//
//	go test ./examples/bench -run xxx -bench Outages -benchtime 1x
func BenchmarkOutages(b *testing.B) {
	const replies = 40
	for _, path := range []string{"embeddings", "rerank", "chat/completions"} {
		for _, how := range []string{"well", "hanging", "failing", "slow"} {
			b.Run(path+" "+how, func(b *testing.B) {
				var began atomic.Bool
				s := &services{func(r *http.Request) (string, error) {
					if began.Load() && strings.HasSuffix(r.URL.Path, path) {
						switch how {
						case "hanging":
							<-r.Context().Done()
							return "", r.Context().Err()
						case "failing":
							return "", nil
						case "slow":
							time.Sleep(300 * time.Millisecond)
						}
					}
					var asked struct{ Input []string }
					if !strings.HasSuffix(r.URL.Path, "embeddings") {
						return `{"choices":[{"message":{"content":"{\"operations\":[]}"},"finish_reason":"stop"}]}`, nil
					}
					err := json.NewDecoder(r.Body).Decode(&asked)
					vectors := make([]string, len(asked.Input))
					for i := range vectors {
						vectors[i] = fmt.Sprintf(`{"index":%d,"embedding":[1,2]}`, i)
					}
					return fmt.Sprintf(`{"data":[%s]}`, strings.Join(vectors, ",")), err
				}}
				config := &openai.Config{BaseURL: "http://made-up", Model: "made-up", HTTPClient: &http.Client{Transport: s}}
				chat, err := openai.NewChatModel(b.Context(), config)
				require.NoError(b, err)
				embedder, err := openai.NewEmbedder(b.Context(), config)
				require.NoError(b, err)
				db, err := sqlitestore.Open(b.Context(), ":memory:", nil)
				require.NoError(b, err)
				backend, err := mem0.New(b.Context(), &mem0.Config{
					Store: db, Model: chat, Embedder: embedder, EmbeddingModel: "made-up", Recall: &recall.Config{Reranker: s},
				})
				require.NoError(b, err)
				scope := backends.Scope{UserID: "ann", SessionID: "s"}
				add := &backends.AddRequest{Scope: scope, Verbatim: true, Kind: backends.KindFact}
				for i := range replies {
					said := schema.UserMessage(fmt.Sprintf("Tool %d is in drawer %d.", i, i+7))
					add.Messages = append(add.Messages, backends.Message{Message: said, ID: fmt.Sprint(i)})
				}
				_, err = backend.Add(b.Context(), add)
				require.NoError(b, err)
				memory, err := middleware.New(b.Context(), &middleware.Config{Backend: backend, Scope: scope})
				require.NoError(b, err)
				began.Store(true)
				var times []time.Duration
				notes := 0
				for b.Loop() {
					for i := range replies {
						question := []*schema.Message{schema.UserMessage(fmt.Sprintf("In which drawer is tool %d?", i))}
						start := time.Now()
						shown, err := memory.Prepare(b.Context(), question)
						require.NoError(b, err)
						require.NoError(b, memory.Finish(b.Context(), append(shown, schema.AssistantMessage("I will look it up.", nil))))
						times = append(times, time.Since(start))
						notes += min(1, len(shown)-len(question))
					}
				}
				q := trial.QuantilesOf(times)
				b.ReportMetric(q.P50, "p50-ms")
				b.ReportMetric(q.P95, "p95-ms")
				b.ReportMetric(float64(times[len(times)-1].Milliseconds()), "longest-ms")
				b.ReportMetric(float64(replies*notes)/float64(len(times)), "notes-of-40")
				ended, cancel := context.WithCancel(b.Context())
				cancel()
				_ = memory.Close(ended) // it would wait for a model that hangs
				began.Store(false)
				require.NoError(b, db.Close())
			})
		}
	}
}
