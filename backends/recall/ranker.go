// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/embedding"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Ranker finds memories in a partition and orders them. It keeps partitions in memory and
// asks the store before each search what changed. All its methods are safe for concurrent
// use.
type Ranker struct {
	config   Config
	analyzer *analyzer
	signals  *signals
	cache    *cache
	scratch  sync.Pool              // of *scratch
	scales   atomic.Pointer[scales] // of the embedder; nil until it made a vector for a query
	scaling  atomic.Bool            // a search beside others asks for the scales

	querying, storing    *service // the embedder: a slow one still makes the vectors to store
	reranking, rewriting *service
	rewrites             singleflight.Group // of the searches that wait for one
	rewritten            *lru.Cache[string, *Rewriting]

	life *work.Service // loads, and calls of services that go on beside searches
}

// New returns a Ranker. The store and the embedder get their first call later. An unusable
// configuration is ErrInvalid. Close it after use.
func New(_ context.Context, cfg *Config) (*Ranker, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := newAnalyzer()
	if err != nil {
		return nil, err
	}
	s, err := newSignals(c.Without)
	if err != nil {
		return nil, err
	}
	r := &Ranker{config: c, analyzer: a, signals: s, scratch: sync.Pool{New: func() any { return &scratch{} }}, cache: &cache{budget: c.MaxBytes, parts: map[backends.Partition]*partition{}}}
	r.querying = newService("embedder", c.EmbedTimeout, openForSearches, r)
	r.storing = newService("embedder", storeTimeout, openForStoring, nil)
	r.reranking = newService("reranker", c.ModelTimeout, openForSearches, r)
	r.rewriting = newService("rewriter", c.ModelTimeout, openForSearches, r)
	r.life = work.NewService(context.Background(), fmt.Errorf("recall: %w: the ranker is closed", backends.ErrUnavailable), nil)
	r.rewritten, err = lru.New[string, *Rewriting](maxRewritings)
	return r, err
}

// Stats returns what the Ranker holds now.
func (r *Ranker) Stats() Stats { return r.cache.snapshot() }

// EmbeddingModel returns Config.EmbeddingModel. It is empty where there is no Embedder.
func (r *Ranker) EmbeddingModel() string {
	if r.config.Embedder == nil {
		return ""
	}
	return r.config.EmbeddingModel
}

// Close ends running loads and waits for them. Calls after it are ErrUnavailable. The store and the
// embedder stay open.
func (r *Ranker) Close() error {
	r.life.Cancel()
	return r.life.Drain(context.Background())
}

