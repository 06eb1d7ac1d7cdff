// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxBody is the longest answer that is read into memory, in bytes: some 2,000
// vectors of 3,072 dimensions as JSON.
const maxBody = 256 << 20

var errTimeout = errors.New("no answer in time")

// transport is the sender that go-openai is given. It adds the key and retries,
// and hands back either the start of a stream or an answer that is complete. It
// is safe for concurrent use.
type transport struct {
	client    *http.Client
	timeout   time.Duration // of one attempt, or of one piece of a stream; ≤ 0: none
	authorize func(http.Header)
	retry     retryPolicy
	wait      func(context.Context, time.Duration) error
}

// transportError is a failure to get an answer, as opposed to an answer that
// tells of a failure.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// Do implements go-openai's HTTPDoer.
func (t *transport) Do(req *http.Request) (*http.Response, error) {
	t.authorize(req.Header)
	for n := 0; ; n++ {
		resp, err := t.attempt(req)
		pause, again := t.retry.after(n, resp, err)
		if !again || !timeFor(req.Context(), pause) {
			return resp, err
		}
		if waited := t.wait(req.Context(), pause); waited != nil {
			return nil, &transportError{waited}
		}
	}
}

func (t *transport) attempt(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := t.startTimer(cancel)
	r := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			cancel(nil)
			return nil, &transportError{err}
		}
		r.Body = body
	}
	resp, err := t.client.Do(r)
	if err == nil && resp.StatusCode < http.StatusMultipleChoices && req.Header.Get("Accept") == "text/event-stream" {
		timer.Stop()
		resp.Body = &streamBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer, timeout: t.timeout}
		return resp, nil
	}
	if err == nil {
		err = buffer(resp)
	}
	timer.Stop()
	err = explain(ctx, err)
	cancel(nil)
	if err != nil {
		return nil, &transportError{err}
	}
	return resp, nil
}

func (t *transport) startTimer(cancel context.CancelCauseFunc) *time.Timer {
	if t.timeout <= 0 {
		timer := time.NewTimer(0)
		timer.Stop()
		return timer
	}
	return time.AfterFunc(t.timeout, func() { cancel(errTimeout) })
}

// buffer reads the whole body, so that one that is cut is found while the request
// can still be sent again.
func buffer(resp *http.Response) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxBody {
		return fmt.Errorf("reading the answer: longer than %d bytes", maxBody)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// explain replaces the error of a request that was given up by the reason.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		return errTimeout
	}
	return ctx.Err()
}

// streamBody is the body of a stream: each read has the timeout for itself, and
// the time that the reader of the stream takes does not count.
type streamBody struct {
	io.ReadCloser
	ctx     context.Context // of this attempt: tells why a read was cut short
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
}

func (b *streamBody) Read(p []byte) (int, error) {
	if b.timeout > 0 {
		b.timer.Reset(b.timeout)
		defer b.timer.Stop()
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &transportError{explain(b.ctx, err)}
	}
	return n, err
}

func (b *streamBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// timeFor reports whether the context lasts longer than the pause: there is no
// point in waiting for its end.
func timeFor(ctx context.Context, pause time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > pause
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
