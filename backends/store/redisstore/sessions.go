// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// session is a session as its hash holds it: fields by their names, and its messages by
// their numbers. The hash has the number of a message under "i:" and its id, too.
type session struct {
	store.Session
	upd string // changes with every update
}

// stateFields are the first fields of a session that scripts return, in this order.
var stateFields = []string{"state", "ver", "seq", "tokens", "watermark", "updated", "expires", "upd"}

// sessionState are the fields of [store.Session] that updates change, as JSON: for scripts
// it is one text.
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

// readSession reads the stateFields of a session, nil for a missing one.
func readSession(p backends.Partition, id string, values any) (*session, error) {
	v := texts(values)
	if len(v) < len(stateFields) || v[0] == "" {
		return nil, nil
	}
	what := fmt.Sprintf("session %q", id)
	out := &session{upd: v[7]}
	if err := plan.Decode(what, v[0], &out.Session); err != nil {
		return nil, err
	}
	out.Partition, out.ID = p, id
	for i, to := range []*int64{&out.Version, &out.LastSeq, &out.Tokens, &out.Watermark} {
		n, err := number(v[1+i])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", what, stateFields[1+i], err)
		}
		*to = n
	}
	var err error
	if out.Updated, err = parseTime(what, v[5]); err != nil {
		return nil, err
	}
	out.Expires, err = parseTime(what, v[6])
	return out, err
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return on(ctx, s, p, id, fmt.Sprintf("session %q", id), func() (*store.Session, error) {
		var state stateOnServer
		err := s.atOnce(ctx, func(pipe redis.Pipeliner) { state = readState(ctx, pipe, s.keys(p), id) })
		if err != nil {
			return nil, err
		}
		found, err := state.session(p, id)
		if err != nil {
			return nil, err
		}
		if found == nil || plan.Expired(&found.Session, s.now()) {
			return nil, cmp.Or(s.vanished(ctx, p), fmt.Errorf("%w: in %s", backends.ErrNotFound, p))
		}
		return &found.Session, nil
	})
}

// stateOnServer is the reading of the state of a session.
type stateOnServer struct {
	key    string
	fields *redis.SliceCmd
	kept   *redis.StringCmd
}

// readState adds the reading to a pipeline.
func readState(ctx context.Context, pipe redis.Pipeliner, k keys, id string) stateOnServer {
	st := k.session(id).state()
	return stateOnServer{st, pipe.HMGet(ctx, st, stateFields...), pipe.HGet(ctx, k.has(), id)}
}

// session returns nil for a missing session.
func (s *stateOnServer) session(p backends.Partition, id string) (*session, error) {
	out, err := readSession(p, id, s.fields.Val())
	if out == nil && err == nil && strings.Contains(s.kept.Val(), hasState) {
		err = incomplete(s.key)
	}
	return out, err
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

// maxTokens bounds the size of a message. So the sum of a session, which scripts compute,
// is exact and free of overflow.
const maxTokens = math.MaxInt32

// lifeMicros is a time to live in microseconds, rounded up: 0 is for ever.
func lifeMicros(ttl time.Duration) int64 {
	if ttl <= 0 {
		return 0
	}
	return (ttl - 1).Microseconds() + 1
}

// tryAppend runs the script. If registry entries must come first, it returns their lists.
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
	after, err := readSession(p, id, reply)
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
		w, err := s.window(ctx, p, id, r)
		if errors.Is(err, errIncomplete) { // or it was deleted and begun anew while it was read
			w, err = s.window(ctx, p, id, r)
		}
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

// readAhead is how many messages are read together with the state of their session, whose
// log may be shorter.
const readAhead = 128

// window reads a range of the log with one round trip; with a second one if it is long or
// ends at the end of the log.
func (s *Store) window(ctx context.Context, p backends.Partition, id string, r store.Range) (window, error) {
	of := s.keys(p).session(id)
	first, last, size := max(r.After, 0)+1, int64(math.MaxInt64), int64(r.Size())
	if r.Upto > 0 {
		last = r.Upto
	}
	ahead := min(first+size-1, last, first+readAhead-1)
	if r.Last {
		ahead = 0
	}
	log, err := s.readLog(ctx, p, id, first, ahead)
	if last = min(last, log.seq); r.Last {
		first = max(first, last-size+1)
	} else {
		last = min(last, first+size-1)
	}
	switch {
	case err != nil || first > last:
		return window{}, err
	case log.listed:
		texts, err := s.client.LRange(ctx, of.log(), first-1, last-1).Result()
		return window{first, texts}, err
	case last <= ahead:
		return part(of, first, log.ahead[:last-first+1])
	}
	var all []any
	for from := first; from <= last && err == nil; from += hmgetChunk {
		var some []any
		some, err = s.client.HMGet(ctx, of.state(), numbered(from, min(last, from+hmgetChunk-1))...).Result()
		all = append(all, some...)
	}
	if err != nil {
		return window{}, err
	}
	return part(of, first, all)
}

// logOnServer is the log of a session before its end.
type logOnServer struct {
	seq    int64 // how many messages it has
	listed bool  // in a list of an earlier build
	ahead  []any // the messages that were read with it
}

// readLog reads the length of a log, and its messages from first to ahead.
func (s *Store) readLog(ctx context.Context, p backends.Partition, id string, first, ahead int64) (log logOnServer, err error) {
	k, of := s.keys(p), s.keys(p).session(id)
	var state, found *redis.SliceCmd
	var listed, ids *redis.IntCmd
	var kept *redis.StringCmd
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		state, kept = pipe.HMGet(ctx, of.state(), "seq", "expires"), pipe.HGet(ctx, k.has(), id)
		listed, ids = pipe.LLen(ctx, of.log()), pipe.SCard(ctx, of.ids())
		if first <= ahead {
			found = pipe.HMGet(ctx, of.state(), numbered(first, ahead)...)
		}
	})
	if err != nil {
		return log, err
	}
	fields, n := texts(state.Val()), listed.Val()
	gone, err := past(fields[1], s.now())
	switch {
	case gone || err != nil:
		return log, err
	case fields[0] == "" && (n > 0 || strings.Contains(kept.Val(), hasState)):
		return log, incomplete(of.state())
	case fields[0] == "":
		return log, s.vanished(ctx, p)
	case n > 0 && (fields[0] != strconv.FormatInt(n, 10) || ids.Val() != n):
		return log, incomplete(of.log())
	}
	if log.listed = n > 0; found != nil {
		log.ahead = found.Val()
	}
	log.seq, err = number(fields[0])
	return log, err
}

