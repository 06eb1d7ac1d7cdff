// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// System is a memory that is compared with others.
type System struct {
	Name, How string // how it finds memories
	Vectors   bool   // it finds the memories whose vectors are nearest to that of the query
	Most      int    // memories that it is given to search; 0: any number
	// New returns a place that holds nothing.
	New func(ctx context.Context, c *Corpus) (*Place, error)
}

// Place is where a system keeps memories.
type Place struct {
	Open   func(ctx context.Context) (Memories, error) // those that are stored, as a new process does
	Bytes  func() (int64, error)                       // that are stored outside the process
	Remove func() error                                // removes everything; called once, when nothing is open
}

// Memories are those of all users. They are safe for concurrent use.
type Memories interface {
	// Prepare makes the vectors of texts, which is not timed, and returns what stores them
	// under their ids.
	Prepare(ctx context.Context, ids, texts []string) (Put, error)
	// Search returns the ids of up to ten memories of a user.
	Search(ctx context.Context, user int, query string) ([]string, error)
	Close() error
}

// Put stores the texts from index begin to end as memories of a user, durably.
type Put func(ctx context.Context, user, begin, end int) error

// Comparison has systems store, search and write the same memories.
type Comparison struct {
	Sizes           [][2]int // the memories of a user, and the users
	Clients         []int    // that write at the same time, each for a user of its own
	Dim             int      // components of a vector
	Queries, Writes int
	// Latency gets a point for each search of one user: the p50, in ms, over the memories.
	Latency Chart
}

// Full is the comparison of which the tables are published.
func Full() *Comparison {
	return &Comparison{
		Sizes: [][2]int{{1000, 1}, {10_000, 1}, {100_000, 1}, {100, 1000}}, Clients: []int{1, 8, 64},
		Dim: 1536, Queries: 200, Writes: 2000,
		Latency: Chart{Title: "A search of one user, warm", X: "memories", Y: "p50, ms"},
	}
}

// Print prints a table of searches and one of writes.
func (c *Comparison) Print(ctx context.Context, out io.Writer, systems []*System) error {
	Head(out, "where", "memories × users", "how", "warm p50 / p95 / p99 ms", "cold p50 / p95 ms", "bytes stored", "held", "recall@10")
	for _, size := range c.Sizes {
		if err := c.printSearches(ctx, out, systems, size[0], size[1]); err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	Head(out, "where", "how", "clients", "adds a second (p50 / p95 ms)")
	corpus := NewCorpus(c.Writes, 1, c.Dim)
	for _, s := range systems {
		for _, clients := range c.Clients {
			perSecond, took, err := s.write(ctx, corpus, clients)
			if err != nil {
				return fmt.Errorf("%s, %s, %d clients: %w", s.Name, s.How, clients, err)
			}
			Row(out, s.Name, s.How, clients, fmt.Sprintf("%.0f (%.2f / %.2f)", perSecond, took.P50, took.P95))
		}
	}
	return nil
}

// printSearches prints a row for each system that may hold so many memories.
func (c *Comparison) printSearches(ctx context.Context, out io.Writer, systems []*System, memories, users int) error {
	corpus := NewCorpus(memories*users, c.Queries, c.Dim)
	for _, s := range systems {
		if s.Most > 0 && len(corpus.Texts) > s.Most {
			continue
		}
		r, err := s.search(ctx, corpus, users)
		if err != nil {
			return fmt.Errorf("%s, %s, %d memories: %w", s.Name, s.How, len(corpus.Texts), err)
		}
		if users == 1 {
			c.Latency.Add(s.Name+", "+s.How, float64(memories), r.warm.P50)
		}
		Row(out, s.Name, fmt.Sprintf("%d × %d", memories, users), s.How,
			fmt.Sprintf("%.2f / %.2f / %.2f", r.warm.P50, r.warm.P95, r.warm.P99),
			fmt.Sprintf("%.1f / %.1f", r.cold.P50, r.cold.P95), r.stored, r.held, r.recall10)
	}
	return nil
}

// searched is what searches in a system cost and find.
type searched struct {
	warm     Quantiles // of a search, when all is in the process
	cold     Quantiles // of the first answer in a new process
	recall10 string    // 0 to 1, of vectors, against comparing all; empty: not measured
	stored   int64     // bytes a memory outside the process
	held     int64     // bytes a memory in the process
}

// use makes a new place for as long as do runs.
func (s *System) use(ctx context.Context, c *Corpus, do func(p *Place) error) (err error) {
	place, err := s.New(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Remove()) }()
	return do(place)
}

// with opens the place, as a new process does, for as long as do runs.
func (p *Place) with(ctx context.Context, do func(m Memories) error) (err error) {
	m, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return do(m)
}

