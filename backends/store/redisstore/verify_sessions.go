// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends/store"
)

// sessions looks at every session that an index knows.
func (i *inspector) sessions(ctx context.Context) error {
	k := i.keys
	met := func(of []string) func(context.Context, []string) ([]*finding, error) {
		return func(ctx context.Context, ids []string) ([]*finding, error) {
			ids, err := i.unmet(ctx, of, ids)
			if err != nil {
				return nil, err
			}
			return i.lookAtSessions(ctx, ids)
		}
	}
	if err := i.eachMember(ctx, k.born(), met(nil)); err != nil {
		return err
	}
	if err := i.eachMember(ctx, k.sessions(), met([]string{k.born()})); err != nil {
		return err
	}
	if err := i.eachMember(ctx, k.pending(), met([]string{k.born(), k.sessions()})); err != nil {
		return err
	}
	return i.births(ctx)
}

// unmet leaves out the ids that an index has of which all were looked at.
func (i *inspector) unmet(ctx context.Context, of, ids []string) ([]string, error) {
	for _, index := range of {
		if len(ids) == 0 {
			return nil, nil
		}
		scores := make([]*redis.FloatCmd, len(ids))
		err := i.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for n, id := range ids {
				scores[n] = pipe.ZScore(ctx, index, id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var left []string
		for n, id := range ids {
			if scores[n].Err() != nil {
				left = append(left, id)
			}
		}
		ids = left
	}
	return ids, nil
}

// sessionLook is all of a session but its messages, read at one moment.
type sessionLook struct {
	id                 string
	keys               sessionKeys
	fields             map[string]string
	log, ids, blobs    int64
	ttl                []time.Duration // of its four keys: -1 without end, -2 no key
	sess, pend, born   any             // scores
	types              []string
	newWatermark, last int64 // what they should be
	recount            bool  // a counter of the state is to be changed
	unsure             bool  // it changed while its messages were read
}

func (i *inspector) lookAtSessions(ctx context.Context, ids []string) ([]*finding, error) {
	var out []*finding
	for _, id := range ids {
		f, err := i.lookUntilSure(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// lookUntilSure looks again at a session that changed under the look.
func (i *inspector) lookUntilSure(ctx context.Context, id string) (*finding, error) {
	for n := 1; ; n++ {
		f := &finding{id: id}
		l, err := i.lookAtSession(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := i.judgeSession(ctx, f, l); err != nil {
			return nil, err
		}
		if f.mend != nil {
			f.mend.keys = l.keys.all()
		}
		if !l.unsure || n == looks {
			return f, nil
		}
	}
}

// lookAtSession returns a look without fields if there is no state, and one with
// types alone if one of them is wrong.
func (i *inspector) lookAtSession(ctx context.Context, id string) (*sessionLook, error) {
	l := &sessionLook{id: id, keys: i.keys.session(id)}
	types := make([]*redis.StatusCmd, 4)
	err := i.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n, key := range l.keys.all() {
			types[n] = pipe.Type(ctx, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for n, want := range []string{"hash", "list", "set", "hash"} {
		if got := types[n].Val(); got != "none" && got != want {
			l.types = append(l.types, fmt.Sprintf("it is a %s, not a %s", got, want))
		}
	}
	if len(l.types) > 0 {
		return l, nil
	}
	return l, i.fill(ctx, l)
}

func (i *inspector) fill(ctx context.Context, l *sessionLook) error {
	var fields *redis.MapStringStringCmd
	var log, ids, blobs *redis.IntCmd
	ttl, scores := make([]*redis.DurationCmd, 4), make([]*redis.FloatCmd, 3)
	err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
		fields = pipe.HGetAll(ctx, l.keys.state())
		log, ids, blobs = pipe.LLen(ctx, l.keys.log()), pipe.SCard(ctx, l.keys.ids()), pipe.HLen(ctx, l.keys.blobs())
		for n, key := range l.keys.all() {
			ttl[n] = pipe.PTTL(ctx, key)
		}
		for n, index := range []string{i.keys.sessions(), i.keys.pending(), i.keys.born()} {
			scores[n] = pipe.ZScore(ctx, index, l.id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.fields, l.log, l.ids, l.blobs = fields.Val(), log.Val(), ids.Val(), blobs.Val()
	for _, d := range ttl {
		l.ttl = append(l.ttl, d.Val())
	}
	l.sess, l.pend, l.born = score(scores[0]), score(scores[1]), score(scores[2])
	return nil
}

func (i *inspector) judgeSession(ctx context.Context, f *finding, l *sessionLook) error {
	if len(l.types) > 0 {
		f.add(l.keys.stem+":*", strings.Join(l.types, ", ")+": somebody else uses the prefix: rename the key, then repair", "")
		return nil
	}
	if len(l.fields) == 0 {
		i.judgeStateless(f, l)
		return nil
	}
	st, unreadable := readSession(i.p, l.id, l.fields)
	if unreadable != nil {
		f.add(l.keys.state(), "it cannot be read: write what it was (from an export), or delete the session: "+unreadable.Error(), "")
		return nil //nolint:nilerr // the report has it
	}
	f.mend = (&mending{}).expect(l.fields["ver"], "HGET", l.keys.state(), "ver").expect(l.fields["state"], "HGET", l.keys.state(), "state")
	if st.expired(i.now()) {
		i.sweep(f, l)
		return nil
	}
	f.looked = Looked{Sessions: 1, Messages: int(l.log), Blobs: int(l.blobs)}
	if err := store.ValidateTitle(st.Title); err != nil {
		f.add(l.keys.state(), "update the session with a title that is legal: "+err.Error(), "")
	}
	i.judgeEnd(f, l, &st.Session)
	if err := i.judgeLog(ctx, f, l, &st.Session); err != nil {
		return err
	}
	i.judgeIndexes(f, l)
	if l.recount { // whoever plans an update on what was before must read again
		f.mend.do("HINCRBY", l.keys.state(), "ver", 1).do("HINCRBY", l.keys.state(), "upd", 1)
	}
	if len(f.mend.commands) == 0 {
		f.mend = nil
	}
	return nil
}

// judgeStateless is about what there is of a session without its state: blobs may
// be, and the index entries of one whose time was over.
func (i *inspector) judgeStateless(f *finding, l *sessionLook) {
	switch {
	case l.log > 0 && l.ttl[1] < 0:
		f.add(l.keys.state(), fmt.Sprintf("the state is missing of a session with %d messages: read them, delete the session, and append them again; an append without that erases them", l.log), "")
		return
	case l.log > 0: // it ends in this moment
		f.leftover = true
		return
	}
	gone := (&mending{}).expect(0, "EXISTS", l.keys.state()).expect(0, "EXISTS", l.keys.log())
	if l.sess != nil || l.pend != nil || l.ids > 0 || l.born != nil && l.blobs == 0 {
		f.leftover = true
		gone.do("DEL", l.keys.ids()).do("ZREM", i.keys.sessions(), l.id).do("ZREM", i.keys.pending(), l.id)
		if l.blobs == 0 {
			gone.expect(0, "EXISTS", l.keys.blobs()).do("ZREM", i.keys.born(), l.id)
		}
		f.mend = gone
	}
	if l.blobs == 0 {
		return
	}
	f.looked.Blobs = int(l.blobs)
	if l.born == nil {
		f.add(i.keys.born(), "the session has blobs, and is missing: a drop would leave them", "it is entered")
		f.mend = gone.expect(nil, "ZSCORE", i.keys.born(), l.id).do("ZADD", i.keys.born(), newBirth, l.id)
	}
}

// sweep removes a session whose time is over.
func (i *inspector) sweep(f *finding, l *sessionLook) {
	f.leftover = true
	f.mend.expect(l.fields["expires"], "HGET", l.keys.state(), "expires")
	for _, key := range l.keys.all() {
		f.mend.do("DEL", key)
	}
	for _, index := range []string{i.keys.sessions(), i.keys.pending(), i.keys.born()} {
		f.mend.do("ZREM", index, l.id)
	}
}

// judgeEnd is about when the session ends.
func (i *inspector) judgeEnd(f *finding, l *sessionLook, st *store.Session) {
	exp, has := l.fields["exp"]
	want := ""
	if !st.Expires.IsZero() {
		want = fmt.Sprint(micros(st.Expires))
	}
	if d := counter(exp) - counter(want); exp != want && (want == "" || !has || d < -2 || d > 2) { // both are rounded
		f.add(l.keys.state(), fmt.Sprintf("its end for scripts (exp) is %q, for readers (expires) %q", exp, l.fields["expires"]), "exp follows expires")
		if want == "" {
			f.mend.do("HDEL", l.keys.state(), "exp")
		} else {
			f.mend.do("HSET", l.keys.state(), "exp", want)
		}
	}
	for n, key := range l.keys.all() {
		switch {
		case want != "" && l.ttl[n] == -1:
			f.add(key, "it has no time to live, although the session ends: the server never removes it", "it gets one")
			f.mend.do("PEXPIRE", key, max(1, st.Expires.Sub(i.now()).Milliseconds()+1))
		case want == "" && l.ttl[n] >= 0:
			f.add(key, fmt.Sprintf("it has a time to live (%v), although the session never ends: it will be lost", l.ttl[n]), "it is made to stay")
			f.mend.do("PERSIST", key)
		}
	}
}

// judgeIndexes is about the entries of a session that exists.
func (i *inspector) judgeIndexes(f *finding, l *sessionLook) {
	k := i.keys
	if l.born == nil {
		f.add(k.born(), "the session is missing: a drop would leave it", "it is entered")
		f.mend.expect(nil, "ZSCORE", k.born(), l.id).do("ZADD", k.born(), newBirth, l.id)
	}
	var at any = lastMove
	switch {
	case l.sess != nil:
		at = l.sess
	case l.pend != nil:
		at, l.sess = l.pend, l.pend
		f.add(k.sessions(), "the session is missing: no list has it", "it is entered")
		f.mend.expect(nil, "ZSCORE", k.sessions(), l.id).do("ZADD", k.sessions(), at, l.id)
	default:
		f.add(k.sessions(), "the session is missing: no list has it", "it is entered as changed now")
		f.mend.expect(nil, "ZSCORE", k.sessions(), l.id).do("ZADD", k.sessions(), newMove, l.id)
	}
	switch pending := l.last > l.newWatermark; {
	case pending && l.pend == nil:
		f.add(k.pending(), fmt.Sprintf("the session is missing: its messages from %d to %d are never learnt from", l.newWatermark+1, l.last), "it is entered")
		f.mend.expect(nil, "ZSCORE", k.pending(), l.id).do("ZADD", k.pending(), at, l.id)
	case pending && l.sess != nil && l.pend != l.sess:
		f.add(k.pending(), fmt.Sprintf("the session last changed at %v, here at %v", l.sess, l.pend), "it follows")
		f.mend.expect(l.pend, "ZSCORE", k.pending(), l.id).do("ZADD", k.pending(), at, l.id)
	case !pending && l.pend != nil:
		f.add(k.pending(), "all messages of the session were learnt from", "the entry is removed")
		f.mend.expect(l.pend, "ZSCORE", k.pending(), l.id).do("ZREM", k.pending(), l.id)
	}
}

// births looks for sessions without a number of creation, which no listing meets,
// and for some with the same number, which a listing would meet twice.
func (i *inspector) births(ctx context.Context) error {
	return i.eachMember(ctx, i.keys.born(), func(ctx context.Context, ids []string) ([]*finding, error) {
		key := i.keys.born()
		numbers, same := make([]*redis.FloatCmd, len(ids)), make([]*redis.StringSliceCmd, len(ids))
		err := i.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for n, id := range ids {
				numbers[n] = pipe.ZScore(ctx, key, id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		err = i.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for n := range ids {
				at := scoreText(numbers[n].Val())
				same[n] = pipe.ZRangeByScore(ctx, key, &redis.ZRangeBy{Min: at, Max: at, Count: 2})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var out []*finding
		for n, id := range ids {
			if numbers[n].Err() == nil {
				out = append(out, i.judgeBirth(id, numbers[n].Val(), same[n].Val()))
			}
		}
		return out, nil
	})
}

// judgeBirth looks at a session's number, which the first two of same have.
func (i *inspector) judgeBirth(id string, number float64, same []string) *finding {
	f, key := &finding{id: id}, i.keys.born()
	mend := (&mending{}).expect(scoreText(number), "ZSCORE", key, id).do("ZADD", key, newBirth, id)
	switch {
	case number < 1 || number != math.Trunc(number):
		f.add(key, fmt.Sprintf("the session has the number %v: no list has it", number), "it gets another")
		f.mend = mend
	case len(same) == 2 && same[0] != id:
		f.add(key, fmt.Sprintf("the session has the number %v of %q too", number, same[0]), "it gets another")
		f.mend = mend.expect(scoreText(number), "ZSCORE", key, same[0])
	}
	return f
}
