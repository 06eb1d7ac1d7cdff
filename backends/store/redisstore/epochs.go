// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Epoch implements [store.Records].
func (s *Store) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	return on(ctx, s, p, "", "epoch of "+p.String(), func() (string, error) {
		text, err := s.client.HGet(ctx, s.keys(p).lives(), "").Result()
		if err != nil && !isNil(err) {
			return "", err
		}
		epoch, err := readEpoch(text, s.now())
		return s.id + "." + epoch, err
	})
}

// Fence implements [store.Records].
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error {
	epoch, err := s.Epoch(ctx, of)
	epoch = strings.TrimPrefix(epoch, s.id+".")
	if err != nil || epoch == "" { // it was not dropped of late
		return err
	}
	_, err = on(ctx, s, p, "", fmt.Sprintf("fence %s for %s", p, of), func() (any, error) {
		now := s.now()
		return s.write(ctx, fenceScript, []string{s.keys(p).lives()}, epochField(p, of), epoch, plan.Micros(now), plan.Micros(now.Add(store.KeepEpochs)))
	})
	return err
}

// epochField is the field of T:lives of p for the epoch of a partition. It hides the names
// of other partitions.
func epochField(p, of backends.Partition) string {
	if p == of {
		return ""
	}
	sum := sha256.Sum256([]byte(member(of)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// readEpoch returns the epoch that an entry of T:lives names, empty if it ended.
func readEpoch(text string, now time.Time) (string, error) {
	epoch, ends, _ := strings.Cut(text, " ")
	if epoch == "" {
		return "", nil
	}
	end, err := number(ends)
	if err != nil || end <= plan.Micros(now) {
		return "", err
	}
	return epoch, nil
}

// begun has the epochs in which the operation of a context began, by their fields in
// T:lives of the partition that it writes to.
type begun map[string]string

func (s *Store) begunIn(ctx context.Context, p backends.Partition) begun {
	out := begun{}
	for of, epoch := range store.Epochs(ctx, s.id) {
		out[epochField(p, of)] = strings.TrimPrefix(epoch, s.id+".")
	}
	return out
}

// check adds a reading to a pipeline, and returns a function that looks at its result.
// The function returns ErrForgotten if one of the epochs has ended.
func (b begun) check(ctx context.Context, pipe redis.Pipeliner, k keys, now time.Time) func() error {
	if len(b) == 0 {
		return func() error { return nil }
	}
	fields := slices.Collect(maps.Keys(b))
	found := pipe.HMGet(ctx, k.lives(), fields...)
	return func() error {
		for i, text := range texts(found.Val()) {
			epoch, err := readEpoch(text, now)
			if err != nil {
				return err
			}
			if epoch != "" && epoch != b[fields[i]] {
				return errForgotten
			}
		}
		return nil
	}
}

// errForgotten is returned for a write that began in an ended epoch. Scripts fail with the
// code FORGOTTEN then.
var errForgotten = fmt.Errorf("%w: the person whose words these are was forgotten since this call began", backends.ErrForgotten)

// Outside lists the places of erased data that are out of reach for commands to the
// server: see [backends.Receipt].
func (s *Store) Outside() []string {
	return []string{
		"Redis, append-only file: run BGREWRITEAOF on each node, which writes it anew without what was erased",
		"Redis, snapshot: run BGSAVE on each node, which overwrites the RDB file",
		"backups and copies of these files",
	}
}
