// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Reset erases every user's and every agent's partition of a namespace: memories,
// history, sessions. Workspaces are left. The namespace must be named; that of
// scopes without one is [backends.DefaultNamespace].
func (b *Backend) Reset(ctx context.Context, namespace string) (store.DropCount, error) {
	var total store.DropCount
	if strings.TrimSpace(namespace) == "" {
		return total, fmt.Errorf("mem0: reset: %w: name the namespace, such as backends.DefaultNamespace", backends.ErrNoScope)
	}
	if _, err := (backends.Scope{Namespace: namespace}).Normalize(); err != nil {
		return total, fmt.Errorf("mem0: reset: %w", err)
	}
	namespace = strings.TrimSpace(namespace)
	for cursor := ""; ; {
		page, err := b.keep.Store().Partitions(ctx, namespace, store.Page{Cursor: cursor})
		if err != nil {
			return total, fmt.Errorf("mem0: reset: %w", err)
		}
		for _, p := range page.Partitions {
			if p.Kind == backends.PartitionWorkspace {
				continue
			}
			n, err := b.keep.Store().Drop(ctx, p)
			if err != nil {
				return total, fmt.Errorf("mem0: reset of %s: %w", p, err)
			}
			total.Records += n.Records
			total.Sessions += n.Sessions
			total.Messages += n.Messages
			total.Blobs += n.Blobs
		}
		if cursor = page.Next; cursor == "" {
			return total, nil
		}
	}
}
