// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// List returns a page of memories in the order stored, as [backends.Manager] says.
// Core blocks are listed only where Kinds asks for them. The request's scope does
// not choose the partition: p does.
func (k *Keeper) List(ctx context.Context, p backends.Partition, r *backends.ListRequest) (*backends.ListResponse, error) {
	matches, err := r.Filter.Compile()
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	after, err := parseCursor(r.Cursor)
	if err != nil {
		return nil, k.errorf("%w", err)
	}
	all, err := k.every(ctx, p, slices.Contains(r.Kinds, backends.KindCore))
	if err != nil {
		return nil, err
	}
	now := k.clock()
	wanted := func(m *backends.Memory) bool {
		return (r.IncludeSuperseded || m.Active()) && (r.IncludeExpired || !m.Expired(now)) &&
			(len(r.Kinds) == 0 || slices.Contains(r.Kinds, m.Kind)) && matches(m)
	}
	resp := &backends.ListResponse{}
	limit := store.Page{Limit: r.Limit}.Size()
	from, found := slices.BinarySearchFunc(all, after, inOrder)
	if found { // it was on the page before
		from++
	}
	for _, m := range all[from:] {
		if !wanted(m) {
			continue
		}
		if n := len(resp.Memories); n == limit {
			resp.Next = cursor(&resp.Memories[n-1])
			break
		}
		resp.Memories = append(resp.Memories, m.Clone())
	}
	return resp, nil
}

// inOrder compares memories by the order in which they were stored, which is that of
// recall's All.
func inOrder(a, b *backends.Memory) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

func cursor(m *backends.Memory) string {
	return base64.RawURLEncoding.EncodeToString([]byte(m.Created.UTC().Format(time.RFC3339Nano) + "|" + m.ID))
}

// parseCursor returns what of a memory its cursor holds.
func parseCursor(s string) (m *backends.Memory, err error) {
	m = &backends.Memory{}
	if s == "" {
		return m, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	created, id, ok := strings.Cut(string(raw), "|")
	if err == nil && ok {
		m.ID = id
		m.Created, err = time.Parse(time.RFC3339Nano, created)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("cursor %q: %w: use the Next of the page before", s, backends.ErrInvalid)
	}
	return m, nil
}
