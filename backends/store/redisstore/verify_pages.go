// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	_ "embed" // the scripts are files
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

var (
	//go:embed lua/names.lua
	namesSource string
	namesScript = redis.NewScript(namesSource)
)

// inspectPage is how many things are looked at together.
const inspectPage = 200

// fields calls f with the names of a hash, in pages. A name may come twice.
func (i *inspector) fields(ctx context.Context, key string, f func([]string) error) error {
	return scan(f, func(cursor string) (next string, names []string, err error) {
		err = i.try(ctx, func() error {
			reply, err := namesScript.Run(ctx, i.client, []string{key}, cursor, inspectPage).Slice()
			if err != nil {
				return err
			}
			if len(reply) != 2 {
				return fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
			}
			next, _ = reply[0].(string)
			names = texts(reply[1])
			return nil
		})
		return next, names, err
	})
}

// members calls f with the members of a sorted set, in pages. One may come twice.
func (i *inspector) members(ctx context.Context, key string, f func([]string) error) error {
	return scan(f, func(cursor string) (string, []string, error) {
		at, _ := strconv.ParseUint(cursor, 10, 64)
		var both []string
		err := i.try(ctx, func() (err error) {
			both, at, err = i.client.ZScan(ctx, key, at, "", inspectPage).Result()
			return err
		})
		var out []string
		for n := 0; n < len(both); n += 2 {
			out = append(out, both[n])
		}
		return strconv.FormatUint(at, 10), out, err
	})
}

// scan goes through pages until the cursor is back at 0.
func scan(f func([]string) error, page func(cursor string) (string, []string, error)) error {
	for cursor := "0"; ; {
		next, names, err := page(cursor)
		if err != nil {
			return err
		}
		slices.Sort(names)
		for some := range slices.Chunk(slices.Compact(names), inspectPage) {
			if err := f(some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "0" || cursor == "" {
			return nil
		}
	}
}

// eachField settles what look finds of the fields of a hash.
func (i *inspector) eachField(ctx context.Context, key string, look func(context.Context, []string) ([]*finding, error)) error {
	return i.fields(ctx, key, func(ids []string) error { return i.settle(ctx, ids, look) })
}

// eachMember does so with the members of a sorted set.
func (i *inspector) eachMember(ctx context.Context, key string, look func(context.Context, []string) ([]*finding, error)) error {
	return i.members(ctx, key, func(ids []string) error { return i.settle(ctx, ids, look) })
}
