// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tester is a test, a benchmark or one run of a property.
type tester interface {
	rapid.TB
	Cleanup(func())
	Context() context.Context
}

// start is when memStore stores everything.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func day(n int) time.Time { return start.AddDate(0, 0, n) }

func user(id string) backends.Partition {
	return backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: id}
}

var ann = user("ann")

// memStore is a store.Records in memory with pages of any size, and with places to make
// it wait, fail and change.
type memStore struct {
	store.Records // methods that no test needs
	pageSize      int64
	before        func(ctx context.Context, cursor string) error // before Changes reads
	after         func()                                         // when Changes has read and not yet returned
	race          func()                                         // before a batch of Reembed

	mu    sync.Mutex
	parts map[backends.Partition]*memPart
	loads int // calls of Changes from the start
}

type memPart struct {
	generation, version int64
	records             map[string]store.Record
	removed             map[string]int64
	embedding           *store.Embedding
}

// newStore returns a store with so many batches a page.
func newStore(pageSize int64) *memStore {
	return &memStore{pageSize: pageSize, parts: map[backends.Partition]*memPart{}}
}

func (s *memStore) part(p backends.Partition) *memPart {
	if s.parts[p] == nil {
		s.parts[p] = &memPart{records: map[string]store.Record{}, removed: map[string]int64{}}
	}
	return s.parts[p]
}

func (s *memStore) Apply(_ context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if s.race != nil && b.Reembed {
		s.race()
	}
	if err := b.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.part(p)
	if b.Embedding != nil && part.embedding != nil && *part.embedding != *b.Embedding && !b.Reembed {
		return nil, backends.ErrDimension
	}
	for _, m := range b.Mutations {
		if m.Expect > 0 && part.records[m.Record.ID].Version != m.Expect {
			return nil, fmt.Errorf("record %s: %w", m.Record.ID, backends.ErrConflict)
		}
	}
	if b.Embedding != nil {
		part.embedding = b.Embedding
	}
	part.version++
	for _, m := range b.Mutations {
		part.mutate(m)
	}
	return &store.Applied{Version: part.version}, nil
}

func (p *memPart) mutate(m store.Mutation) {
	if old, ok := p.records[m.ID]; ok {
		old.Version, old.Invalidated = p.version, m.At
		if m.Op == store.OpSupersede {
			old.SupersededBy, old.Invalidated = m.Record.ID, start
			if !m.Record.Observed.IsZero() {
				old.Invalidated = m.Record.Observed
			}
		}
		p.records[m.ID] = old
	}
	if m.Op == store.OpDelete {
		delete(p.records, m.ID)
		p.removed[m.ID] = p.version
	}
	if m.Record != nil {
		r := *m.Record
		r.Version = p.version
		if r.Created.IsZero() {
			r.Created = start
		}
		p.records[r.ID] = r
		delete(p.removed, r.ID)
	}
}

func (s *memStore) Get(_ context.Context, p backends.Partition, ids ...string) (out []store.Record, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if r, ok := s.part(p).records[id]; ok {
			out = append(out, r)
		}
	}
	return out, nil
}

func (s *memStore) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if s.before != nil {
		if err := s.before(ctx, cursor); err != nil {
			return nil, err
		}
	}
	c := s.changes(p, cursor)
	if s.after != nil {
		s.after()
	}
	return c, nil
}

func (s *memStore) changes(p backends.Partition, cursor string) *store.ChangeSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	var generation, since int64
	if n, _ := fmt.Sscanf(cursor, "%d:%d", &generation, &since); n == 0 {
		s.loads++
	}
	part := s.part(p)
	c := &store.ChangeSet{Embedding: part.embedding, Reset: cursor != "" && generation != part.generation}
	if c.Reset {
		since = 0
	}
	c.Version = min(part.version, since+s.pageSize)
	c.More, c.Cursor = c.Version < part.version, fmt.Sprintf("%d:%d", part.generation, c.Version)
	if c.Version == since {
		return c
	}
	for _, r := range part.records {
		if since < r.Version && r.Version <= c.Version {
			c.Records = append(c.Records, r)
		}
	}
	for id, v := range part.removed {
		if since < v && v <= c.Version {
			c.Removed = append(c.Removed, id)
		}
	}
	return c
}

