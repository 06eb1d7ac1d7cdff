// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
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
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/redact"
	"github.com/einomem/einomem/internal/work"
)

// Config says where a server is, and how to ask it. It is copied.
type Config struct {
	BaseURL string // Required. Such as "http://localhost:8000".
	APIKey  string // Optional. Sent to the host of BaseURL alone, in the header that the server reads.

	// HTTPClient sends the requests. Redirects to other hosts are not followed, whatever it
	// says. Optional. Defaults to one on http.DefaultTransport.
	HTTPClient *http.Client
	// Timeout bounds a call with its retries, as the context does. Optional. Defaults to 30 s.
	Timeout time.Duration
	// LearnTimeout is Timeout for calls in which the server's model works. With one that is too
	// short the server learns what the client gave up, and then learns it again. Optional.
	// Defaults to 5 minutes.
	LearnTimeout time.Duration
	// MaxRetries is how often a request is retried that may be. Optional. Defaults to 3; below
	// 0 it is never retried.
	MaxRetries int

	// Name returns what the server calls a partition, for data that is there already: for
	// mem0 a user_id or agent_id, for ReMe a workspace_id, for agent-memory-server a user_id.
	// Two partitions must never have one name. Optional. See the package comment for the
	// default.
	Name func(p backends.Partition) string
	// OnError gets what no caller gets: rows of others in an answer, calls of tools that are
	// lost. It must be safe for concurrent use. Optional; log/slog's default logger gets it too.
	OnError func(ctx context.Context, err error)
	Clock   backends.Clock // Optional. Defaults to backends.SystemClock.

	Platform bool // For mem0. BaseURL is the platform, such as "https://api.mem0.ai".

	// Outcome says how a turn went, by its id, for ReMe's task memory to learn from it: 1 is full success,
	// 0 failure; known is false where it does not know. Optional: without it the workspace is
	// searched, and learns nothing. It must be safe for concurrent use.
	Outcome func(ctx context.Context, s backends.Scope, turn string) (score float64, known bool, err error)
	// Redact is applied to what goes to a workspace of ReMe. Optional. By default keys,
	// passwords and personal data are removed. It must be safe for concurrent use.
	Redact func(string) string
}

// partitionName returns what a server calls a partition: plain if every server, and every store below
// one, keeps it apart from others, else a hash. Names that differ in case alone, or have a
// comma or a space, meet in some.
func (c *Config) partitionName(p backends.Partition, plain string) string {
	if c.Name != nil {
		return c.Name(p)
	}
	if safe.MatchString(plain) && !strings.HasPrefix(plain, hashPrefix) {
		return plain
	}
	return hashPrefix + keeper.HashID("remote", p.Namespace, string(p.Kind), p.ID)
}

