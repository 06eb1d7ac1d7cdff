// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
)

// comparison stores, searches and writes the same memories in several places.
type comparison struct {
	sizes           [][2]int // the memories of a user, and the users
	clients         []int    // that write at the same time, each for a user of its own
	dim             int      // components of a vector
	queries, writes int
	// latency gets a point for each search of one user: the p50, in ms, over the memories.
	latency trial.Chart
}

// printRedis measures memory in Redis beside memory in a SQLite file: searches of one
// user and of many, warm and cold; writes by many clients at once; bytes.
func printRedis(ctx context.Context, b *bench) error {
	places, err := place.All(ctx, b.url)
	if err != nil {
		return err
	}
	full := &comparison{
		sizes: [][2]int{{1000, 1}, {10_000, 1}, {100_000, 1}, {100, 1000}}, clients: []int{1, 8, 64}, dim: 1536, queries: 200, writes: 2000,
		latency: trial.Chart{Title: "A search of one user, warm", X: "memories", Y: "p50, ms"},
	}
	return errors.Join(full.print(ctx, b.out, places), b.draw("latency", &full.latency))
}

// way is a way to find memories: by words alone, or also by vectors, exact or rounded.
type way struct {
	name             string
	vectors, rounded bool
}

var ways = []way{{"lexical", false, false}, {"float32", true, false}, {"int8", true, true}}

