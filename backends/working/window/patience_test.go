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
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
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

// hangingRecords is a store whose records never answer.
type hangingRecords struct{ store.Records }

func (hangingRecords) Get(ctx context.Context, _ backends.Partition, _ ...string) ([]store.Record, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Blocks that cannot be read in time are left out, and told of.
func TestBlocksThatHang(t *testing.T) {
	all := sqlite(t)
	blocks, err := core.New(&core.Config{Records: hangingRecords{all}, Blocks: []core.Block{{Name: "human"}}})
	require.NoError(t, err)
	x := newWorld(t, 1000, func(c *window.Config) { c.Sessions, c.Core, c.StoreTimeout = all, blocks, time.Millisecond })
	require.Equal(t, []string{"user: hi"}, saying(x.fit(schema.UserMessage("hi")).Messages))
	stages, errs := x.told()
	require.Equal(t, []string{window.StageCompact}, stages)
	require.ErrorIs(t, errs[0], context.DeadlineExceeded)
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
		require.ErrorIs(t, err, compaction.ErrOver)
		require.Equal(t, saying(in), saying(res.Messages))
		require.Equal(t, calls, db.puts.Load(), "the next context asks again")
	}
	_, errs := x.told()
	require.NotEmpty(t, errs)
	for _, err := range errs {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// cutOff is a store whose archives cannot be reached so many times.
type cutOff struct {
	store.Sessions
	times atomic.Int64
}

func (c *cutOff) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	if c.times.Add(-1) >= 0 {
		return backends.ErrUnavailable
	}
	return c.Sessions.PutBlob(ctx, p, id, name, data)
}

// A connection that was cut costs a second try and not the reply; a store that is
// away is not asked for each step.
func TestAStoreThatIsCutOffIsAskedTwice(t *testing.T) {
	in := []*schema.Message{schema.UserMessage(prose("question", 0, 400)), schema.AssistantMessage("ok", nil), schema.UserMessage("and now?")}
	for _, times := range []int64{1, 2} {
		db := &cutOff{Sessions: sqlite(t)}
		db.times.Store(times)
		x := newWorld(t, 1000, func(c *window.Config) { c.Sessions = db })
		_, err := x.Fit(context.Background(), ann, in)
		if times == 1 {
			require.NoError(t, err)
			x.fine()
			continue
		}
		require.ErrorIs(t, err, compaction.ErrOver)
		require.Zero(t, db.times.Load(), "two tries, and no more")
	}
}
