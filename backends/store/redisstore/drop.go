// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// dropChunk is how many sessions one script erases.
const dropChunk = 1000

// Drop implements [store.Records]. A partition of more than a thousand sessions is
// dropped in steps; its memories go with the last. When the answer to a step was
// lost and the step is repeated, the count lacks what went with it; the partition
// is gone all the same. What an Import that was killed has left ends by itself
// after a day.
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	if err := checkNames(p, ""); err != nil {
		return store.DropCount{}, err
	}
	var out store.DropCount
	err := s.do(ctx, "drop "+p.String(), func() error {
		for done := false; !done; {
			n, last, err := s.dropSome(ctx, p)
			if err != nil {
				return err
			}
			done = last
			out.Records, out.Sessions = out.Records+n.Records, out.Sessions+n.Sessions
			out.Messages, out.Blobs = out.Messages+n.Messages, out.Blobs+n.Blobs
		}
		return s.leave(ctx, p)
	})
	return out, err
}

// dropSome erases a chunk of the partition's sessions, and the rest with the last.
func (s *Store) dropSome(ctx context.Context, p backends.Partition) (n store.DropCount, last bool, err error) {
	k := s.keys(p)
	ids, err := s.client.ZRange(ctx, k.born(), 0, dropChunk-1).Result()
	if err != nil {
		return n, false, err
	}
	keys := k.all()
	args := []any{micros(s.now())}
	for _, id := range ids {
		keys = append(keys, k.session(id).all()...)
		args = append(args, id)
	}
	reply, err := s.write(ctx, dropScript, keys, args...)
	if err != nil {
		return n, false, err
	}
	answer, _ := reply.([]any)
	if len(answer) != 5 {
		return n, false, fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
	}
	for i, to := range []*int{&n.Records, &n.Sessions, &n.Messages, &n.Blobs} {
		v, err := number(answer[i+1])
		if err != nil {
			return n, false, err
		}
		*to = int(v)
	}
	return n, answer[0] == "ok", nil
}