// print prints a table of searches and one of writes.
func (c *comparison) print(ctx context.Context, out io.Writer, places []place.Place) error {
	trial.Head(out, "where", "memories × users", "how", "warm p50 / p95 / p99 ms", "cold p50 / p95 ms", "bytes stored", "held", "recall@10")
	for _, size := range c.sizes {
		memories, users := size[0], size[1]
		corpus := trial.NewCorpus(memories*users, c.queries, c.dim)
		err := eachWay(ctx, places, corpus, func(m *measured) error {
			if m.Most > 0 && len(corpus.Texts) > m.Most {
				return nil
			}
			if err := m.search(ctx, users); err != nil {
				return err
			}
			if users == 1 {
				c.latency.Add(m.Name+", "+m.name, float64(memories), m.warm.P50)
			}
			trial.Row(out, m.Name, fmt.Sprintf("%d × %d", memories, users), m.name,
				fmt.Sprintf("%.2f / %.2f / %.2f", m.warm.P50, m.warm.P95, m.warm.P99),
				fmt.Sprintf("%.1f / %.1f", m.cold.P50, m.cold.P95), m.stored, m.held, m.recall10)
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	trial.Head(out, "where", "how", "clients", "adds a second (p50 / p95 ms)")
	for _, clients := range c.clients {
		err := eachWay(ctx, places, trial.NewCorpus(c.writes, 1, c.dim), func(m *measured) error {
			perSecond, took, err := m.write(ctx, clients)
			if err == nil {
				trial.Row(out, m.Name, m.name, clients, fmt.Sprintf("%.0f (%.2f / %.2f)", perSecond, took.P50, took.P95))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachWay calls do to measure each way in each place, on a store that is empty before and after.
func eachWay(ctx context.Context, places []place.Place, c *trial.Corpus, do func(*measured) error) error {
	for _, p := range places {
		for _, w := range ways {
			at, err := p.Open(ctx)
			if err == nil {
				err = errors.Join(do(&measured{Place: p, way: w, Opened: at, Corpus: c}), at.Remove())
			}
			if err != nil {
				return fmt.Errorf("%s, %s, %d memories: %w", p.Name, w.name, len(c.Texts), err)
			}
		}
	}
	return nil
}

// measured holds the cost and the hits of searches in a corpus, in one place and one way.
type measured struct {
	place.Place
	way
	*place.Opened
	*trial.Corpus

	warm     trial.Quantiles // of a search, when all is in the process
	cold     trial.Quantiles // of the first answer in a new process
	recall10 string          // 0 to 1, of vectors, against comparing all; empty without a measurement
	stored   int64           // bytes a memory outside the process
	held     int64           // bytes a memory in the process
}

// start runs do like a new process: with a ranker whose memory is empty.
func (m *measured) start(ctx context.Context, do func(*recall.Ranker) error) (err error) {
	cfg := &recall.Config{Records: m.Opened, Int8: m.rounded, MaxBytes: 16 << 30}
	if m.vectors {
		cfg.Embedder, cfg.EmbeddingModel = embedder{m.Corpus}, "made-up"
	}
	ranker, err := recall.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	return do(ranker)
}

// search stores the corpus, an equal part for each user, and searches it.
func (m *measured) search(ctx context.Context, users int) error {
	empty, err := m.Bytes()
	if err != nil {
		return err
	}
	if err := m.start(ctx, func(r *recall.Ranker) error { return m.fill(ctx, r, users) }); err != nil {
		return err
	}
	full, err := m.Bytes()
	if err != nil {
		return err
	}
	m.stored = (full - empty) / int64(len(m.Texts))
	if err := m.begin(ctx, users); err != nil {
		return err
	}
	before := heap()
	return m.start(ctx, func(r *recall.Ranker) error {
		for user := range users { // loads each
			if _, err := find(ctx, r, user, m.Queries[0], 10); err != nil {
				return err
			}
		}
		m.held = max(0, heap()-before) / int64(len(m.Texts))
		rnd := rand.New(rand.NewPCG(4, 4))
		var times []time.Duration
		for _, q := range m.Queries {
			user, began := rnd.IntN(users), time.Now()
			if _, err := find(ctx, r, user, q, 10); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		m.warm = trial.QuantilesOf(times)
		if !m.vectors || users > 1 {
			return nil
		}
		return m.compare(ctx, r)
	})
}

// fill stores the corpus, many memories at a time.
func (m *measured) fill(ctx context.Context, r *recall.Ranker, users int) error {
	each := len(m.Texts) / users
	for user := range users {
		for begin := user * each; begin < (user+1)*each; begin += 500 {
			batch, err := m.batch(ctx, r, begin, min(begin+500, (user+1)*each))
			if err != nil {
				return err
			}
			if _, err := m.Apply(ctx, userOf(user), batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch returns the batch that stores a part of the corpus, with its vectors.
func (m *measured) batch(ctx context.Context, r *recall.Ranker, begin, end int) (*store.Batch, error) {
	vectors, space, err := r.Embed(ctx, m.Texts[begin:end])
	batch := &store.Batch{Embedding: space}
	for i := begin; i < end; i++ {
		rec := &store.Record{Memory: backends.Memory{ID: m.IDs[i], Kind: backends.KindFact, Text: m.Texts[i]}}
		if vectors != nil {
			rec.Vector = vectors[i-begin]
		}
		batch.Mutations = append(batch.Mutations, store.Put(rec))
	}
	return batch, err
}

// coldRuns and coldFor bound the repeats of a cold search: a big partition takes seconds.
const (
	coldRuns = 20
	coldFor  = 10 * time.Second
)

// begin times the first search of new processes.
func (m *measured) begin(ctx context.Context, users int) error {
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || len(times) < coldRuns && time.Since(began) < coldFor; {
		n, started := len(times), time.Now()
		err := m.start(ctx, func(r *recall.Ranker) error {
			_, err := find(ctx, r, n%users, m.Queries[n%len(m.Queries)], 10)
			times = append(times, time.Since(started))
			return err
		})
		if err != nil {
			return err
		}
	}
	m.cold = trial.QuantilesOf(times)
	return nil
}

// compare counts how many of the nearest memories vectors find.
func (m *measured) compare(ctx context.Context, r *recall.Ranker) error {
	queries, mean := m.Strange[:min(50, len(m.Strange))], 0.0
	for i, exact := range m.Exact(queries, 10) {
		found, err := find(ctx, r, 0, queries[i], 10)
		if err != nil {
			return err
		}
		n := len(slices.DeleteFunc(found, func(id string) bool { return !slices.Contains(exact, id) }))
		mean += float64(n) / float64(len(exact)*len(queries))
	}
	m.recall10 = fmt.Sprintf("%.3f", mean)
	return nil
}

// write has clients store the memories of a corpus, one at a time, each for a user of its own.
func (m *measured) write(ctx context.Context, clients int) (perSecond float64, took trial.Quantiles, err error) {
	var all *store.Batch
	err = m.start(ctx, func(r *recall.Ranker) (err error) {
		all, err = m.batch(ctx, r, 0, len(m.Texts))
		return err
	})
	if err != nil {
		return 0, took, err
	}
	began, each := time.Now(), make([]time.Duration, len(m.Texts))
	working, ctx := errgroup.WithContext(ctx)
	for client := range clients {
		working.Go(func() error {
			for n := client; n < len(each); n += clients {
				began := time.Now()
				one := &store.Batch{Embedding: all.Embedding, Mutations: all.Mutations[n : n+1]}
				if _, err := m.Apply(ctx, userOf(client), one); err != nil {
					return err
				}
				each[n] = time.Since(began)
			}
			return nil
		})
	}
	err = working.Wait()
	return float64(len(each)) / time.Since(began).Seconds(), trial.QuantilesOf(each), err
}

// find returns the ids of the memories of a user that answer a query, the best first.
func find(ctx context.Context, r *recall.Ranker, user int, query string, top int) ([]string, error) {
	resp, err := r.Search(ctx, userOf(user), &backends.SearchRequest{Query: query, TopK: top})
	if err != nil {
		return nil, err
	}
	found := make([]string, len(resp.Hits))
	for i, h := range resp.Hits {
		found[i] = h.ID
	}
	return found, resp.Degraded
}

func userOf(n int) backends.Partition {
	return backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: strconv.Itoa(n)}
}

// heap returns how many bytes of the heap are in use. It collects garbage twice, because a
// sync.Pool keeps its contents for one collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// embedder makes the vectors of a corpus.
type embedder struct{ *trial.Corpus }

// EmbedStrings implements Eino's embedding.Embedder.
func (e embedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		for _, x := range e.Vector(t) {
			out[i] = append(out[i], float64(x))
		}
	}
	return out, nil
}
