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
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Config says how to reach and ask a server. It is copied.
type Config struct {
	BaseURL string // Required. Such as "http://localhost:8000".
	APIKey  string // Optional. Sent to the host of BaseURL alone, in the header that the server reads.

	// HTTPClient sends the requests. Redirects are never followed, whatever it says.
	// Optional. Defaults to one on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout bounds a call with its retries, as the context does. A call for the server's
	// model has ten times as long: a server that is given up learns all the same, and would
	// learn it again. Optional. Defaults to 30 s.
	Timeout time.Duration
	// MaxRetries is how often a request is retried, if a repeat is safe. Optional. Defaults to
	// 3; below 0 turns retries off.
	MaxRetries int

	// Name returns the server's name of a partition, for existing data: for mem0 a user_id or
	// agent_id, for ReMe a workspace_id, for agent-memory-server a user_id. Each partition
	// needs a name of its own. Optional. See the package comment for the default.
	Name func(p backends.Partition) string
	// OnError gets failures without a caller: a server answered with memories of others. It
	// must be safe for concurrent use. Optional; log/slog's default logger gets it too.
	OnError func(ctx context.Context, stage string, err error)
	Clock   backends.Clock // Optional. Defaults to backends.SystemClock.

	// ErrorText puts the server's own reason into errors. It may quote the request, and so
	// the words of users. Optional. By default errors have the status.
	ErrorText bool

	Platform bool // For mem0. BaseURL is the platform, such as "https://api.mem0.ai".
}

const (
	defaultTopK = 5
	maxTopK     = 1000
)

// server is the part in which the backends differ.
type server interface {
	// search returns the hits of a partition, best first.
	search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error)
	// add stores the messages, or learns from them. There is at least one.
	add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) (*backends.AddResponse, error)
}

// frame is the common part of the backends: it checks requests, and filters hits. It
// implements backends.Backend.
type frame struct {
	name           string
	cfg            Config
	server         server
	http           http.Client
	circuit        *fault.Breaker // of searches: a server that is down costs its time once
	header, prefix string         // of the key
	whose          func(backends.Scope) (backends.Partition, error)
	// textsAlone says that the server learns texts alone. It keeps no metadata, and drops the
	// agent that learnt a memory, so filters leave the agent out.
	textsAlone bool
	learnsOnly bool // It has no way to store a text as it is.
}

func newFrame(name string, cfg *Config) *frame {
	f := &frame{name: name, cfg: *cmp.Or(cfg, &Config{}), whose: backends.Scope.Speaker}
	work.Default(&f.cfg.Timeout, 30*time.Second)
	work.Default(&f.cfg.MaxRetries, 3)
	f.cfg.Clock = work.Clock(f.cfg.Clock)
	f.circuit = fault.NewBreaker(name, 1, backends.SystemClock)
	return f
}

// Close implements backends.Backend. Only calls of callers may be under way.
func (f *frame) Close(context.Context) error {
	return nil
}

// errorf returns an error with a sentinel, free of the key.
func (f *frame) errorf(doing string, sentinel error, format string, args ...any) error {
	said := fmt.Sprintf(format, args...)
	if f.cfg.APIKey != "" {
		said = strings.ReplaceAll(said, f.cfg.APIKey, "[API key]")
	}
	return fmt.Errorf("%s: %s: %w: %s", f.name, doing, sentinel, said)
}

// nameOf returns the server's name of a partition: a user's id if every server, and every store
// below one, keeps it apart from others, else a hash. Some servers confuse names that differ in
// case alone, or have a comma or a space.
func (f *frame) nameOf(p backends.Partition) string {
	if f.cfg.Name != nil {
		return f.cfg.Name(p)
	}
	if p.Kind == backends.PartitionUser && p.Namespace == backends.DefaultNamespace && safe.MatchString(p.ID) {
		return p.ID
	}
	return "_einomem-" + text.HashID("remote", p.String()) // safe ids begin otherwise
}

var safe = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

// Search implements backends.Backend. If the server is down it returns the hits of the log,
// and Degraded. Then it leaves the server alone for a second, and ever longer, up to a
// minute.
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

// find calls search, which asks the server, unless the server is down. It leaves a quarter
// of the caller's time for the log.
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

