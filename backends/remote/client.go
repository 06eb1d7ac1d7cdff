// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/work"
)

const (
	maxAnswer = 16 << 20    // bytes
	maxWait   = time.Second // before a retry, times the number of attempts
	learning  = 10          // times Timeout, for a call in which the server's model works
)

// connect checks the address of the server, and sets the header of its key.
func (f *frame) connect(header, prefix string) error {
	u, err := url.Parse(f.cfg.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return f.errorf("connecting", backends.ErrInvalid, "Config.BaseURL: want http(s)://host[/path], and the key in APIKey")
	}
	f.header, f.prefix = header, prefix
	f.http = *cmp.Or(f.cfg.HTTPClient, &http.Client{})
	f.http.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the key and the words of users stay with this host
	}
	return nil
}

// call is one request, with the target of its answer.
type call struct {
	doing   string // for errors, such as "searching"
	method  string
	path    string
	query   url.Values
	in, out any   // JSON; may be nil
	failed  error // of the last try that got no answer
	absent  *bool // set for an answer 404 of the server itself, which is an error otherwise
	learns  bool  // the server's model works: it gets more time, and a repeat may store twice
}

// do makes a call. Errors have a sentinel, and leave out the key and the body of the
// request.
func (f *frame) do(ctx context.Context, c call) error {
	limit := f.cfg.Timeout
	if c.learns {
		limit *= learning
	}
	var body any
	if c.in != nil {
		data, err := json.Marshal(c.in)
		if err != nil {
			return f.errorf(c.doing, backends.ErrInvalid, "%v", err)
		}
		body = data
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	status, answer, err := f.send(bounded, &c, body)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // the caller's decision
		return f.errorf(c.doing, context.Cause(ctx), "given up")
	case err != nil:
		return f.errorf(c.doing, backends.ErrUnavailable, "no complete answer: %v: check BaseURL", err)
	case status == http.StatusNotFound && c.absent != nil && json.Unmarshal(answer, new(struct{ Detail string })) == nil:
		*c.absent = true
	case status/100 != 2:
		return f.refused(&c, status, answer)
	case c.out != nil && json.Unmarshal(answer, c.out) != nil:
		return f.errorf(c.doing, backends.ErrUnavailable, "the answer is not the expected JSON of at most %d bytes: check BaseURL", maxAnswer)
	}
	return nil
}

