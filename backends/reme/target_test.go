// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
)

// ReMe's layout: one workspace for everything, in which users are told apart by name.
func TestUsersOfOneWorkspaceAreToldApart(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) { c.Personal.InWorkspace = true })
	ctx, bob, lab := t.Context(), backends.Scope{UserID: "bob", Workspace: "lab"}, backends.Scope{Workspace: "lab"}
	for s, text := range map[backends.Scope]string{ann: "FACT ann lives in Hangzhou", bob: "FACT bob lives in Suzhou", lab: "FACT somebody lives in Wuxi"} {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: turn("t1", schema.UserMessage(text))})
		require.NoError(t, err)
	}
	_, err := b.Task().Summarize(ctx, &task.SummaryRequest{Scope: lab, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)

	assert.Equal(t, []string{"ann lives in Hangzhou"}, find(t, b, ann, "lives in Hangzhou Suzhou Wuxi"))
	assert.Equal(t, []string{"bob lives in Suzhou"}, find(t, b, bob, "lives in Hangzhou Suzhou Wuxi"))
	assert.Equal(t, []string{"somebody lives in Wuxi"}, find(t, b, lab, "lives in Hangzhou Suzhou Wuxi"))

	seen, err := b.List(ctx, &backends.ListRequest{Scope: bob})
	require.NoError(t, err)
	assert.Len(t, seen.Memories, 2, "his own, and what is shared")
	all, err := b.List(ctx, &backends.ListRequest{Scope: lab})
	require.NoError(t, err)
	require.Len(t, all.Memories, 4)
	for i := range all.Memories {
		m := &all.Memories[i]
		if m.Metadata["target"] != "ann" {
			continue
		}
		_, err := b.Get(ctx, &backends.GetRequest{Scope: bob, ID: m.ID})
		require.ErrorIs(t, err, backends.ErrNotFound)
		text := "mine"
		_, err = b.Update(ctx, &backends.UpdateRequest{Scope: bob, ID: m.ID, Text: &text})
		require.ErrorIs(t, err, backends.ErrNotFound)
		_, err = b.History(ctx, &backends.HistoryRequest{Scope: bob, ID: m.ID})
		require.ErrorIs(t, err, backends.ErrNotFound)
		require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: bob, ID: m.ID}), backends.ErrNotFound)
		_, err = b.Get(ctx, &backends.GetRequest{Scope: ann, ID: m.ID})
		require.NoError(t, err)
		_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: m.ID, Metadata: map[string]any{"target": "bob"}})
		require.ErrorIs(t, err, backends.ErrInvalid, "nobody puts words into what is known of others")
	}

	n, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann})
	require.NoError(t, err)
	assert.Equal(t, 1, n, "who forgets a user erases neither other users nor what is shared")
	assert.Equal(t, []string{"check the payment first"}, find(t, b, ann, "refunding an order"))
	assert.Equal(t, []string{"bob lives in Suzhou"}, find(t, b, bob, "lives in Suzhou"))
	n, err = b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: lab})
	require.NoError(t, err)
	assert.Equal(t, 3, n)
}
