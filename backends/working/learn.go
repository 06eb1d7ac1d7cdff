// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// learn offers what lies after the session's watermark to the backend, batch by
// batch. wait says when it is worth to look again: an open turn, or the pause
// after a failure; 0 with a nil error means that all was learnt.
func (m *Memory) learn(ctx context.Context, k sessionKey, early bool) (_ *backends.AddResponse, wait time.Duration, err error) {
	total := &backends.AddResponse{}
	s, err := m.cfg.Sessions.Session(ctx, k.partition, k.id)
	if errors.Is(err, backends.ErrNotFound) {
		return total, 0, nil
	}
	if err != nil {
		return total, 0, fmt.Errorf("reading the session: %w", err)
	}
	// Looking costs no lease, and most of the time there is nothing.
	if wait := m.pausing(s); wait > 0 && !early || !s.Pending() {
		return total, wait, nil
	}
	if b, wait, err := m.next(ctx, k, s); b == nil {
		return total, wait, err
	}
	r, err := m.acquire(ctx, k)
	if errors.Is(err, errGone) {
		return total, 0, nil
	}
	if err != nil {
		return total, 0, err
	}
	r.early = early
	wait, err = r.learn(ctx, total)
	if errors.Is(err, errGone) {
		return total, 0, nil
	}
	return total, wait, err
}

// learn works until nothing is left, or something fails that is to be tried
// later, and gives the lease back. Stretches that were given up are errors too,
// but what follows them is learnt.
func (r *run) learn(ctx context.Context, total *backends.AddResponse) (time.Duration, error) {
	var givenUp []error
	for {
		if wait := r.m.pausing(r.s); wait > 0 && !r.early {
			return wait, errors.Join(append(givenUp, r.release(ctx, store.SessionUpdate{}))...)
		}
		b, wait, err := r.m.next(ctx, r.key, r.s)
		if err != nil || b == nil {
			return wait, errors.Join(append(givenUp, err, r.release(ctx, r.clearRetry()))...)
		}
		resp, err := r.try(ctx, b)
		var gaveUp *giveUpError
		switch {
		case errors.Is(err, errDivided):
		case errors.As(err, &gaveUp):
			givenUp = append(givenUp, err)
		case err != nil:
			return r.m.pausing(r.s), errors.Join(append(givenUp, err)...)
		default:
			merge(total, resp)
		}
	}
}

// clearRetry tidies up the state of tries that are over.
func (r *run) clearRetry() store.SessionUpdate {
	if r.s.Retry == (store.Retry{}) || max(r.s.Retry.Upto, r.s.Retry.Whole) > r.s.Watermark {
		return store.SessionUpdate{}
	}
	return store.SessionUpdate{Retry: &store.Retry{}}
}

// try learns from one batch and moves the watermark past it. After an error other
// than a *giveUpError and errDivided the lease is given back or lost.
func (r *run) try(ctx context.Context, b *batch) (*backends.AddResponse, error) {
	before, err := r.m.overlap(ctx, r.key, b)
	if err != nil {
		return nil, r.abandon(ctx, err)
	}
	if err := r.begin(ctx, b); err != nil {
		return nil, r.abandon(ctx, err)
	}
	resp, err := r.offer(ctx, b, before)
	if err != nil {
		// Nil means that it was learnt after all.
		return &backends.AddResponse{Replayed: true}, r.failed(ctx, b, err)
	}
	r.m.counters.consolidated.Add(1)
	if resp.Checkpointed {
		r.s.Watermark = max(r.s.Watermark, b.upto)
		return resp, nil
	}
	// A crash or a refusal here repeats the batch under the same key, which does nothing.
	if err := r.update(ctx, store.SessionUpdate{Watermark: &b.upto, Retry: r.rest(b)}); err != nil {
		return resp, r.abandon(ctx, err)
	}
	return resp, nil
}

// begin writes down which stretch is being tried, before it is.
func (r *run) begin(ctx context.Context, b *batch) error {
	retry := r.s.Retry
	if retry.Upto != b.upto {
		retry = store.Retry{Upto: b.upto}
		if r.s.Retry.Whole > r.s.Watermark {
			retry.Whole, retry.Attempts = r.s.Retry.Whole, r.s.Retry.Attempts
		}
	}
	r.inDoubt = retry.InDoubt
	if r.inDoubt {
		return nil
	}
	retry.InDoubt = true
	return r.update(ctx, store.SessionUpdate{Acquire: &store.Acquire{Owner: r.m.owner, For: r.m.cfg.Lease}, Retry: &retry})
}

// rest returns the state of tries once the batch is behind.
func (r *run) rest(b *batch) *store.Retry {
	if r.s.Retry.Whole > b.upto {
		return &store.Retry{Whole: r.s.Retry.Whole, Attempts: r.s.Retry.Attempts}
	}
	return &store.Retry{}
}

// abandon gives the lease back after an error of the session's store.
func (r *run) abandon(ctx context.Context, err error) error {
	if errors.Is(err, errLost) || errors.Is(err, errGone) {
		return err
	}
	_ = r.release(ctx, store.SessionUpdate{}) // the first error is the one to report
	return err
}

// offer gives the batch to the backend, with the lease renewed meanwhile.
func (r *run) offer(ctx context.Context, b *batch, before []backends.Message) (*backends.AddResponse, error) {
	said := messages(b.entries)
	if len(said) == 0 {
		return &backends.AddResponse{}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.m.cfg.Timeout, fmt.Errorf("no answer within %s: %w", r.m.cfg.Timeout, backends.ErrUnavailable))
	defer cancel()
	ctx, stop := r.renewal(ctx)
	defer stop()
	resp, err := safeAdd(ctx, r.m.cfg.Backend, &backends.AddRequest{
		Scope: b.scope(r.s), Messages: said, Context: before,
		IdempotencyKey: idempotencyKey(r.s, b),
		Checkpoint:     &backends.Checkpoint{Session: r.key.id, Upto: b.upto, Token: r.token},
	})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return resp, err
}

// safeAdd turns a panic in a backend, a model or an embedder into an error: in a
// worker it would end the program.
func safeAdd(ctx context.Context, b backends.Backend, req *backends.AddRequest) (resp *backends.AddResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, fmt.Errorf("the backend panicked: %v", p)
		}
	}()
	resp, err = b.Add(ctx, req)
	if err == nil && resp == nil {
		resp = &backends.AddResponse{}
	}
	return resp, err
}

// idempotencyKey names a stretch of one session for ever. The session's birth and
// the messages' ids are in it, because a session that was deleted or expired may
// come again with the same id, and counts from 1.
func idempotencyKey(s *store.Session, b *batch) string {
	h := sha256.New()
	for _, part := range []string{s.Partition.String(), s.ID, s.Created.UTC().Format(time.RFC3339Nano), b.entries[0].ID, b.entries[len(b.entries)-1].ID} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("log-%s-%d-%d", hex.EncodeToString(h.Sum(nil)[:16]), b.from, b.upto)
}

// merge adds up the responses of several batches.
func merge(total, resp *backends.AddResponse) {
	total.Items = append(total.Items, resp.Items...)
	total.Usage.ModelCalls += resp.Usage.ModelCalls
	total.Usage.PromptTokens += resp.Usage.PromptTokens
	total.Usage.CompletionTokens += resp.Usage.CompletionTokens
	total.Usage.EmbeddedTexts += resp.Usage.EmbeddedTexts
	total.Replayed = total.Replayed || resp.Replayed
	total.Checkpointed = total.Checkpointed || resp.Checkpointed
}
