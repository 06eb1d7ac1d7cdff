// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Config says where a server is, and how to ask it. It is copied.
type Config struct {
	BaseURL string // Required. Such as "http://localhost:8000".
	APIKey  string // Optional. Sent to the host of BaseURL alone, in the header that the server reads.

	// HTTPClient sends the requests. Redirects are not followed, whatever it says. Optional.
	// Defaults to one on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout bounds a call with its retries, as the context does. A call in which the server's
	// model works has ten times as long: a server that is given up learns all the same, and
	// would learn it again. Optional. Defaults to 30 s.
	Timeout time.Duration
	// MaxRetries is how often a request is retried that may be. Optional. Defaults to 3; below
	// 0 it is never retried.
	MaxRetries int

	// Name returns what the server calls a partition, for data that is there already: for
	// mem0 a user_id or agent_id, for ReMe a workspace_id, for agent-memory-server a user_id.
	// Two partitions must never have one name. Optional. See the package comment for the
	// default.
	Name func(p backends.Partition) string
	// OnError gets what no caller gets: that a server answered with memories of others. It must
	// be safe for concurrent use. Optional; log/slog's default logger gets it too.
	OnError func(ctx context.Context, stage string, err error)
	Clock   backends.Clock // Optional. Defaults to backends.SystemClock.

	// ErrorText says that errors have the server's own reason, which may quote what was sent,
	// and so what users said. Optional. Without it errors have the status.
	ErrorText bool

	Platform bool // For mem0. BaseURL is the platform, such as "https://api.mem0.ai".
}

const (
	defaultTopK = 5
	maxTopK     = 1000
)

// server is what the backends differ in.
type server interface {
	// search returns the hits of a partition, best first.
	search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error)
	// add stores what was said, or learns from it. There is something.
	add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) ([]backends.Item, error)
}

// frame is what the contract asks of every backend: it checks requests, and filters hits. It
// implements backends.Backend.
type frame struct {
	name           string
	cfg            Config
	server         server
	http           http.Client
	circuit        *fault.Breaker // of searches: a server that is down costs its time once
	header, prefix string         // of the key
	whose          func(backends.Scope) (backends.Partition, error)
	// textsAlone says that the server learns texts, and keeps nothing else: neither metadata,
	// nor which agent learnt a memory, which filters then do not ask for.
	textsAlone bool
}

func newFrame(name string, cfg *Config) *frame {
	f := &frame{name: name, cfg: *cmp.Or(cfg, &Config{}), whose: backends.Scope.Speaker}
	config.Default(&f.cfg.Timeout, 30*time.Second)
	config.Default(&f.cfg.MaxRetries, 3)
	f.cfg.Clock = work.Clock(f.cfg.Clock)
	f.circuit = fault.NewBreaker(name, 1, backends.SystemClock)
	return f
}

// Close implements backends.Backend. Nothing is under way but the calls of callers.
func (f *frame) Close(context.Context) error {
	return nil
}

// errorf returns an error with a sentinel, and without the key.
func (f *frame) errorf(doing string, sentinel error, format string, args ...any) error {
	said := fmt.Sprintf(format, args...)
	if f.cfg.APIKey != "" {
		said = strings.ReplaceAll(said, f.cfg.APIKey, "[API key]")
	}
	return fmt.Errorf("%s: %s: %w: %s", f.name, doing, sentinel, said)
}

// nameOf returns what the server calls a partition: a user's id if every server, and every
// store below one, keeps it apart from others, else a hash. Names that differ in case alone, or
// have a comma or a space, meet in some.
func (f *frame) nameOf(p backends.Partition) string {
	if f.cfg.Name != nil {
		return f.cfg.Name(p)
	}
	if p.Kind == backends.PartitionUser && p.Namespace == backends.DefaultNamespace && safe.MatchString(p.ID) {
		return p.ID
	}
	return "_einomem-" + text.HashID("remote", p.String()) // no safe id begins so
}

var safe = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

