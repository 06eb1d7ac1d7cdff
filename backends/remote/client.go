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
)

// maxBody is the longest answer, in bytes, and maxWait the longest wait before a retry, times
// the number of attempts.
const maxBody, maxWait = 16 << 20, time.Second

// connect checks where the server is, and keeps what is sent to it off other hosts.
func (f *frame) connect(header, prefix string) error {
	if u, err := url.Parse(f.cfg.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return f.errorf("connecting", backends.ErrInvalid, "Config.BaseURL: want http(s)://host[/path], and the key in APIKey")
	}
	f.header, f.prefix, f.http = header, prefix, *cmp.Or(f.cfg.HTTPClient, &http.Client{})
	f.http.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
			return http.ErrUseLastResponse // neither the key nor what users said goes to another host
		}
		return nil
	}
	return nil
}

// call is one request.
// doing is for errors, such as "searching". id is that of the memory which the path names:
// status 404 is then ErrNotFound. slow says that the server's model works, and LearnTimeout
// bounds it; once that a repeat would store twice.
type call struct {
	doing, method, path, id string
	query                   url.Values
	body, out               any
	slow, once              bool
}

// do sends a request and decodes the answer into c.out. Errors have a sentinel, and neither
// the key nor the body of the request.
func (f *frame) do(ctx context.Context, c call) error {
	limit := f.cfg.Timeout
	if c.slow {
		limit = f.cfg.LearnTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	status, kind, body, err := f.send(bounded, &c)
	var at *url.Error
	switch {
	case err == nil && status/100 != 2:
		return f.refused(&c, status, body)
	case err == nil && c.out != nil && json.Unmarshal(body, c.out) != nil:
		return f.errorf(c.doing, backends.ErrUnavailable, "the answer, of type %q, is not the JSON that is expected: check BaseURL", kind)
	case err == nil, errors.Is(err, backends.ErrInvalid):
		return err
	case errors.Is(ctx.Err(), context.Canceled): // the caller's decision, not the server's fault
		return f.errorf(c.doing, context.Cause(ctx), "given up")
	case bounded.Err() != nil:
		err = fmt.Errorf("none within %s", limit)
	case errors.As(err, &at): // its text repeats the URL
		err = at.Err
	}
	return f.errorf(c.doing, backends.ErrUnavailable, "no complete answer: %v: check BaseURL", err)
}

// send returns the status of the answer, the type of its body, and the body.
func (f *frame) send(ctx context.Context, c *call) (status int, kind string, data []byte, err error) {
	var body any
	if c.body != nil {
		if data, err = json.Marshal(c.body); err != nil {
			return 0, "", nil, f.errorf(c.doing, backends.ErrInvalid, "%v", err)
		}
		body = data
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, c.method, strings.TrimRight(f.cfg.BaseURL, "/")+c.path, body)
	if err != nil {
		return 0, "", nil, err
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
		return 0, "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if len(data) > maxBody {
		err = fmt.Errorf("it is larger than %d MiB", maxBody>>20)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), data, err
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
	said, isJSON := fmt.Sprintf("%.300q", body), json.Unmarshal(body, &answer) == nil
	if text, ok := cmp.Or(answer.Detail, answer.Error).(string); ok {
		said = fmt.Sprintf("%.300s", text)
	} else if isJSON {
		said = "no reason given" // in a list that repeats what was sent
	}
	sentinel := fault.Sentinel(status, said)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		sentinel, said = errDenied, said+": set APIKey to a key that may do this"
	case status == http.StatusNotFound && c.id != "" && isJSON:
		sentinel = backends.ErrNotFound
	case status == http.StatusConflict:
		sentinel = backends.ErrConflict
	case status == http.StatusGone:
		sentinel = backends.ErrForgotten
	case status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		said += ": check BaseURL; redirects to other hosts are not followed"
	}
	return f.errorf(c.doing, sentinel, "status %d: %s", status, said)
}
