// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// session is a session as its hash holds it.
type session struct {
	store.Session
	fields map[string]string
}

// sessionState are those fields of [store.Session] that updates change, as JSON: scripts do
// not look into it.
type sessionState struct {
	Scope       backends.Scope  `json:"scope"`
	Title       string          `json:"title,omitempty"`
	Summary     string          `json:"summary,omitempty"`
	SummaryUpto int64           `json:"summary_upto,omitempty"`
	Lease       store.Lease     `json:"lease,omitzero"`
	Retry       store.Retry     `json:"retry,omitzero"`
	Failures    []store.Failure `json:"failures,omitempty"`
	Created     time.Time       `json:"created"`
}

func stateOf(s *store.Session) *sessionState {
	return &sessionState{Scope: s.Scope, Title: s.Title, Summary: s.Summary, SummaryUpto: s.SummaryUpto,
		Lease: s.Lease, Retry: s.Retry, Failures: s.Failures, Created: s.Created}
}

// readSession reads the hash of a session, nil when there is none.
func readSession(p backends.Partition, id string, fields map[string]string) (*session, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	what := fmt.Sprintf("session %q", id)
	out := &session{fields: fields}
	if err := plan.Decode(what, fields["state"], &out.Session); err != nil {
		return nil, err
	}
	out.Partition, out.ID = p, id
	for field, to := range map[string]*int64{"ver": &out.Version, "seq": &out.LastSeq, "tokens": &out.Tokens, "watermark": &out.Watermark} {
		n, err := number(fields[field])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", what, field, err)
		}
		*to = n
	}
	var err error
	if out.Updated, err = parseTime(what, fields["updated"]); err != nil {
		return nil, err
	}
	out.Expires, err = parseTime(what, fields["expires"])
	return out, err
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return on(ctx, s, p, id, fmt.Sprintf("session %q", id), func() (*store.Session, error) {
		k := s.keys(p).session(id)
		var state stateOnServer
		err := s.atOnce(ctx, func(pipe redis.Pipeliner) { state = readState(ctx, pipe, k) })
		if err != nil {
			return nil, err
		}
		found, err := state.session(p, id)
		if err != nil {
			return nil, err
		}
		if found == nil || plan.Expired(&found.Session, s.now()) {
			return nil, fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		return &found.Session, nil
	})
}

// stateOnServer is the reading of the hash of a session.
type stateOnServer struct {
	keys   sessionKeys
	fields *redis.MapStringStringCmd
	logged *redis.IntCmd
}

// readState adds it to a pipeline.
func readState(ctx context.Context, pipe redis.Pipeliner, k sessionKeys) stateOnServer {
	return stateOnServer{k, pipe.HGetAll(ctx, k.state()), pipe.Exists(ctx, k.log())}
}

// session returns nil when there is none. One that has a log was lost.
func (s *stateOnServer) session(p backends.Partition, id string) (*session, error) {
	if len(s.fields.Val()) == 0 && s.logged.Val() > 0 {
		return nil, incomplete(s.keys.state())
	}
	return readSession(p, id, s.fields.Val())
}

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := u.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: update: %w", err)
	}
	a := &applier{Store: s, p: p, keys: s.keys(p), batch: &store.Batch{Session: u}, update: true, nonce: newNonce()}
	out, err := a.run(ctx, fmt.Sprintf("update session %q", u.Session))
	if err != nil {
		return nil, err
	}
	return out.Session, nil
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, id string) error {
	_, err := on(ctx, s, p, id, fmt.Sprintf("delete session %q", id), func() (n store.DropCount, err error) {
		n, _, err = s.erase(ctx, p, "", "", id)
		return n, err
	})
	return err
}

// logged is a message as the log holds it: its number is its place there.
type logged struct {
	*store.Entry
	Seq *struct{} `json:"seq,omitempty"`
}

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: append: %w", err)
	}
	return on(ctx, s, p, id, fmt.Sprintf("append %d messages to session %q", len(a.Entries), id), func() (out *store.Session, err error) {
		err = s.registered(ctx, p, func(made string) (wanted []string, err error) {
			out, wanted, err = s.tryAppend(ctx, p, id, a, made)
			return wanted, err
		})
		return out, err
	})
}

