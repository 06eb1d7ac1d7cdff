// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"sync"
	"time"
)

// Waits records the waits between attempts instead of waiting.
type Waits struct {
	mu  sync.Mutex
	all []time.Duration
}

// All returns the waits so far.
func (w *Waits) All() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration(nil), w.all...)
}

func (w *Waits) wait(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, d)
	return ctx.Err()
}

// RecordWaits has the chat model record its waits.
func RecordWaits(m *ChatModel) *Waits {
	w := &Waits{}
	m.client.send.wait = w.wait
	return w
}

// InOrder is inOrder.
var InOrder = inOrder
