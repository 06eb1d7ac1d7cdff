// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

func (e *exporter) sessions(ctx context.Context) error {
	return e.ranked(ctx, e.keys.born(), func(ids []string, born []int64) error {
		for n, id := range ids {
			if err := e.session(ctx, id, born[n]); err != nil {
				return fmt.Errorf("session %q: %w", id, err)
			}
		}
		return nil
	})
}

// session writes a session, its messages and its blobs. Blobs are watched from here
// on: no other key tells that one was written.
func (e *exporter) session(ctx context.Context, id string, born int64) error {
	k := e.keys.session(id)
	if err := e.tx.Watch(ctx, k.blobs()).Err(); err != nil {
		return err
	}
	var fields *redis.MapStringStringCmd
	var log, ids *redis.IntCmd
	var names *redis.StringSliceCmd
	var moved *redis.FloatCmd
	err := e.read(ctx, func(pipe redis.Pipeliner) error {
		fields, names = pipe.HGetAll(ctx, k.state()), pipe.HKeys(ctx, k.blobs())
		log, ids = pipe.LLen(ctx, k.log()), pipe.SCard(ctx, k.ids())
		moved = pipe.ZScore(ctx, e.keys.sessions(), id)
		return nil
	})
	if err != nil {
		return err
	}
	st, err := readSession(e.p, id, fields.Val())
	if err != nil {
		return err
	}
	l := &sessionLine{ID: id, Born: born}
	switch {
	case st == nil && len(names.Val()) == 0 && log.Val() == 0, st != nil && st.expired(e.now):
		return nil // its time is over
	case st != nil && !st.Expires.IsZero() && log.Val() != st.LastSeq:
		return redis.TxFailedErr // it ends in this moment: read again
	case st == nil && log.Val() > 0, st != nil && (log.Val() != st.LastSeq || ids.Val() != st.LastSeq || moved.Err() != nil):
		return fmt.Errorf("%w: %d messages, %d ids, in the list: %t: run Repair", backends.ErrUnavailable, log.Val(), ids.Val(), moved.Err() == nil)
	case st != nil:
		l.Moved = int64(moved.Val())
		l.set(st)
	}
	if err := e.write(&line{Session: l}); err != nil {
		return err
	}
	if err := e.messages(ctx, k, l.Messages); err != nil {
		return err
	}
	return e.blobs(ctx, k, names.Val())
}

// set takes over the fields of a session's hash.
func (l *sessionLine) set(st *session) {
	f := st.fields
	l.State, l.Updates, l.Nonce, l.Updated, l.Expires, l.Exp = json.RawMessage(f["state"]), f["upd"], f["nonce"], f["updated"], f["expires"], f["exp"]
	l.Version, l.Messages, l.Tokens, l.Watermark = st.Version, st.LastSeq, st.Tokens, st.Watermark
}

func (e *exporter) messages(ctx context.Context, k sessionKeys, count int64) error {
	for at := int64(0); at < count; at += exportPage {
		texts, err := e.tx.LRange(ctx, k.log(), at, min(at+exportPage, count)-1).Result()
		if err != nil {
			return err
		}
		if int64(len(texts)) != min(at+exportPage, count)-at {
			return redis.TxFailedErr // it is gone meanwhile: read again
		}
		for n, text := range texts {
			if err := decode(fmt.Sprintf("message %d", at+int64(n)+1), text, &store.Entry{}); err != nil {
				return err
			}
			if err := e.write(&line{Message: json.RawMessage(text)}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) blobs(ctx context.Context, k sessionKeys, names []string) error {
	slices.Sort(names)
	for _, name := range names {
		data, err := e.tx.HGet(ctx, k.blobs(), name).Bytes()
		if err == nil {
			err = legalText(k.blobs(), name)
		}
		if err == nil {
			err = e.write(&line{Blob: &blobLine{Name: name, Data: data}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
