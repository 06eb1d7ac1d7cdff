// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Get implements [store.Records]. All records have the state of one moment.
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	return on(ctx, s, p, "", fmt.Sprintf("get %d records of %s", len(ids), p), func() ([]store.Record, error) {
		raw, err := s.rawRecords(ctx, p, ids)
		if err != nil {
			return nil, err
		}
		return raw.decode()
	})
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return on(ctx, s, p, "", fmt.Sprintf("history of %q", id), func() ([]backends.Event, error) {
		var text *redis.StringCmd
		k := s.keys(p)
		err := s.readRecords(ctx, p, func(pipe redis.Pipeliner) { text = pipe.HGet(ctx, k.history(), id) })
		if err != nil {
			return nil, err
		}
		var out []backends.Event
		for line := range strings.Lines(text.Val()) {
			var e backends.Event
			if e.Version, err = decodeStamped("event", line, &e); err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	})
}

// decodeStamped reads "<version> <JSON>" into v, and returns the version.
func decodeStamped(what, stamped string, v any) (int64, error) {
	version, text, err := unstamp(what, stamped)
	if err != nil {
		return 0, err
	}
	return version, plan.Decode(what, text, v)
}

// decodeMemory reads an entry of T:rec.
func decodeMemory(what, stamped string, m *backends.Memory) (err error) {
	m.Version, err = decodeStamped(what, stamped, m)
	return err
}

// rawRecords are records as the server holds them.
type rawRecords struct {
	inc     string // the partition's epoch at the reading
	texts   []any  // entries of T:rec, nil where one is missing
	vectors []any  // entries of T:vec, nil where one is missing
}

// hmgetChunk is how many fields one command asks for.
const hmgetChunk = 1000

// rawRecords reads records as they are at one moment.
func (s *Store) rawRecords(ctx context.Context, p backends.Partition, ids []string) (rawRecords, error) {
	k := s.keys(p)
	var inc *redis.StringCmd
	var records, vectors []*redis.SliceCmd
	err := s.readRecords(ctx, p, func(pipe redis.Pipeliner) {
		inc = pipe.HGet(ctx, k.meta(), "inc")
		for some := range slices.Chunk(ids, hmgetChunk) {
			records = append(records, pipe.HMGet(ctx, k.records(), some...))
			vectors = append(vectors, pipe.HMGet(ctx, k.vectors(), some...))
		}
	})
	if err != nil {
		return rawRecords{}, err
	}
	return rawRecords{inc: inc.Val(), texts: joined(records), vectors: joined(vectors)}, nil
}

func joined(answers []*redis.SliceCmd) (out []any) {
	for _, a := range answers {
		out = append(out, a.Val()...)
	}
	return out
}

// keep drops the records whose versions are newer than the given ones, and reports
// whether there were any.
func (r *rawRecords) keep(versions []int64) (stale bool) {
	for i, t := range r.texts {
		text, ok := t.(string)
		if ok {
			v, _, err := unstamp("record", text)
			ok = err != nil || v <= versions[i] // decode reports the error
		}
		if !ok {
			r.texts[i], stale = nil, true
		}
	}
	return stale
}

// bytesOf returns the bytes of a string that has only this use, since go-redis makes one
// for each answer. A copy of all vectors would take a third of the time of a load.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// decode returns the records that exist. JSON takes most of the time, so all processors
// read it.
func (r *rawRecords) decode() ([]store.Record, error) {
	out := make([]store.Record, 0, len(r.texts))
	texts := make([]string, 0, len(r.texts))
	for i, t := range r.texts {
		text, ok := t.(string)
		if !ok {
			continue
		}
		var record store.Record
		if v, ok := r.vectors[i].(string); ok {
			record.Vector = bytesOf(v)
		}
		out, texts = append(out, record), append(texts, text)
	}
	return out, plan.Each(len(texts), func(i int) error { return decodeMemory("record", texts[i], &out[i].Memory) })
}