var safe = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,63}$`)

const hashPrefix, maxTopK = "einomem-", 1000

// server is what the backends differ in. Scopes are normalised, requests checked.
type server interface {
	// search returns the hits of a partition, best first.
	search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error)
	// add stores what was said, or learns from it. There is something.
	add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) ([]backends.Item, error)
}

// frame is what the contract asks of every backend: it checks requests, and
// filters hits. It implements backends.Backend.
type frame struct {
	name, header, prefix string // header and prefix are those of the key
	server               server
	cfg                  Config
	http                 http.Client
	whose                func(backends.Scope) (backends.Partition, error)
	// agentless says that the server does not keep which agent learnt a memory: that condition
	// of a filter is left out.
	agentless bool
}

func newFrame(name string, cfg *Config) *frame {
	f := &frame{name: name, cfg: *cmp.Or(cfg, &Config{}), whose: backends.Scope.Speaker}
	c := &f.cfg
	c.Timeout, c.LearnTimeout, c.MaxRetries = cmp.Or(c.Timeout, 30*time.Second), cmp.Or(c.LearnTimeout, 5*time.Minute), cmp.Or(c.MaxRetries, 3)
	config.Default(&c.Clock, backends.SystemClock)
	config.Default(&c.Redact, redact.Shared)
	config.Default(&c.OnError, func(context.Context, error) {})
	return f
}

// Close implements backends.Backend. Nothing is under way but the calls of callers.
func (f *frame) Close(context.Context) error {
	return nil
}

// errorf returns an error with a sentinel, and without the key.
func (f *frame) errorf(doing string, sentinel error, format string, args ...any) error {
	said := fmt.Sprintf(format, args...)
	said = strings.ReplaceAll(said, cmp.Or(f.cfg.APIKey, "\x00"), "[API key]")
	return fmt.Errorf("%s: %s: %w: %s", f.name, doing, sentinel, said)
}

// at returns the scope normalised, and the partition that it names.
func (f *frame) at(s backends.Scope) (backends.Scope, backends.Partition, error) {
	p, err := f.whose(s)
	if err != nil {
		return s, p, fmt.Errorf("%s: %w", f.name, err)
	}
	s, err = s.Normalize()
	return s, p, err
}

// Search implements backends.Backend.
func (f *frame) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r == nil || r.TopK < 0 || r.TopK > maxTopK || math.IsNaN(r.Threshold) || !r.AsOf.IsZero() || !r.KnownAt.IsZero() {
		return nil, f.errorf("searching", backends.ErrInvalid, "no request, TopK above %d, or AsOf or KnownAt: the server does not know what held when", maxTopK)
	}
	s, p, err := f.at(r.Scope)
	if err != nil {
		return nil, err
	}
	q, top := *r, cmp.Or(r.TopK, 5)
	q.Scope, q.TopK = s, top
	if f.agentless {
		q.Filter = r.Filter.Without("agent_id")
	}
	if q.Filter != nil || len(r.Kinds) > 0 { // the server knows neither
		q.TopK = min(4*top, maxTopK)
	}
	fits, err := f.fitting(q.Filter, r.Kinds, r.IncludeExpired)
	if err != nil || strings.TrimSpace(r.Query) == "" {
		return &backends.SearchResponse{}, err
	}
	hits, err := f.server.search(ctx, p, &q)
	if err != nil {
		return nil, err
	}
	hits = slices.DeleteFunc(hits, func(h backends.Hit) bool { return h.Score < r.Threshold || !fits(&h.Memory) })
	if len(r.Beside) > 0 {
		q.TopK = top
		if said, err := f.notLearnt(ctx, p, &q); err == nil { // else what is learnt answers alone
			hits = backends.MergeHits(hits, said)
		} else {
			f.report(ctx, err)
		}
	}
	return &backends.SearchResponse{Hits: hits[:min(len(hits), top)]}, nil
}

// notLearnt ranks what the log has and the server does not know yet.
func (f *frame) notLearnt(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error) {
	ranker, err := recall.New(ctx, &recall.Config{Records: nothing{}, Clock: f.cfg.Clock})
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	out, err := ranker.Search(ctx, p, r)
	if err != nil {
		return nil, err
	}
	return out.Hits, nil
}

// nothing is a store without memories.
type nothing struct{ store.Records }

func (nothing) Changes(context.Context, backends.Partition, string) (*store.ChangeSet, error) {
	return &store.ChangeSet{}, nil
}

// fitting returns whether a memory is asked for.
func (f *frame) fitting(filter *backends.Filter, kinds []backends.Kind, expired bool) (func(*backends.Memory) bool, error) {
	fits, err := filter.Compile()
	return func(m *backends.Memory) bool {
		return fits(m) && (len(kinds) == 0 || slices.Contains(kinds, m.Kind)) && (expired || !m.Expired(f.cfg.Clock()))
	}, err
}

// Add implements backends.Backend.
func (f *frame) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if r == nil {
		return nil, f.errorf("learning", backends.ErrInvalid, "no request")
	}
	s, p, err := f.at(r.Scope)
	if err != nil {
		return nil, err
	}
	q := *r
	q.Scope = s
	out := &backends.AddResponse{}
	if said := f.said(&q, false); len(said) > 0 {
		if out.Items, err = f.server.add(ctx, p, &q, said); err != nil {
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

// said returns the messages of users and assistants that have a text, without notes, and with
// tools also the calls and results of tools. What an agent writes down is the user's to servers
// that learn from users alone.
func (f *frame) said(r *backends.AddRequest, tools bool) (out []message) {
	for _, m := range r.Messages {
		if m.Message == nil || einox.IsNote(m.Message) || einox.IsPrivate(m.Message) || m.Role == schema.System || m.Role == schema.Tool && !tools {
			continue
		}
		line := message{Role: string(m.Role), Content: einox.Text(m.Message), of: m}
		for i := 0; tools && i < len(m.ToolCalls); i++ {
			line.Content += "\ncalled " + m.ToolCalls[i].Function.Name + " " + m.ToolCalls[i].Function.Arguments
		}
		if r.Author != "" {
			line.Role = string(schema.User)
		}
		config.Default(&line.of.Time, f.cfg.Clock())
		if line.Content = strings.TrimSpace(line.Content); line.Content != "" {
			out = append(out, line)
		}
	}
	return out
}

// drafts returns what is to be stored of messages as they were said, each text once, and an
// item for each message.
func (f *frame) drafts(p backends.Partition, r *backends.AddRequest, said []message) (out []backends.Memory, items []backends.Item) {
	for _, m := range said {
		item := backends.Item{Outcome: backends.OutcomeAdded, Memory: backends.Memory{
			ID: idOf(p, m.Content), Kind: cmp.Or(r.Kind, backends.KindEpisode), Text: m.Content, Scope: p.Scope().Or(r.Scope), Metadata: r.Metadata, Observed: m.of.Time, Created: f.cfg.Clock(), Expires: r.Expires,
			Origin: backends.Origin{Session: r.Scope.SessionID, Turn: m.of.Turn, Role: string(m.of.Role), Author: r.Author},
		}}
		if slices.ContainsFunc(out, func(known backends.Memory) bool { return known.ID == item.Memory.ID }) {
			item.Outcome = backends.OutcomeUnchanged
		} else {
			out = append(out, item.Memory)
		}
		items = append(items, item)
	}
	return out, items
}

// idOf returns the id of a text in a partition, a UUID that follows from both: a repeat
// stores nothing twice. Its first half names the partition.
func idOf(p backends.Partition, text string) string {
	return keeper.HashID("remote", p.String())[:half] + keeper.HashID("remote", p.String(), text)[half:]
}

const half = len("01234567-0123-8123-")

// decode returns a memory that was kept as JSON beside a text; of other clients there is none.
func decode(kept any, p backends.Partition) (m backends.Memory) {
	data, _ := kept.(string)
	_ = json.Unmarshal([]byte(data), &m)
	m.Scope, m.Kind = p.Scope().Or(m.Scope), cmp.Or(m.Kind, backends.KindFact)
	return m
}

// own returns the rows that belong to the partition that a call was for. Others, which a
// server must not have answered with, are reported, and nothing of what they say.
func own[T any](ctx context.Context, f *frame, rows []T, belongs func(*T) bool) []T {
	all := len(rows)
	if rows = slices.DeleteFunc(rows, func(row T) bool { return !belongs(&row) }); len(rows) < all {
		f.report(ctx, f.errorf("checking an answer", backends.ErrDenied, "%d of %d rows of an answer do not belong to the partition that was asked for, and are left out", all-len(rows), all))
	}
	return rows
}

// report logs an error that no caller gets, and passes it to OnError.
func (f *frame) report(ctx context.Context, err error) {
	work.Report(ctx, func(ctx context.Context, _ string, err error) { f.cfg.OnError(ctx, err) }, "remote", err)
}

// timeOf reads a time as servers write it; without a zone it is in loc. What is no time is
// the zero time.
func timeOf(s string, loc *time.Location) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, _ = time.ParseInLocation(time.DateTime, strings.Replace(s, "T", " ", 1), loc)
	}
	return t.UTC()
}
