// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends/store"
)

// judgeLog reads the messages that a session had when it was looked at.
func (i *inspector) judgeLog(ctx context.Context, f *finding, l *sessionLook, st *store.Session) error {
	i.judgeLength(f, l, st)
	s := &logScan{inspector: i, f: f, l: l}
	if l.ids != l.log {
		s.known = map[string]struct{}{} // memory for all ids only if something is wrong
	}
	for at := int64(0); at < l.log; at += inspectPage {
		if err := s.page(ctx, at, min(at+inspectPage, l.log)-1); err != nil {
			return err
		}
	}
	if s.gone {
		return nil
	}
	if l.ids != l.log {
		if err := s.surplus(ctx); err != nil {
			return err
		}
	}
	if s.readable && s.tokens != st.Tokens && l.log > 0 || l.log == 0 && st.Tokens != 0 {
		f.add(l.keys.state(), fmt.Sprintf("it says %d tokens, its messages have %d", st.Tokens, s.tokens), "they are added up")
		f.mend.do("HSET", l.keys.state(), "tokens", s.tokens)
		l.recount = true
	}
	return nil
}

// judgeLength makes the counters follow the list. Where messages are lost, the
// watermark comes down to its end, or what comes would count as learnt from.
func (i *inspector) judgeLength(f *finding, l *sessionLook, st *store.Session) {
	l.last, l.newWatermark = l.log, min(st.Watermark, l.log)
	key := l.keys.state()
	switch {
	case st.LastSeq > l.log:
		f.add(l.keys.log(), fmt.Sprintf("it has %d messages, the session counts %d: the others are lost; import them from an export if there is one", l.log, st.LastSeq), "the session counts those that are there")
		f.mend.do("HSET", key, "seq", l.log)
		l.recount = true
	case st.LastSeq < l.log:
		f.add(key, fmt.Sprintf("it counts %d messages (seq), the log has %d", st.LastSeq, l.log), "it counts those that are there")
		f.mend.do("HSET", key, "seq", l.log)
		l.recount = true
	}
	if st.Watermark > l.log {
		f.add(key, fmt.Sprintf("it was learnt from up to message %d (watermark) of %d", st.Watermark, l.log), "up to the last")
		f.mend.do("HSET", key, "watermark", l.log)
		l.recount = true
	}
	if st.SummaryUpto > l.log {
		f.add(key, fmt.Sprintf("its summary reaches up to message %d of %d: update the session with a summary_upto that is right", st.SummaryUpto, l.log), "")
	}
}

// logScan goes through the messages of a session.
type logScan struct {
	*inspector
	f        *finding
	l        *sessionLook
	known    map[string]struct{} // the ids met; nil: not needed
	tokens   int64
	readable bool
	gone     bool // the session was deleted meanwhile
}

// page looks at the places from first to last of the log.
func (s *logScan) page(ctx context.Context, first, last int64) error {
	if first == 0 {
		s.readable = true
	}
	w, length, err := s.slice(ctx, s.l.keys, first, last)
	if err != nil {
		return err
	}
	if length <= last || int64(len(w.texts)) != last-first+1 {
		s.gone = true
		return nil
	}
	ids := make([]string, len(w.texts))
	for n, text := range w.texts {
		var e store.Entry
		if err := decode("message", text, &e); err != nil || store.ValidateID("message", e.ID) != nil || e.Message.Message == nil {
			s.readable = false
			s.f.add(s.l.keys.log(), fmt.Sprintf("message %d cannot be read: write what it was (LSET %d): %v", first+int64(n)+1, first+int64(n), err), "")
			continue
		}
		ids[n] = e.ID
		s.tokens += int64(e.Tokens)
		if s.known != nil {
			if _, twice := s.known[e.ID]; twice {
				s.f.add(s.l.keys.log(), fmt.Sprintf("message %d has the id %q of an earlier one: it is doubled", first+int64(n)+1, e.ID), "")
			}
			s.known[e.ID] = struct{}{}
		}
	}
	return s.enter(ctx, first, ids, w.texts)
}

// enter looks whether the session knows the ids of its messages.
func (s *logScan) enter(ctx context.Context, first int64, ids, texts []string) error {
	members, places := make([]*redis.BoolCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	err := s.atOnce(ctx, func(pipe redis.Pipeliner) error {
		for n, id := range ids {
			members[n] = pipe.SIsMember(ctx, s.l.keys.ids(), id)
		}
		for n := range ids {
			if n == 0 || n == len(ids)-1 { // if these stand, it is the log still
				places[n] = pipe.LIndex(ctx, s.l.keys.log(), first+int64(n))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if last := len(ids) - 1; places[0].Val() != texts[0] || places[last].Val() != texts[last] {
		s.gone = true
		return nil
	}
	for n, id := range ids {
		if id != "" && !members[n].Val() {
			s.f.add(s.l.keys.ids(), fmt.Sprintf("the id %q of message %d is missing: it could be appended again", id, first+int64(n)+1), "it is entered")
			s.f.mend.do("SADD", s.l.keys.ids(), id)
		}
	}
	return nil
}

// surplus looks for ids without a message.
func (s *logScan) surplus(ctx context.Context) error {
	if !s.readable && s.l.log > 0 { // the id may be that of a message that cannot be read
		return nil
	}
	surplus := map[string]struct{}{}
	err := scan(func(ids []string) error {
		for _, id := range ids {
			if _, ok := s.known[id]; !ok {
				surplus[id] = struct{}{}
			}
		}
		return nil
	}, func(cursor string) (string, []string, error) {
		at, _ := strconv.ParseUint(cursor, 10, 64)
		ids, next, err := s.client.SScan(ctx, s.l.keys.ids(), at, "", inspectPage).Result()
		return strconv.FormatUint(next, 10), ids, err
	})
	if err != nil {
		return err
	}
	version, err := s.client.HGet(ctx, s.l.keys.state(), "ver").Result()
	if err != nil && !isNil(err) {
		return err
	}
	if s.l.unsure = version != s.l.fields["ver"]; s.l.unsure {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(surplus)) {
		s.f.add(s.l.keys.ids(), fmt.Sprintf("there is no message with the id %q: one that comes would be dropped as known", id), "it is removed")
		s.f.mend.do("SREM", s.l.keys.ids(), id)
	}
	return nil
}
