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
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/text"
)

const (
	minWait   = 500 * time.Millisecond // a wait before a retry is between these two,
	maxWait   = time.Second            // times the number of attempts
	maxBody   = 16 << 20               // bytes of an answer
	maxReason = 300                    // bytes of what a server says in an error
)

// connect checks where the server is, and keeps what is sent to it off other hosts.
func (f *frame) connect(header, prefix string) error {
	if u, err := url.Parse(f.cfg.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return f.errorf("connecting", backends.ErrInvalid, "Config.BaseURL: want http(s)://host[/path], and the key in APIKey")
	}
	if f.header, f.prefix = header, prefix; f.cfg.HTTPClient != nil {
		f.http = *f.cfg.HTTPClient
	}
	f.http.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
			return http.ErrUseLastResponse // neither the key nor what users said goes to another host
		}
		return nil
	}
	return nil
}

// call is one request.
type call struct {
	doing        string // in errors: "searching"
	method, path string
	query        url.Values
	body, out    any

	id   string // the memory that the path names: status 404 is then ErrNotFound
	slow bool   // the server's model works: LearnTimeout bounds it
	once bool   // a repeat would store twice
}

// errTimeout is the cause of a context that a timeout of the configuration ended.
var errTimeout = errors.New("no answer in time")

// do sends a request and decodes the answer into c.out. Errors have a sentinel, and neither
// the key nor the body of the request.
func (f *frame) do(ctx context.Context, c call) error {
	limit := f.cfg.Timeout
	if c.slow {
		limit = f.cfg.LearnTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	resp, body, err := f.send(ctx, &c)
	var at *url.Error
	switch {
	case err == nil && resp.StatusCode/100 != 2:
		return f.refused(&c, resp.StatusCode, body)
	case err == nil && c.out != nil && json.Unmarshal(body, c.out) != nil:
		return f.errorf(c.doing, backends.ErrUnavailable, "the answer, of type %q, is not the JSON that is expected: check BaseURL", resp.Header.Get("Content-Type"))
	case err == nil, errors.Is(err, backends.ErrInvalid):
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		return f.errorf(c.doing, backends.ErrUnavailable, "no answer within %s", limit)
	case errors.Is(ctx.Err(), context.Canceled): // the caller's decision, not the server's fault
		return f.errorf(c.doing, context.Cause(ctx), "given up")
	case errors.As(err, &at): // its text repeats the URL
		err = at.Err
	}
	return f.errorf(c.doing, backends.ErrUnavailable, "no complete answer (%v): check BaseURL", err)
}

// send returns the answer and its body.
func (f *frame) send(ctx context.Context, c *call) (*http.Response, []byte, error) {
	var body any
	if c.body != nil {
		data, err := json.Marshal(c.body)
		if err != nil {
			return nil, nil, f.errorf(c.doing, backends.ErrInvalid, "%v", err)
		}
		body = data
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, c.method, strings.TrimRight(f.cfg.BaseURL, "/")+c.path, body)
	if err != nil {
		return nil, nil, err
	}
	req.URL.RawQuery = c.query.Encode()
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	if f.cfg.APIKey != "" {
		req.Header.Set(f.header, f.prefix+f.cfg.APIKey)
	}
	retrying := retryablehttp.Client{
		HTTPClient: &f.http, RetryMax: max(f.cfg.MaxRetries, 0), RetryWaitMin: minWait, RetryWaitMax: maxWait,
		CheckRetry: c.retry, Backoff: retryablehttp.RateLimitLinearJitterBackoff, ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	resp, err := retrying.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if len(data) > maxBody {
		err = fmt.Errorf("it is larger than %d MiB", maxBody>>20)
	}
	return resp, data, err
}

// retry is retryablehttp's policy, within the deadline. A call whose repeat would store
// twice is repeated only where the server did not get it, or refused it for its rate.
func (c *call) retry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	again, _ := retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	if c.once && again {
		var op *net.OpError
		again = err == nil && resp.StatusCode == http.StatusTooManyRequests || errors.As(err, &op) && op.Op == "dial"
	}
	wait := retryablehttp.DefaultBackoff(0, 0, 0, resp) // Retry-After, or 0
	deadline, _ := ctx.Deadline()
	return again && max(wait, maxWait) < time.Until(deadline), nil
}

// errDenied is ErrUnavailable as well: the log keeps what was to be learnt until the key is
// repaired.
var errDenied = fmt.Errorf("%w: %w", backends.ErrDenied, backends.ErrUnavailable)

// refused returns the error for a status.
func (f *frame) refused(c *call, status int, body []byte) error {
	var answer struct{ Detail, Error any }
	isJSON := json.Unmarshal(body, &answer) == nil
	said, _ := cmp.Or(answer.Detail, answer.Error).(string) // a list repeats what was sent
	if said = cmp.Or(text.TruncateBytes(said, maxReason), "no reason given"); !isJSON {
		said = fmt.Sprintf("%q", text.TruncateBytes(string(body), maxReason))
	}
	sentinel := fault.Sentinel(status, said)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		sentinel, said = errDenied, said+": set APIKey to a key that may do this"
	case status == http.StatusNotFound && c.id != "" && isJSON:
		sentinel = backends.ErrNotFound
	case status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		said += ": check BaseURL; redirects to other hosts are not followed"
	}
	return f.errorf(c.doing, sentinel, "status %d: %s", status, said)
}