// maxTokens bounds the size of a message, so that the sum of a session, which scripts
// compute, is exact and never overflows.
const maxTokens = math.MaxInt32

// lifeMicros is a time to live in microseconds, rounded up: 0 is for ever.
func lifeMicros(ttl time.Duration) int64 {
	if ttl <= 0 {
		return 0
	}
	return (ttl - 1).Microseconds() + 1
}

// tryAppend runs the script, or returns what must be entered in the registry first.
func (s *Store) tryAppend(ctx context.Context, p backends.Partition, id string, a *store.Append, made string) (*store.Session, []string, error) {
	now := s.now()
	args := &arguments{}
	args.add(id, plan.Micros(now), timeText(now), lifeMicros(a.TTL), timeText(now.Add(a.TTL)), newNonce(), made, assignments(s.begunIn(ctx, p)))
	args.json("session "+id, &sessionState{Scope: a.Scope, Created: now})
	args.add(flag(a.Learnt))
	for _, e := range a.Entries {
		if e.Time.IsZero() {
			e.Time = now
		}
		if e.Tokens > maxTokens || e.Tokens < -maxTokens {
			return nil, nil, fmt.Errorf("message %s: %w: %d tokens: at most %d", e.ID, backends.ErrInvalid, e.Tokens, maxTokens)
		}
		args.add(e.ID, e.Tokens)
		args.json("message "+e.ID, &logged{Entry: &e})
	}
	if args.err != nil {
		return nil, nil, args.err
	}
	reply, err := s.write(ctx, appendScript, s.keys(p).withSession(id), args.list...)
	if wanted := unregistered(reply); err != nil || len(wanted) > 0 {
		return nil, wanted, err
	}
	after, err := readSession(p, id, pairs(reply))
	if err != nil {
		return nil, nil, err
	}
	if after == nil {
		return nil, nil, badAnswer(reply)
	}
	return &after.Session, nil, nil
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	return on(ctx, s, p, id, fmt.Sprintf("read session %q", id), func() ([]store.Entry, error) {
		w, err := s.window(ctx, s.keys(p).session(id), r)
		if err != nil {
			return nil, err
		}
		return w.entries(id)
	})
}

// window is a part of a session's log.
type window struct {
	first int64 // the number of its first message
	texts []string
}

// window reads a range of the log with one round trip; with a second one when the
// range has an end beyond the log and its newest messages are asked for.
func (s *Store) window(ctx context.Context, k sessionKeys, r store.Range) (window, error) {
	size := int64(r.Size())
	start, stop := max(r.After, 0), max(r.After, 0)+size-1 // places in the list, from 0
	if r.Upto > 0 {
		stop = min(stop, r.Upto-1)
	}
	switch {
	case r.Last && r.Upto > 0:
		start, stop = max(start, r.Upto-size), r.Upto-1
	case r.Last:
		start, stop = -size, -1
	}
	if start >= 0 && stop < start { // Redis would take a negative end as one from behind
		return window{}, nil
	}
	w, length, err := s.slice(ctx, k, start, stop)
	if err == nil && r.Last && r.Upto > length {
		r.Upto = 0
		return s.window(ctx, k, r)
	}
	if start < 0 {
		w.first = max(length+start, 0) + 1
		if skip := r.After + 1 - w.first; skip > 0 {
			w.texts, w.first = w.texts[min(skip, int64(len(w.texts))):], r.After+1
		}
	}
	return w, err
}

