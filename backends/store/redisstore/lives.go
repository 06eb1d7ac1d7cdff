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

// Life implements [store.Records].
func (s *Store) Life(ctx context.Context, p backends.Partition) (string, error) {
	return on(ctx, s, p, "", "life of "+p.String(), func() (string, error) {
		text, err := s.client.HGet(ctx, s.keys(p).lives(), "").Result()
		if err != nil && !isNil(err) {
			return "", err
		}
		life, err := readLife(text, s.now())
		return s.id + "." + life, err
	})
}

// Fence implements [store.Records].
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error {
	life, err := s.Life(ctx, of)
	life = strings.TrimPrefix(life, s.id+".")
	if err != nil || life == "" { // it was not dropped of late
		return err
	}
	_, err = on(ctx, s, p, "", fmt.Sprintf("fence %s for %s", p, of), func() (any, error) {
		now := s.now()
		return s.write(ctx, fenceScript, []string{s.keys(p).lives()}, lifeField(p, of), life, plan.Micros(now), plan.Micros(now.Add(store.KeepLives)))
	})
	return err
}

// lifeField is the field of T:lives of p for the life of a partition. It hides the names
// of other partitions.
func lifeField(p, of backends.Partition) string {
	if p == of {
		return ""
	}
	sum := sha256.Sum256([]byte(member(of)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// readLife returns the life that an entry of T:lives names, empty if it ended.
func readLife(text string, now time.Time) (string, error) {
	life, ends, _ := strings.Cut(text, " ")
	if life == "" {
		return "", nil
	}
	end, err := number(ends)
	if err != nil || end <= plan.Micros(now) {
		return "", err
	}
	return life, nil
}

// begun has the lives in which the operation of a context began, by their fields in
// T:lives of the partition that it writes to.
type begun map[string]string

func (s *Store) begunIn(ctx context.Context, p backends.Partition) begun {
	out := begun{}
	for of, life := range store.Lives(ctx, s.id) {
		out[lifeField(p, of)] = strings.TrimPrefix(life, s.id+".")
	}
	return out
}

// check adds a reading to a pipeline, and returns a function that looks at its result.
// The function returns ErrForgotten if one of the lives has ended.
func (b begun) check(ctx context.Context, pipe redis.Pipeliner, k keys, now time.Time) func() error {
	if len(b) == 0 {
		return func() error { return nil }
	}
	fields := slices.Collect(maps.Keys(b))
	found := pipe.HMGet(ctx, k.lives(), fields...)
	return func() error {
		for i, text := range texts(found.Val()) {
			life, err := readLife(text, now)
			if err != nil {
				return err
			}
			if life != "" && life != b[fields[i]] {
				return errForgotten
			}
		}
		return nil
	}
}

// errForgotten is returned for a write that began in an ended life. Scripts fail with the
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