// numbered returns the fields of messages.
func numbered(first, last int64) []string {
	out := make([]string, 0, last-first+1)
	for n := first; n <= last; n++ {
		out = append(out, strconv.FormatInt(n, 10))
	}
	return out
}

// part returns messages that were read. A missing one is an error.
func part(of sessionKeys, first int64, found []any) (window, error) {
	if slices.Contains(found, nil) {
		return window{}, incomplete(of.state())
	}
	return window{first, texts(found)}, nil
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

// EraseMessages implements [store.Sessions]. A repeat after a lost answer leaves out the
// messages that went before.
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

// readContent reads a session, and the messages that have content.
func (s *Store) readContent(ctx context.Context, p backends.Partition, id string, seqs []int64) (*session, []store.Entry, error) {
	k, now := s.keys(p), s.now()
	var alive func() error
	var state stateOnServer
	listed, hashed := make([]*redis.StringCmd, len(seqs)), make([]*redis.StringCmd, len(seqs))
	err := s.atOnce(ctx, func(pipe redis.Pipeliner) {
		alive = s.begunIn(ctx, p).check(ctx, pipe, k, now)
		state = readState(ctx, pipe, k, id)
		for i, seq := range seqs {
			listed[i] = pipe.LIndex(ctx, k.session(id).log(), seq-1)
			hashed[i] = pipe.HGet(ctx, k.session(id).state(), strconv.FormatInt(seq, 10))
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
		text := cmp.Or(listed[i].Val(), hashed[i].Val())
		if text == "" || seq > before.LastSeq {
			continue
		}
		entries, err := window{first: seq, texts: []string{text}}.entries(id)
		if err != nil {
			return nil, nil, err
		}
		if !entries[0].Erased {
			out = append(out, entries[0])
		}
	}
	return before, out, nil
}

// erased replaces messages by their rests, and returns the answer of the script.
func (s *Store) erased(ctx context.Context, before *session, entries []store.Entry) (any, error) {
	p, id, now := before.Partition, before.ID, s.now()
	state := before.Session
	rests := plan.Erase(&state, entries)
	args := &arguments{}
	args.add(id, plan.Micros(now), assignments(s.begunIn(ctx, p)), before.upd, timeText(now))
	args.json("session "+id, stateOf(&state))
	args.add(state.Tokens-before.Tokens, newNonce())
	for i := range rests {
		args.add(rests[i].Seq)
		args.json("message "+rests[i].ID, &logged{Entry: &rests[i]})
	}
	if args.err != nil {
		return nil, args.err
	}
	return s.write(ctx, eraseMessagesScript, s.keys(p).withSession(id), args.list...)
}