// slice reads the places start to stop of the log, and its length. The log of an
// expired session is empty.
func (s *Store) slice(ctx context.Context, k sessionKeys, start, stop int64) (window, int64, error) {
	var length *redis.IntCmd
	var state *redis.SliceCmd
	var found *redis.StringSliceCmd
	err := s.atOnce(ctx, func(pipe redis.Pipeliner) {
		state = pipe.HMGet(ctx, k.state(), "expires", "seq")
		length = pipe.LLen(ctx, k.log())
		found = pipe.LRange(ctx, k.log(), start, stop)
	})
	if err != nil {
		return window{}, 0, err
	}
	fields := texts(state.Val())
	gone, err := past(fields[0], s.now())
	switch seq, n := fields[1], length.Val(); {
	case gone || err != nil:
		return window{}, 0, err
	case seq == "" && n > 0:
		return window{}, 0, incomplete(k.state())
	case seq != "" && seq != strconv.FormatInt(n, 10):
		return window{}, 0, incomplete(k.log())
	}
	return window{first: start + 1, texts: found.Val()}, length.Val(), nil
}

func (w window) entries(session string) ([]store.Entry, error) {
	out := make([]store.Entry, len(w.texts))
	for i, text := range w.texts {
		seq := w.first + int64(i)
		if err := plan.Decode(fmt.Sprintf("message %d of session %q", seq, session), text, &out[i]); err != nil {
			return nil, err
		}
		out[i].Seq = seq
	}
	return out, nil
}

// EraseMessages implements [store.Sessions]. When the answer to it was lost and it is
// repeated, it does not count what went before.
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, id string, seqs ...int64) (int, error) {
	seqs = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(seqs))), func(seq int64) bool { return seq < 1 })
	return on(ctx, s, p, id, fmt.Sprintf("erase %d messages of session %q", len(seqs), id), func() (int, error) {
		for {
			before, entries, err := s.readContent(ctx, p, id, seqs)
			if err != nil || len(entries) == 0 {
				return 0, err
			}
			answer, err := s.erased(ctx, before, entries)
			switch {
			case err != nil || answer == "ok":
				return len(entries), err
			case answer != stale:
				return 0, badAnswer(answer)
			}
		}
	})
}

// readContent reads a session, and those of the messages that have content.
func (s *Store) readContent(ctx context.Context, p backends.Partition, id string, seqs []int64) (*session, []store.Entry, error) {
	k, now := s.keys(p), s.now()
	var alive func() error
	var state stateOnServer
	found := make([]*redis.StringCmd, len(seqs))
	err := s.atOnce(ctx, func(pipe redis.Pipeliner) {
		alive = s.begunIn(ctx, p).check(ctx, pipe, k, now)
		state = readState(ctx, pipe, k.session(id))
		for i, seq := range seqs {
			found[i] = pipe.LIndex(ctx, k.session(id).log(), seq-1)
		}
	})
	if err == nil {
		err = alive()
	}
	if err != nil {
		return nil, nil, err
	}
	before, err := state.session(p, id)
	if err != nil || before == nil || plan.Expired(&before.Session, now) {
		return nil, nil, err
	}
	var out []store.Entry
	for i, seq := range seqs {
		if isNil(found[i].Err()) {
			continue
		}
		entries, err := window{first: seq, texts: []string{found[i].Val()}}.entries(id)
		if err != nil {
			return nil, nil, err
		}
		if !entries[0].Erased {
			out = append(out, entries[0])
		}
	}
	return before, out, nil
}

// erased replaces messages by what is left of them, and returns the answer of the script.
func (s *Store) erased(ctx context.Context, before *session, entries []store.Entry) (any, error) {
	p, id, now := before.Partition, before.ID, s.now()
	state, tokens := before.Session, 0
	state.Title, state.Summary, state.SummaryUpto = "", "", 0
	for i := range entries {
		tokens += entries[i].Tokens
	}
	args := &arguments{}
	args.add(id, plan.Micros(now), assignments(s.begunIn(ctx, p)), before.fields["upd"], timeText(now))
	args.json("session "+id, stateOf(&state))
	args.add(-tokens)
	for _, e := range entries {
		rest := e.Erase()
		args.add(e.Seq - 1)
		args.json("message "+e.ID, &logged{Entry: &rest})
	}
	if args.err != nil {
		return nil, args.err
	}
	return s.write(ctx, eraseMessagesScript, s.keys(p).withSession(id), args.list...)
}