// Search returns the memories of partition p that answer the query, best first, as the package
// comment describes. It searches p and ignores the Scope of q. A blank query, and one without a
// match, have an empty answer.
//
// Errors: ErrInvalid for a TopK below 0 or above 1000, a threshold that is NaN or infinite, or a
// diversity outside 0 to 1; ErrInvalid for a query that is malformed UTF-8, and for a filter that
// does not compile; ErrUnavailable when the store fails. An embedder, a rewriter or a reranker may
// fail, take too long or rest, and stored vectors may be of another model (ErrDimension, see
// [Ranker.Reembed]). Search answers all the same and reports them in Degraded of the
// [backends.SearchResponse].
func (r *Ranker) Search(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (*backends.SearchResponse, error) {
	query, err := r.parse(q)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	part, err := r.partition(ctx, p)
	if err != nil || query.text == "" {
		return &backends.SearchResponse{}, err
	}
	var resp backends.SearchResponse
	asIs := r.rewrite(ctx, query)
	if resp.Degraded, err = r.embedQuery(ctx, part, query); err != nil {
		return nil, err
	}
	pool, err := r.rank(ctx, part, query)
	if errors.Is(err, backends.ErrDimension) {
		resp.Degraded = lexicalAlone(err)
		for _, question := range query.questions {
			question.vector = nil
		}
		pool, err = r.rank(ctx, part, query)
	}
	if err != nil {
		return nil, err
	}
	resp.Degraded = errors.Join(asIs, resp.Degraded, r.rerank(ctx, query, pool))
	r.diversify(query, pool)
	resp.Hits = make([]backends.Hit, min(len(pool), query.topK))
	for i := range resp.Hits {
		resp.Hits[i] = backends.Hit{Memory: pool[i].of.Clone(), Score: pool[i].score, Parts: pool[i].parts}
	}
	return &resp, nil
}

const (
	defaultTopK = 5
	maxTopK     = 1000
	maxQuery    = 64 << 10 // bytes of a query that count: see text.Ends
)

// query is a checked request.
type query struct {
	text      string
	terms     []queryTerm
	vector    []float32 // nil: lexical alone
	han       bool      // it has Chinese characters
	scale     scale
	topK      int
	threshold float64
	eligible  eligibility
	extra     []extraDoc
	spans     []span // times that it names
	ofTime    bool   // it asks for a time alone
	diversity float64
	rewriter  Rewriter // nil: the query stays as it is
	reranker  Reranker // nil: the order stays as it is

	context   []queryTerm // of what was said before the query
	keywords  []queryTerm // of a Rewriter
	questions []*query    // itself, and the questions of a Rewriter
}

func (r *Ranker) parse(q *backends.SearchRequest) (*query, error) {
	switch {
	case q == nil:
		return nil, fmt.Errorf("%w: no request", backends.ErrInvalid)
	case !utf8.ValidString(q.Query):
		return nil, fmt.Errorf("%w: the query is not UTF-8", backends.ErrInvalid)
	case q.TopK < 0 || q.TopK > maxTopK:
		return nil, fmt.Errorf("%w: TopK %d is not from 0 to %d", backends.ErrInvalid, q.TopK, maxTopK)
	case math.IsNaN(q.Threshold) || math.IsInf(q.Threshold, 0):
		return nil, fmt.Errorf("%w: threshold %v", backends.ErrInvalid, q.Threshold)
	case !(0 <= q.Diversity && q.Diversity <= 1):
		return nil, fmt.Errorf("%w: diversity %v is not from 0 to 1", backends.ErrInvalid, q.Diversity)
	}
	eligible, err := newEligibility(q, r.config.Clock())
	if err != nil {
		return nil, err
	}
	out := &query{topK: cmp.Or(q.TopK, defaultTopK), threshold: q.Threshold, eligible: eligible, diversity: q.Diversity}
	out.questions = []*query{out}
	if !q.NoModel {
		out.rewriter, out.reranker = r.config.Rewriter, r.config.Reranker
	}
	r.read(out, strings.TrimSpace(text.Ends(q.Query, maxQuery)))
	for _, t := range r.terms(strings.ToValidUTF8(text.Ends(strings.Join(q.Context, "\n"), maxQuery), "")) {
		out.context = append(out.context, queryTerm{text: t.text, count: contextWeight, beside: t.beside})
	}
	for i := range q.Beside {
		out.extra = append(out.extra, r.extraDoc(&q.Beside[i]))
	}
	return out, nil
}

// read fills in the terms and times of a query.
func (r *Ranker) read(q *query, said string) {
	asked := text.Simplified(said)
	if hinted(asked, "moment", "right now", "currently", "nowadays", "these days", "at present", " you", " me", "please", "again", "现在", "目前", "请", "告诉我", "记得", "哪", "什么", "怎么", "多少") {
		asked = idle.ReplaceAllString(asked, " ")
	}
	q.text, q.spans, q.han = said, r.spans(said), hasHan(said)
	if q.terms = r.terms(asked); len(q.terms) == 0 {
		q.terms = r.terms(said)
	}
	q.ofTime = r.namesTime(q) && r.onlyTimes(asked, q.spans)
}

// terms returns the terms of a query to look for. It drops function characters, unless they are all
// that it has.
func (r *Ranker) terms(text string) []queryTerm {
	all, _ := r.analyzer.count(text)
	content := slices.DeleteFunc(slices.Clone(all), func(t queryTerm) bool { return isFunction(t.text) })
	if len(content) == 0 {
		return all
	}
	return content
}

// Once returns a context in which a ranker asks the store once for each partition what changed: all
// calls of one search see the same writes, those before the first.
func Once(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, &sync.Map{}) // of asked and *partition
}

