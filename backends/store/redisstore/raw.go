// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// rawRecords are records as the server holds them.
type rawRecords struct {
	inc     string // the life of the partition that they are of
	ids     []string
	texts   []any // entries of T:rec, nil where there is none
	vectors []any // entries of T:vec, nil where there is none; empty: not asked for
}

// rawRecords reads records as they are at one moment.
func (s *Store) rawRecords(ctx context.Context, p backends.Partition, ids []string, vectors bool) (rawRecords, error) {
	k := s.keys(p)
	var inc *redis.StringCmd
	var recs, vecs []*redis.SliceCmd
	err := s.atOnce(ctx, func(pipe redis.Pipeliner) error {
		inc = pipe.HGet(ctx, k.meta(), "inc")
		for some := range slices.Chunk(ids, hmgetChunk) {
			recs = append(recs, pipe.HMGet(ctx, k.records(), some...))
			if vectors {
				vecs = append(vecs, pipe.HMGet(ctx, k.vectors(), some...))
			}
		}
		return nil
	})
	if err != nil {
		return rawRecords{}, err
	}
	return rawRecords{inc: inc.Val(), ids: ids, texts: joined(recs), vectors: joined(vecs)}, nil
}

func joined(answers []*redis.SliceCmd) []any {
	if len(answers) == 1 {
		return answers[0].Val()
	}
	var out []any
	for _, a := range answers {
		out = append(out, a.Val()...)
	}
	return out
}

// keep leaves out the records whose version is not the one given any more, and
// reports whether there were any.
func (r *rawRecords) keep(versions []int64) (some bool) {
	for i, t := range r.texts {
		text, ok := t.(string)
		if ok {
			v, _, err := unstamp("record", text)
			ok = err != nil || v == versions[i] // decode reports the error
		}
		if !ok {
			r.texts[i], some = nil, true
		}
	}
	return some
}

// bytesOf returns the bytes of a string that nobody else has: go-redis makes one
// for each answer, and a copy of all vectors is a third of the time of a load.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// minDecode is how many records are worth a goroutine.
const minDecode = 64

// decode returns the records that there are. Most of the time goes into the JSON,
// which is read on all processors.
func (r *rawRecords) decode() ([]store.Record, error) {
	out := make([]store.Record, 0, len(r.texts))
	texts := make([]string, 0, len(r.texts))
	for i, t := range r.texts {
		text, ok := t.(string)
		if !ok {
			continue
		}
		var record store.Record
		if i < len(r.vectors) {
			if v, ok := r.vectors[i].(string); ok {
				record.Vector = bytesOf(v)
			}
		}
		out, texts = append(out, record), append(texts, text)
	}
	var all errgroup.Group
	left := out
	for some := range slices.Chunk(texts, max(minDecode, len(texts)/runtime.GOMAXPROCS(0)+1)) {
		into := left[:len(some)]
		left = left[len(some):]
		all.Go(func() error { return decodeMemories(some, into) })
	}
	return out, all.Wait()
}

func decodeMemories(texts []string, into []store.Record) error {
	for i, text := range texts {
		if err := readMemory(text, &into[i].Memory); err != nil {
			return fmt.Errorf("a record: %w", err)
		}
	}
	return nil
}
