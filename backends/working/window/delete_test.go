// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
)

func TestADeletedSessionLeavesNothing(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			all := open(t)
			blocks, err := core.New(&core.Config{Records: all, Blocks: []core.Block{{Name: "task", Owner: core.OwnerSession}, {Name: "human", Initial: "Ann."}}})
			require.NoError(t, err)
			x := newWorld(t, 2000, func(c *window.Config) { c.Sessions, c.Core = all, blocks })
			x.talk(2, 2)
			res := x.fit(task(30, 100)...)
			for block, text := range map[string]string{"task": "Read everything.", "human": "Likes tea."} {
				_, err = blocks.Append(ctx, &core.Edit{Scope: ann, Block: block, Text: text})
				require.NoError(t, err)
			}
			require.NotEmpty(t, x.blobs())

			require.NoError(t, x.DeleteSession(ctx, ann))
			require.Empty(t, x.history())
			require.Empty(t, x.blobs())
			_, err = x.Restore(ctx, ann, res.Messages)
			require.ErrorIs(t, err, backends.ErrNotFound)
			shown := x.fit(schema.UserMessage("hi")).Messages[0].Content
			require.NotContains(t, shown, "Read everything.")
			require.Contains(t, shown, "Likes tea.", "the user's block is the user's")

			x.talk(1, 2)
			require.Len(t, x.history(), 2, "and it may begin again")
		})
	}
}

// What was said without a session can be erased, too.
func TestWhatWasSaidWithoutASessionIsDeleted(t *testing.T) {
	ctx := context.Background()
	all := sqlite(t)
	blocks, err := core.New(&core.Config{Records: all, Blocks: []core.Block{{Name: "task", Owner: core.OwnerSession}}})
	require.NoError(t, err)
	x := newWorld(t, 2000, func(c *window.Config) { c.Sessions, c.Core = all, blocks })
	nowhere := backends.Scope{UserID: "ann"}
	require.NoError(t, x.log.Append(ctx, &working.Turn{Scope: nowhere, ID: "t", Messages: []*schema.Message{schema.UserMessage("hi")}, Done: true}))
	_, err = x.Sessions().Get(ctx, nowhere)
	require.NoError(t, err)
	require.NoError(t, x.DeleteSession(ctx, nowhere))
	_, err = x.Sessions().Get(ctx, nowhere)
	require.ErrorIs(t, err, backends.ErrNotFound)
}