// search stores the corpus, of which each user has an equal part, and searches it.
func (s *System) search(ctx context.Context, c *Corpus, users int) (*searched, error) {
	out := &searched{}
	return out, s.use(ctx, c, func(p *Place) error {
		empty, err := p.Bytes()
		if err != nil {
			return err
		}
		if err := p.with(ctx, func(m Memories) error { return c.fill(ctx, m, users) }); err != nil {
			return err
		}
		full, err := p.Bytes()
		if err != nil {
			return err
		}
		total := int64(len(c.Texts))
		out.stored = (full - empty) / total
		if err := p.cold(ctx, c, users, out); err != nil {
			return err
		}
		before := heap()
		return p.with(ctx, func(m Memories) error {
			for user := range users { // each is loaded
				if _, err := m.Search(ctx, user, c.Queries[0]); err != nil {
					return err
				}
			}
			out.held = max(0, heap()-before) / total
			if err := c.warm(ctx, m, users, out); err != nil || !s.Vectors || users > 1 {
				return err
			}
			return c.recall(ctx, m, out)
		})
	})
}

// fill stores the corpus, many memories at a time.
func (c *Corpus) fill(ctx context.Context, m Memories, users int) error {
	each := len(c.Texts) / users
	for user := range users {
		for begin := user * each; begin < (user+1)*each; begin += 500 {
			end := min(begin+500, (user+1)*each)
			put, err := m.Prepare(ctx, c.IDs[begin:end], c.Texts[begin:end])
			if err != nil {
				return err
			}
			if err := put(ctx, user, 0, end-begin); err != nil {
				return err
			}
		}
	}
	return nil
}

// coldRuns and coldFor bound how often a cold search is repeated: a big partition takes
// seconds each time.
const (
	coldRuns = 20
	coldFor  = 10 * time.Second
)

// cold times the first search of new processes.
func (p *Place) cold(ctx context.Context, c *Corpus, users int, out *searched) error {
	var times []time.Duration
	for begin := time.Now(); len(times) == 0 || len(times) < coldRuns && time.Since(begin) < coldFor; {
		n, started := len(times), time.Now()
		err := p.with(ctx, func(m Memories) error {
			_, err := m.Search(ctx, n%users, c.Queries[n%len(c.Queries)])
			times = append(times, time.Since(started))
			return err
		})
		if err != nil {
			return err
		}
	}
	out.cold = QuantilesOf(times)
	return nil
}

// warm times each query, with a user by chance.
func (c *Corpus) warm(ctx context.Context, m Memories, users int, out *searched) error {
	rnd := rand.New(rand.NewPCG(4, 4))
	var times []time.Duration
	for _, q := range c.Queries {
		user := rnd.IntN(users)
		begin := time.Now()
		if _, err := m.Search(ctx, user, q); err != nil {
			return err
		}
		times = append(times, time.Since(begin))
	}
	out.warm = QuantilesOf(times)
	return nil
}

// recall compares what vectors find of the nearest memories with the exact answer.
func (c *Corpus) recall(ctx context.Context, m Memories, out *searched) error {
	queries, mean := c.Strange[:min(50, len(c.Strange))], 0.0
	for i, exact := range c.exact(queries, 10) {
		found, err := m.Search(ctx, 0, queries[i])
		if err != nil {
			return err
		}
		n := len(slices.DeleteFunc(found, func(id string) bool { return !slices.Contains(exact, id) }))
		mean += float64(n) / float64(len(exact)*len(queries))
	}
	out.recall10 = fmt.Sprintf("%.3f", mean)
	return nil
}

// write has clients store the memories of a corpus, one at a time, each for a user of its own.
func (s *System) write(ctx context.Context, c *Corpus, clients int) (perSecond float64, took Quantiles, err error) {
	err = s.use(ctx, c, func(p *Place) error {
		return p.with(ctx, func(m Memories) error {
			put, err := m.Prepare(ctx, c.IDs, c.Texts)
			if err != nil {
				return err
			}
			begin, each := time.Now(), make([]time.Duration, len(c.Texts))
			all, ctx := errgroup.WithContext(ctx)
			for client := range clients {
				all.Go(func() error {
					for n := client; n < len(each); n += clients {
						begin := time.Now()
						if err := put(ctx, client, n, n+1); err != nil {
							return err
						}
						each[n] = time.Since(begin)
					}
					return nil
				})
			}
			err = all.Wait()
			perSecond, took = float64(len(each))/time.Since(begin).Seconds(), QuantilesOf(each)
			return err
		})
	})
	return perSecond, took, err
}
