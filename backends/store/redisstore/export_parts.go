// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// exportPage is how many things are read together.
const exportPage = 200

func (e *exporter) header(ctx context.Context) error {
	meta, err := e.tx.HMGet(ctx, e.keys.meta(), "inc", "ver", "space", "floor", "moved", "born").Result()
	if err != nil {
		return err
	}
	if meta[0] == nil {
		if n, err := e.tx.Exists(ctx, e.keys.all()...).Result(); err != nil || n > 0 {
			return fmt.Errorf("%w: T:meta is missing: run Repair: %w", backends.ErrUnavailable, err)
		}
		return fmt.Errorf("%w: there is no such partition", backends.ErrNotFound)
	}
	h := &headerLine{Format: exportFormat, Partition: e.p}
	text, _ := meta[2].(string)
	if h.Embedding, err = parseSpace(text); err != nil {
		return err
	}
	for n, to := range map[int]*int64{1: &h.Version, 3: &h.Floor, 4: &h.Moved, 5: &h.Born} {
		if *to = counter(meta[n]); *to < 0 {
			return fmt.Errorf("%w: T:meta: %v is no number: run Repair", backends.ErrUnavailable, meta[n])
		}
	}
	return e.write(&line{Header: h})
}

// ranked calls f with the members of a sorted set, in its order.
func (e *exporter) ranked(ctx context.Context, key string, f func([]string, []int64) error) error {
	for at := int64(0); ; at += exportPage {
		page, err := e.tx.ZRangeWithScores(ctx, key, at, at+exportPage-1).Result()
		if err != nil || len(page) == 0 {
			return err
		}
		ids, scores := make([]string, len(page)), make([]int64, len(page))
		for n, z := range page {
			ids[n], _ = z.Member.(string)
			scores[n] = int64(z.Score)
			if err := legalText(key, ids[n]); err != nil {
				return err
			}
		}
		if err := f(ids, scores); err != nil {
			return err
		}
	}
}

func (e *exporter) records(ctx context.Context) error {
	written := 0
	err := e.ranked(ctx, e.keys.changed(), func(ids []string, versions []int64) error {
		var recs, vecs, his *redis.SliceCmd
		err := e.read(ctx, func(pipe redis.Pipeliner) error {
			recs, vecs = pipe.HMGet(ctx, e.keys.records(), ids...), pipe.HMGet(ctx, e.keys.vectors(), ids...)
			his = pipe.HMGet(ctx, e.keys.history(), ids...)
			return nil
		})
		for n := 0; n < len(ids) && err == nil; n++ {
			written++
			err = e.record(ids[n], versions[n], recs.Val()[n], vecs.Val()[n], his.Val()[n])
		}
		return err
	})
	if err != nil {
		return err
	}
	return e.allOf(ctx, "records", e.keys.records(), written)
}

// allOf makes sure that an index had every field of a hash.
func (e *exporter) allOf(ctx context.Context, what, key string, written int) error {
	n, err := e.tx.HLen(ctx, key).Result()
	if err == nil && n != int64(written) {
		err = fmt.Errorf("%w: there are %d %s, the index has %d: run Repair", backends.ErrUnavailable, n, what, written)
	}
	return err
}

func (e *exporter) record(id string, changed int64, text, vector, history any) error {
	stampedText, _ := text.(string)
	version, memory, err := unstamp("record "+id, stampedText)
	if err == nil {
		err = decode("record "+id, memory, &backends.Memory{})
	}
	if err == nil && version != changed {
		err = fmt.Errorf("record %q: %w: it has two versions: run Repair", id, backends.ErrUnavailable)
	}
	if err != nil {
		return err
	}
	l := &recordLine{ID: id, Version: version, Memory: json.RawMessage(memory)}
	if v, ok := vector.(string); ok {
		l.Vector = bytesOf(v)
	}
	if l.Events, err = e.events(id, history); err != nil {
		return err
	}
	return e.write(&line{Record: l})
}

func (e *exporter) events(id string, history any) ([]eventLine, error) {
	text, _ := history.(string)
	out, err := historyEvents(text)
	if err != nil {
		return nil, fmt.Errorf("history of %q: %w", id, err)
	}
	return out, nil
}

func (e *exporter) deleted(ctx context.Context) error {
	return e.ranked(ctx, e.keys.deleted(), func(ids []string, versions []int64) error {
		his, err := e.tx.HMGet(ctx, e.keys.history(), ids...).Result()
		for n := 0; n < len(ids) && err == nil; n++ {
			l := &deletedLine{ID: ids[n], Version: versions[n]}
			if l.Events, err = e.events(ids[n], his[n]); err == nil {
				err = e.write(&line{Deleted: l})
			}
		}
		return err
	})
}

// histories writes those of records that no index tells of any more. Their ids are
// sorted, as a hash has no order that two servers share.
func (e *exporter) histories(ctx context.Context) error {
	var rest []string
	err := scan(func(ids []string) error {
		some, err := e.forgotten(ctx, ids)
		rest = append(rest, some...)
		return err
	}, func(cursor string) (string, []string, error) {
		reply, err := namesScript.Run(ctx, e.tx, []string{e.keys.history()}, cursor, exportPage).Slice()
		if err != nil || len(reply) != 2 {
			return "", nil, err
		}
		next, _ := reply[0].(string)
		return next, texts(reply[1]), nil
	})
	if err != nil {
		return err
	}
	slices.Sort(rest)
	for ids := range slices.Chunk(slices.Compact(rest), exportPage) {
		his, err := e.tx.HMGet(ctx, e.keys.history(), ids...).Result()
		if err != nil {
			return err
		}
		for n, id := range ids {
			l := &historyLine{ID: id}
			if l.Events, err = e.events(id, his[n]); err != nil {
				return err
			}
			if err := e.write(&line{History: l}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exporter) forgotten(ctx context.Context, ids []string) ([]string, error) {
	chg, del := make([]*redis.FloatCmd, len(ids)), make([]*redis.FloatCmd, len(ids))
	err := e.read(ctx, func(pipe redis.Pipeliner) error {
		for n, id := range ids {
			chg[n], del[n] = pipe.ZScore(ctx, e.keys.changed(), id), pipe.ZScore(ctx, e.keys.deleted(), id)
		}
		return nil
	})
	var out []string
	for n, id := range ids {
		if err == nil && chg[n].Err() != nil && del[n].Err() != nil {
			out = append(out, id)
			err = legalText(e.keys.history(), id)
		}
	}
	return out, err
}

func (e *exporter) known(ctx context.Context) error {
	written := 0
	err := e.ranked(ctx, e.keys.knownAt(), func(fields []string, until []int64) error {
		texts, err := e.tx.HMGet(ctx, e.keys.known(), fields...).Result()
		for n := 0; n < len(fields) && err == nil; n++ {
			written++
			text, _ := texts[n].(string)
			l := &keyLine{Field: fields[n], Until: time.UnixMicro(until[n]).UTC()}
			if l.Version, l.Nonce, _, err = readKnown(text); err != nil {
				return fmt.Errorf("idempotency key %q: %w", fields[n], err)
			}
			l.Results = json.RawMessage(text[len(stampedText(l.Version, []byte(l.Nonce)))+1:])
			err = e.write(&line{Key: l})
		}
		return err
	})
	if err != nil {
		return err
	}
	return e.allOf(ctx, "idempotency keys", e.keys.known(), written)
}
