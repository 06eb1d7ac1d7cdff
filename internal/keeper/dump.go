// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/einomem/einomem/backends"
)

// Dump writes one memory a line as JSON, in the order stored, superseded and
// expired ones and core blocks too, and returns how many. Vectors are left out;
// [Keeper.Load] makes them anew.
func (k *Keeper) Dump(ctx context.Context, p backends.Partition, w io.Writer) (int, error) {
	all, err := k.every(ctx, p, true)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i, m := range all {
		if err := enc.Encode(m); err != nil {
			return i, k.errorf("writing memory %s: %w", m.ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		return 0, k.errorf("writing the dump: %w", err)
	}
	return len(all), nil
}
