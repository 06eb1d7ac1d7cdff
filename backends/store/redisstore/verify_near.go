// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// near compares the index that the server has of a large partition with its
// records. It is derived from them: one that differs is erased. One that cannot be
// compared, as searches move it on or as a record cannot be read, is let be.
func (i *inspector) near(ctx context.Context) error {
	n, err := i.nearDrift(ctx, i.p)
	if errors.Is(err, backends.ErrUnavailable) {
		return nil
	}
	if err != nil || n == 0 {
		return describe(i.doing, err, ctx)
	}
	p := Problem{Key: i.keys.near(), What: fmt.Sprintf("the index differs from %d records", n), Fix: "it is erased, and built anew by the next search"}
	if i.fix {
		if err := i.try(ctx, func() error { return i.dropNear(ctx, i.p) }); err != nil {
			return err
		}
		p.Fixed = true
	}
	i.out.add(p)
	return nil
}
