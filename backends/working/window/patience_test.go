// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
)

// hanging is a store whose archives never answer.
type hanging struct {
	store.Sessions
	puts atomic.Int64
}

func (h *hanging) PutBlob(ctx context.Context, _ backends.Partition, _, _ string, _ []byte) error {
	h.puts.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// A store that hangs holds a context up once, however many steps would archive
// something: what it had to take is not replaced.
func TestAStoreThatHangsIsAskedOnce(t *testing.T) {
	db := &hanging{Sessions: sqlite(t)}
	x := newWorld(t, 1000, func(c *window.Config) {
		c.Sessions, c.StoreTimeout = db, time.Millisecond
		c.Steps = []compaction.Step{compaction.OffloadMessages{Over: 100}, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{}}
	})
	in := []*schema.Message{schema.UserMessage(prose("question", 0, 400)), schema.AssistantMessage("ok", nil), schema.UserMessage("and now?")}
	for calls := int64(1); calls < 4; calls++ {
		res, err := x.Fit(context.Background(), ann, in)
		require.ErrorIs(t, err, budget.ErrOver)
		require.Equal(t, saying(in), saying(res.Messages))
		require.Equal(t, calls, db.puts.Load(), "the next context asks again")
	}
	_, errs := x.told()
	require.NotEmpty(t, errs)
	for _, err := range errs {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}