// send returns the status and the body of the answer.
func (f *frame) send(ctx context.Context, c *call, body any) (status int, answer []byte, err error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, c.method, strings.TrimRight(f.cfg.BaseURL, "/")+c.path, body)
	if err != nil {
		return 0, nil, err
	}
	req.URL.RawQuery = c.query.Encode()
	req.Header.Set("Content-Type", "application/json")
	if f.cfg.APIKey != "" {
		req.Header.Set(f.header, f.prefix+f.cfg.APIKey)
	}
	retrying := retryablehttp.Client{
		HTTPClient: &f.http, RetryMax: max(f.cfg.MaxRetries, 0), RetryWaitMin: maxWait / 2, RetryWaitMax: maxWait,
		CheckRetry: c.retry, Backoff: retryablehttp.RateLimitLinearJitterBackoff, ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	resp, err := retrying.Do(req)
	if err != nil {
		return 0, nil, cmp.Or(c.failed, err) // it has the cause of the time that ran out
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

// retry is retryablehttp's policy, within the deadline. A call for a learning model is
// repeated only if the server refused it for its rate.
func (c *call) retry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if err != nil && ctx.Err() == nil {
		c.failed = err
	}
	again, _ := retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	if c.learns {
		again = again && resp != nil && resp.StatusCode == http.StatusTooManyRequests
	}
	wait := retryablehttp.DefaultBackoff(0, 0, 0, resp) // Retry-After, or 0
	deadline, _ := ctx.Deadline()
	return again && max(wait, maxWait) < time.Until(deadline), nil
}

// statuses are the meanings of statuses on the servers. A refused key is ErrUnavailable as
// well: the log keeps its turns until the key is right.
var statuses = map[int]error{
	http.StatusUnauthorized: errDenied,
	http.StatusForbidden:    errDenied,
	http.StatusNotFound:     fmt.Errorf("%w: check BaseURL", backends.ErrUnavailable),
}

var errDenied = fmt.Errorf("%w (%w): set APIKey to a key that may do this", backends.ErrDenied, backends.ErrUnavailable)

// codes are another einomem's: the 404 of a proxy says nothing about a memory.
var codes = map[string]error{"not_found": backends.ErrNotFound, "conflict": backends.ErrConflict, "forgotten": backends.ErrForgotten}

// refused returns the error for a status. With Config.ErrorText it has the server's reason
// too, if that is a text: a list repeats the request.
func (f *frame) refused(c *call, status int, answer []byte) error {
	var said struct {
		Detail, Error any
		Code          string
	}
	_ = json.Unmarshal(answer, &said)
	reason, ok := cmp.Or(said.Detail, said.Error).(string)
	if !ok {
		reason = http.StatusText(status)
	}
	sentinel := cmp.Or(codes[said.Code], statuses[status], fault.Sentinel(status, reason))
	if !f.cfg.ErrorText {
		reason = cmp.Or(said.Code, http.StatusText(status))
	}
	return f.errorf(c.doing, sentinel, "status %d: %.300s", status, reason)
}

// row is a memory as the servers write it: each has some of these fields.
type row struct {
	ID       string
	MemoryID string `json:"memory_id"`

	Text      string // agent-memory-server's name of it
	Memory    string // mem0
	Content   string // ReMe
	WhenToUse string `json:"when_to_use"`
	Type      string `json:"memory_type"`
	Metadata  map[string]any
	Score     float64

	Namespace string
	Workspace string `json:"workspace_id"`
	User      string `json:"user_id"`
	Agent     string `json:"agent_id"`
	Session   string `json:"session_id"`
	Author    string
	Role      string // the role of the speaker, on a server that keeps it

	Created  string `json:"created_at"`
	Updated  string `json:"updated_at"`
	Happened string `json:"event_date"`
	Made     string `json:"time_created"`
	Modified string `json:"time_modified"`

	Event string // the outcome, in an answer to an addition
}

// kinds are the servers' names of our kinds. Facts have many names.
var kinds = map[string]backends.Kind{
	"message": backends.KindEpisode, "personal": backends.KindPersonal, "task": backends.KindTask,
}

// memory returns a row of a partition as a memory, with the fields that were kept as JSON:
// rows of other clients lack them.
func (r *row) memory(p backends.Partition) (m backends.Memory) {
	kept, _ := r.Metadata[MemoryKey].(string)
	_ = json.Unmarshal([]byte(kept), &m)
	m.ID = cmp.Or(r.ID, r.MemoryID)
	m.Kind = cmp.Or(kinds[r.Type], m.Kind, backends.KindFact)
	m.Text, m.WhenToUse = cmp.Or(r.Text, r.Memory, r.Content), r.WhenToUse
	m.Scope = p.Scope().Or(m.Scope).Or(backends.Scope{SessionID: r.Session})
	m.Origin.Session, m.Origin.Author = m.Scope.SessionID, cmp.Or(m.Origin.Author, r.Author)
	m.Origin.Role = cmp.Or(r.Role, m.Origin.Role)
	m.Valid = timeOf(r.Happened)
	m.Created, m.Updated = cmp.Or(timeOf(cmp.Or(r.Created, r.Made)), m.Created), timeOf(cmp.Or(r.Updated, r.Modified))
	if m.Metadata == nil {
		m.Metadata = maps.Clone(r.Metadata)
		maps.DeleteFunc(m.Metadata, func(key string, _ any) bool { return key == MemoryKey || key == PartitionKey })
	}
	return m
}

// timeOf reads a time as servers write it; a time without a zone is local. Any other text is
// the zero time.
func timeOf(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, _ = time.ParseInLocation(time.DateTime, s, time.Local)
	}
	return t.UTC()
}

// hits returns the rows of a partition as hits. Rows of others, which a server must
// withhold, are reported without their content.
func (f *frame) hits(ctx context.Context, p backends.Partition, rows []row, mine func(*row) bool) (out []backends.Hit) {
	for _, r := range rows {
		if r.Type == "personal" {
			r.Score *= 10 // ReMe 0.2 scores personal memories with a tenth of the cosine
		}
		if mine(&r) {
			out = append(out, backends.Hit{Memory: r.memory(p), Score: min(max(r.Score, 0), 1)})
		}
	}
	if others := len(rows) - len(out); others > 0 {
		work.Report(ctx, f.cfg.OnError, "remote", f.errorf("checking an answer", backends.ErrDenied,
			"%d of %d rows do not belong to the partition that was asked for, and are left out", others, len(rows)))
	}
	return out
}
