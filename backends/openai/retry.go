// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

const (
	maxBackoff    = 20 * time.Second
	maxRetryAfter = time.Minute // a server that asks for more is given up on at once
)

// retryPolicy decides whether and when a request is sent again.
type retryPolicy struct {
	max   int           // how often
	first time.Duration // the first wait, doubling
	clock backends.Clock
}

// after returns how long to wait after attempt n (from 0), which ended in resp or
// err, and whether to send the request again at all.
func (p retryPolicy) after(n int, resp *http.Response, err error) (time.Duration, bool) {
	if n >= p.max || !passing(resp, err) {
		return 0, false
	}
	pause := p.backoff(n)
	if resp == nil {
		return pause, true
	}
	asked := p.retryAfter(resp.Header.Get("Retry-After"))
	return max(pause, asked), asked <= maxRetryAfter
}

// backoff doubles with every attempt; half of it is random, so that clients that
// failed together do not come back together.
func (p retryPolicy) backoff(n int) time.Duration {
	full := min(max(p.first, 0), maxBackoff)
	for range n {
		full = min(2*full, maxBackoff)
	}
	half := full / 2
	return half + rand.N(half+1)
}

// retryAfter reads the header of RFC 9110 §10.2.3: seconds or a date.
func (p retryPolicy) retryAfter(header string) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		if seconds > maxRetryAfter.Seconds() {
			return maxRetryAfter + 1
		}
		return max(0, time.Duration(seconds*float64(time.Second)))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(p.clock()))
	}
	return 0
}

// passing reports whether what failed may succeed a moment later.
func passing(resp *http.Response, err error) bool {
	if err != nil {
		return passingError(err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return !quotaSpent(resp)
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// passingError: a connection that broke or could not be made. An attempt that ran
// out of time is not among them: it would again.
func passingError(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTimeout) {
		return false
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return false
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// quotaSpent reports whether a 429 means an empty account rather than haste. The
// body is in memory already (see buffer) and is put back.
func quotaSpent(resp *http.Response) bool {
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte(codeQuota))
}