type (
	onceKey struct{}
	asked   struct { // other rankers have other stores
		ranker *Ranker
		key    backends.Partition
	}
)

// partition returns the index of p, current.
func (r *Ranker) partition(ctx context.Context, p backends.Partition) (*partition, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	read, once := ctx.Value(onceKey{}).(*sync.Map)
	if once {
		if part, ok := read.Load(asked{r, p}); ok {
			return part.(*partition), ctx.Err()
		}
	}
	part := r.cache.get(p, r)
	if err := part.current(ctx); err != nil {
		return nil, err
	}
	if once {
		read.Store(asked{r, p}, part)
	}
	return part, nil
}

// Config configures a [Ranker]. [New] copies it.
type Config struct {
	Records store.Records // Required. The store of the memories.

	// Embedder makes vectors of texts. Optional. Without one the ranking is lexical alone.
	Embedder embedding.Embedder
	// EmbeddingModel is the name that a partition keeps with the embedder's vectors. Required with
	// an Embedder.
	EmbeddingModel string
	// EmbedTimeout is how long a search waits for the vector of its query, at most. A wait also
	// ends at half of the search's remaining time. After it words alone answer. Vectors to store
	// may take longer: see the package comment. Optional. Defaults to 1 s.
	EmbedTimeout time.Duration
	// Int8 stores a vector with one byte a component, and one scale, in place of four bytes a
	// component. In memory vectors stay as they are. Optional.
	Int8 bool

	MaxBytes int64 // Optional. Budget in bytes of all loaded indexes together. Defaults to 1 GiB.

	// Without names signals to leave out: see [Signals]. Optional. Defaults to none.
	Without []string

	// Weights change the order by other reasons than the query, such as [Recency] and [Importance].
	// On LoCoMo recency costs recall, and importance, as novelty, brings some: see examples/bench.
	// Optional. Defaults to none.
	Weights []Weight

	Rewriter Rewriter // Optional. Adds to what a search looks for. Defaults to none.
	Reranker Reranker // Optional. Puts the best hits in order. Defaults to none.
	// ModelTimeout is how long a search waits for the Rewriter, and for the Reranker, at most. A wait
	// also ends at half of the search's remaining time. After it the query or the order stays as it
	// was. Optional. Defaults to 2 s.
	ModelTimeout time.Duration

	// Keys returns exact keys under which [Ranker.Lookup] finds a memory. The index keeps them, so
	// short ones save room. Keys must depend on the memory alone, leave it as it is, and be safe
	// for concurrent use. Optional. Defaults to none.
	Keys func(*backends.Memory) []string

	Clock backends.Clock // Optional. Defaults to backends.SystemClock.
}

const defaultMaxBytes = 1 << 30

// withDefaults returns a checked copy of c with its defaults filled in.
func (c *Config) withDefaults() (Config, error) {
	if c == nil {
		return Config{}, fmt.Errorf("recall: %w: no configuration", backends.ErrInvalid)
	}
	out := *c
	work.Default(&out.MaxBytes, defaultMaxBytes)
	work.Default(&out.EmbedTimeout, time.Second)
	work.Default(&out.ModelTimeout, 2*time.Second)
	out.Clock = work.Clock(out.Clock)
	return out, out.validate()
}

func (c *Config) validate() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("recall: "+format+": %w", append(args, backends.ErrInvalid)...)
	}
	switch {
	case c.Records == nil:
		return invalid("Config.Records is required")
	case c.Embedder != nil && c.EmbeddingModel == "":
		return invalid("Config.EmbeddingModel is required with an Embedder: it is kept with the vectors")
	case c.MaxBytes < 0:
		return invalid("MaxBytes %d is negative", c.MaxBytes)
	case min(c.EmbedTimeout, c.ModelTimeout) < 0:
		return invalid("EmbedTimeout %v, ModelTimeout %v: each is 0 or more", c.EmbedTimeout, c.ModelTimeout)
	}
	return nil
}
