// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import "context"

// Sweep runs one sweep from cursor on, as the sweeper does.
func (m *Memory) Sweep(ctx context.Context, cursor string) (string, error) {
	return m.sweep(ctx, cursor)
}
