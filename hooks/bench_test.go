// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
)

// What memory adds to a reply besides the search itself: the backend answers at
// once, with five memories, and the input is a conversation of forty messages.
func BenchmarkBeforeReply(b *testing.B) {
	m := newMemory(b, nil)
	m.backend.texts = []string{tea, tea, tea, tea, tea}
	var in []*schema.Message
	for range 20 {
		in = append(in, schema.UserMessage("what do I like?"), schema.AssistantMessage("tea", nil))
	}
	in = append(in, schema.UserMessage("and now?"))
	ctx := context.Background()
	for b.Loop() {
		if m.BeforeReply(ctx, in).Note == nil {
			b.Fatal("no note")
		}
		m.backend.searches = m.backend.searches[:0]
	}
}
