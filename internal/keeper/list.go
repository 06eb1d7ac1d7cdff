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
	if r == nil {
		return nil, k.noRequest()
	}
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
	from, _ := slices.BinarySearchFunc(all, after, func(m *backends.Memory, after position) int {
		return cmp.Or(positionOf(m).compare(after), -1) // the one at the cursor was on the page before
	})
	for _, m := range all[from:] {
		if !wanted(m) {
			continue
		}
		if n := len(resp.Memories); n == limit {
			resp.Next = positionOf(&resp.Memories[n-1]).cursor()
			break
		}
		resp.Memories = append(resp.Memories, m.Clone())
	}
	return resp, nil
}

// position is a memory's place in the order in which they were stored, which is
// that of recall's All.
type position struct {
	created time.Time
	id      string
}

func positionOf(m *backends.Memory) position { return position{m.Created, m.ID} }

func (p position) compare(q position) int {
	if c := p.created.Compare(q.created); c != 0 {
		return c
	}
	return strings.Compare(p.id, q.id)
}

func (p position) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.created.UTC().Format(time.RFC3339Nano) + "|" + p.id))
}

func parseCursor(s string) (position, error) {
	if s == "" {
		return position{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	created, id, ok := strings.Cut(string(raw), "|")
	t, terr := time.Parse(time.RFC3339Nano, created)
	if err != nil || terr != nil || !ok {
		return position{}, fmt.Errorf("cursor %q: %w: use the Next of the page before", s, backends.ErrInvalid)
	}
	return position{t, id}, nil
}