func (s *memStore) Drop(_ context.Context, p backends.Partition) (store.DropCount, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	generation := s.part(p).generation
	delete(s.parts, p)
	s.part(p).generation = generation + 1
	return store.DropCount{}, nil
}

func newRanker(t tester, s store.Records, options ...func(*Config)) *Ranker {
	t.Helper()
	cfg := &Config{Records: s}
	for _, o := range options {
		o(cfg)
	}
	for _, timeout := range []*time.Duration{&cfg.EmbedTimeout, &cfg.ModelTimeout} {
		*timeout = cmp.Or(*timeout, time.Minute) // however busy the machine is, no call is left to run beside the test
	}
	r, err := New(t.Context(), cfg)
	require.NoError(t, err)
	r.scales.Store(&scales{}) // cosines count as they are
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// indexOf returns the index of a loaded partition.
func (r *Ranker) indexOf(p backends.Partition) *index { return r.cache.get(p, nil).index }

// withEmbedder configures an embedder, and the name of its model.
func withEmbedder(model string, e embedding.Embedder) func(*Config) {
	return func(c *Config) { c.Embedder, c.EmbeddingModel = e, model }
}

// inASecond gives up calls of other services after a second.
func inASecond(c *Config) {
	c.EmbedTimeout, c.ModelTimeout = time.Second, time.Second
}

// hashed returns an embedder for which texts are near each other that share words.
func hashed(dim int) *testkit.Embedder { return &testkit.Embedder{Dim: dim} }

// looked returns an embedder that looks texts up.
func looked(vectors map[string][]float64) *testkit.Embedder {
	return &testkit.Embedder{Vector: func(text string) []float64 { return vectors[text] }}
}

// cosine returns a vector whose cosine with (1, 0) is c.
func cosine(c float64) []float64 { return []float64{c, math.Sqrt(1 - c*c)} }

func put(m backends.Memory) store.Mutation { return store.Put(&store.Record{Memory: m}) }

func fact(id, text string) store.Mutation {
	return put(backends.Memory{ID: id, Kind: backends.KindFact, Text: text})
}

func apply(t tester, s store.Records, p backends.Partition, ms ...store.Mutation) {
	t.Helper()
	_, err := s.Apply(t.Context(), p, &store.Batch{Mutations: ms})
	require.NoError(t, err)
}

// embed stores memories with the vectors of their own texts, or, with texts, of these; with
// none where the ranker has no embedder.
func embed(t tester, s store.Records, r *Ranker, p backends.Partition, texts []string, ms ...backends.Memory) {
	t.Helper()
	for i := len(texts); i < len(ms); i++ {
		texts = append(texts, EmbedText(&ms[i]))
	}
	vectors, space, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	batch := &store.Batch{Embedding: space}
	for i := range ms {
		batch.Mutations = append(batch.Mutations, put(ms[i]))
		if vectors != nil {
			batch.Mutations[i].Record.Vector = vectors[i]
		}
	}
	_, err = s.Apply(t.Context(), p, batch)
	require.NoError(t, err)
}

func search(t tester, r *Ranker, p backends.Partition, q backends.SearchRequest) []backends.Hit {
	t.Helper()
	resp, err := r.Search(t.Context(), p, &q)
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	return resp.Hits
}

// find returns the ids of the hits of a query in ann's partition.
func find(t tester, r *Ranker, query string) []string {
	t.Helper()
	return ids(search(t, r, ann, backends.SearchRequest{Query: query, TopK: 1000}))
}

// names returns the ids of what a look-up found, or its error.
func names(ms []*backends.Memory, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	out := []string{}
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return out
}

func ids(hits []backends.Hit) []string {
	out := make([]string, len(hits))
	for i := range hits {
		out[i] = hits[i].ID
	}
	return out
}

func drawText(t *rapid.T, label string) string {
	words := []string{"cat", "cats", "dog", "running", "tea", "green", "the", "茶", "绿茶", "东京", "книга", "x1", "Ann", "Bob Dylan", "《三体》"}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, label), " ")
}