// hides reports whether a failed search hides the hits of the log.
func hides(failed error, r *backends.SearchRequest) bool {
	return failed != nil && (len(r.Beside) == 0 || !errors.Is(failed, backends.ErrUnavailable))
}

// notLearnt ranks the words of the log that the server has yet to learn.
func (f *frame) notLearnt(ctx context.Context, p backends.Partition, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	ranker, err := recall.New(ctx, &recall.Config{Records: nothing{}, Clock: f.cfg.Clock})
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	return ranker.Search(ctx, p, r)
}

// nothing is an empty store.
type nothing struct{ store.Records }

func (nothing) Changes(context.Context, backends.Partition, string) (*store.ChangeSet, error) {
	return &store.ChangeSet{}, nil
}

// probing bounds the search by which an addition asks whether a server is up again.
const probing = 2 * time.Second

// up returns an error if the server is down: a search found that out, and has cost its time.
func (f *frame) up(ctx context.Context, search func(context.Context) error) error {
	if _, down := f.circuit.Open(); down == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probing)
	defer cancel()
	_, err := find(ctx, f, func(ctx context.Context) (struct{}, error) { return struct{}{}, search(ctx) })
	return err
}

// Add implements backends.Backend. An agent's note that the server's model learns nothing from is
// stored as it is, where the server can do that. While the server is down Add is ErrUnavailable at
// once, as a search.
func (f *frame) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if r == nil {
		return nil, f.errorf("learning", backends.ErrInvalid, "no request")
	}
	p, err := f.whose(r.Scope)
	if err != nil {
		return nil, err
	}
	if f.textsAlone && (r.Verbatim && f.learnsOnly || len(r.Metadata) > 0 || !r.Expires.IsZero() || r.Instructions != "") {
		return nil, f.errorf("learning", backends.ErrInvalid, "the server lacks one of Verbatim, Metadata, Expires and Instructions")
	}
	said := f.said(r)
	if len(said) == 0 {
		return &backends.AddResponse{}, nil
	}
	err = f.up(ctx, func(ctx context.Context) error {
		_, err := f.server.search(ctx, p, &backends.SearchRequest{Scope: r.Scope, Query: said[0].Content, TopK: 1})
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := f.server.add(ctx, p, r, said)
	if err == nil && r.Author == backends.AuthorAgent && len(out.Items) == 0 && !out.Queued && !r.Verbatim && !f.learnsOnly {
		out, err = f.server.add(ctx, p, asSaid(r), said)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// asSaid returns the request to store an agent's note as it is.
func asSaid(r *backends.AddRequest) *backends.AddRequest {
	note := *r
	note.Verbatim, note.Kind = true, cmp.Or(r.Kind, backends.KindFact)
	return &note
}

// message is a message in the form of the servers.
type message struct {
	Role    string           `json:"role"`
	Content string           `json:"content"`
	of      backends.Message // where it is from
}

// said returns the messages of users and assistants that have a text, without notes. Servers
// that learn from users alone get an agent's notes as the user's.
func (f *frame) said(r *backends.AddRequest) (out []message) {
	for _, m := range r.Messages {
		if m.Message == nil || m.Role != schema.User && m.Role != schema.Assistant || einox.IsNote(m.Message) || einox.MarkOf(m.Message).Private != "" {
			continue
		}
		line := message{Role: string(m.Role), Content: einox.Text(m.Message), of: m}
		if r.Author != "" {
			line.Role = string(schema.User)
		}
		work.Default(&line.of.Time, f.cfg.Clock())
		if line.Content != "" {
			out = append(out, line)
		}
	}
	return out
}

// memoryOf returns a message as a memory. Its id, a UUID, follows from the partition and the
// text, so a repeat is stored once.
func (f *frame) memoryOf(p backends.Partition, r *backends.AddRequest, m *message) backends.Memory {
	return backends.Memory{
		ID: text.HashID("remote", p.String(), m.Content), Kind: cmp.Or(r.Kind, backends.KindEpisode), Text: m.Content,
		Scope: p.Scope().Or(r.Scope), Metadata: r.Metadata, Observed: m.of.Time, Created: f.cfg.Clock(), Expires: r.Expires,
		Origin: backends.Origin{Session: r.Scope.SessionID, Turn: m.of.Turn, Role: string(m.of.Role), Author: r.Author},
	}
}