// Search implements backends.Backend. Of a server that is down it returns what the log has,
// and Degraded; then the server is left alone for a second, and ever longer, up to a minute.
func (f *frame) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r == nil || r.TopK < 0 || r.TopK > maxTopK || !r.AsOf.IsZero() || !r.KnownAt.IsZero() {
		return nil, f.errorf("searching", backends.ErrInvalid, "no request, TopK above %d, or AsOf or KnownAt, which the server cannot answer", maxTopK)
	}
	p, err := f.whose(r.Scope)
	if err != nil {
		return nil, err
	}
	q := *r
	q.TopK = cmp.Or(r.TopK, defaultTopK)
	if f.textsAlone {
		q.Filter = r.Filter.Without("agent_id")
	}
	fits, err := q.Filter.Compile()
	if err != nil || strings.TrimSpace(q.Query) == "" {
		return &backends.SearchResponse{}, err
	}
	wide := q
	if q.Filter != nil || len(q.Kinds) > 0 { // the server knows neither
		wide.TopK = min(4*q.TopK, maxTopK)
	}
	hits, failed := find(ctx, f, func(ctx context.Context) ([]backends.Hit, error) { return f.server.search(ctx, p, &wide) })
	if hides(failed, &q) {
		return nil, failed
	}
	now := f.cfg.Clock()
	hits = slices.DeleteFunc(hits, func(h backends.Hit) bool {
		unasked := len(q.Kinds) > 0 && !slices.Contains(q.Kinds, h.Kind)
		return unasked || h.Score < q.Threshold || !fits(&h.Memory) || h.Expired(now) && !q.IncludeExpired
	})
	if len(q.Beside) > 0 {
		said, err := f.notLearnt(ctx, p, &q)
		if err != nil {
			return nil, err
		}
		hits = backends.MergeHits(hits, said.Hits)
	}
	return &backends.SearchResponse{Hits: hits[:min(len(hits), q.TopK)], Degraded: failed}, nil
}

// find calls search, which asks the server, unless that is down. It leaves a quarter of the
// caller's time for what the log has.
func find[T any](ctx context.Context, f *frame, search func(context.Context) (T, error)) (T, error) {
	limit := f.cfg.Timeout
	if until, ok := ctx.Deadline(); ok {
		limit = min(limit, until.Sub(backends.SystemClock())*3/4)
	}
	type answer struct {
		out     T
		refused error // by a server that is there: others may be served
	}
	a, err := fault.Call(ctx, f.circuit, limit, func(ctx context.Context) (a answer, err error) {
		if a.out, err = search(ctx); errors.Is(err, backends.ErrDenied) {
			a.refused, err = err, nil
		}
		return a, err
	})
	return a.out, cmp.Or(err, a.refused)
}

// hides reports whether what the log has is not shown because of a failed search.
func hides(failed error, r *backends.SearchRequest) bool {
	return failed != nil && (len(r.Beside) == 0 || !errors.Is(failed, backends.ErrUnavailable))
}

// notLearnt ranks what the log has and the server does not know yet.
func (f *frame) notLearnt(ctx context.Context, p backends.Partition, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	ranker, err := recall.New(ctx, &recall.Config{Records: nothing{}, Clock: f.cfg.Clock})
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	return ranker.Search(ctx, p, r)
}

// nothing is a store without memories.
type nothing struct{ store.Records }

func (nothing) Changes(context.Context, backends.Partition, string) (*store.ChangeSet, error) {
	return &store.ChangeSet{}, nil
}

// Add implements backends.Backend.
func (f *frame) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if r == nil {
		return nil, f.errorf("learning", backends.ErrInvalid, "no request")
	}
	p, err := f.whose(r.Scope)
	if err != nil {
		return nil, err
	}
	if f.textsAlone && (r.Verbatim || len(r.Metadata) > 0 || !r.Expires.IsZero() || r.Instructions != "") {
		return nil, f.errorf("learning", backends.ErrInvalid, "the server has no Verbatim, Metadata, Expires or Instructions")
	}
	out := &backends.AddResponse{}
	if said := f.said(r); len(said) > 0 {
		if out.Items, err = f.server.add(ctx, p, r, said); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// message is what was said, as servers take it.
type message struct {
	Role    string           `json:"role"`
	Content string           `json:"content"`
	of      backends.Message // where it is from
}

// said returns the messages of users and assistants that have a text, without notes. What an
// agent writes down is the user's to servers that learn from users alone.
func (f *frame) said(r *backends.AddRequest) (out []message) {
	for _, m := range r.Messages {
		if m.Message == nil || m.Role != schema.User && m.Role != schema.Assistant || einox.IsNote(m.Message) || einox.IsPrivate(m.Message) {
			continue
		}
		line := message{Role: string(m.Role), Content: einox.Text(m.Message), of: m}
		if r.Author != "" {
			line.Role = string(schema.User)
		}
		config.Default(&line.of.Time, f.cfg.Clock())
		if line.Content != "" {
			out = append(out, line)
		}
	}
	return out
}

// memoryOf returns a message as a memory. Its id, a UUID, follows from the partition and the
// text: a repeat stores nothing twice.
func (f *frame) memoryOf(p backends.Partition, r *backends.AddRequest, m *message) backends.Memory {
	return backends.Memory{
		ID: text.HashID("remote", p.String(), m.Content), Kind: cmp.Or(r.Kind, backends.KindEpisode), Text: m.Content,
		Scope: p.Scope().Or(r.Scope), Metadata: r.Metadata, Observed: m.of.Time, Created: f.cfg.Clock(), Expires: r.Expires,
		Origin: backends.Origin{Session: r.Scope.SessionID, Turn: m.of.Turn, Role: string(m.of.Role), Author: r.Author},
	}
}
