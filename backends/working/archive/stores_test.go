// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/testredis"
)

// onEachStore runs a test on every store there is.
func onEachStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newWorld(t)) })
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		st, err := redisstore.New(context.Background(), open(t), &redisstore.Config{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, st.Close()) })
		test(t, worldOn(t, store.Sessions(st)))
	})
}

func TestOnEveryStore(t *testing.T) {
	onEachStore(t, func(t *testing.T, w *world) {
		x := w.of(ann)
		var turn []*schema.Message
		for i := range 250 { // more than a page
			turn = append(turn, schema.UserMessage(fmt.Sprintf("message %03d", i+1)))
		}
		w.log(ann, turn...)
		var ids []string
		for i := range 130 { // more than a page, too
			ids = append(ids, w.put(ann, schema.ToolMessage(fmt.Sprint("result ", i, " 茶\x00 ", strings.Repeat("x", 5000)), "c")))
		}
		w.put(backends.Scope{UserID: "bob", SessionID: ann.SessionID}, schema.UserMessage("result of bob"))

		log, err := x.Messages(t.Context(), "log-1-9007199254740992")
		require.NoError(t, err)
		require.Len(t, log, 250)
		ref, err := x.Put(t.Context(), log)
		require.NoError(t, err)
		require.Equal(t, "log-1-250", ref)
		restored, err := x.Restore(t.Context(), []*schema.Message{standIn("log-1-100"), standIn("log-101-250"), standIn(ids[7])})
		require.NoError(t, err)
		require.Equal(t, log, restored[:250])
		require.Equal(t, schema.ToolMessage("result 7 茶\x00 "+strings.Repeat("x", 5000), "c"), restored[250])

		found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "of bob"})
		require.NoError(t, err)
		require.Empty(t, found.Matches)
		require.Equal(t, 380, found.Searched)
		for _, i := range []int{0, 99, 100, 129} {
			found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: fmt.Sprint("RESULT ", i, " ")})
			require.NoError(t, err)
			require.Len(t, found.Matches, 1)
			require.Equal(t, ids[i], found.Matches[0].Ref)
		}
		require.Equal(t, []string{"log-249 1 0 message 249"}, grep(t, x, "message 249"))
		page, err := x.Read(t.Context(), &archive.ReadRequest{Ref: "log-100-102", Line: 3, Lines: 2})
		require.NoError(t, err)
		require.Contains(t, page.Text, "message 101\n")
		require.Equal(t, 6, page.TotalLines)
		_, err = x.Messages(t.Context(), "log-251")
		require.ErrorIs(t, err, backends.ErrNotFound)
		_, err = x.Messages(t.Context(), "a-aaaaaaaaaaaaaaaaaaaa")
		require.ErrorIs(t, err, backends.ErrNotFound)
	})
}
