// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// BenchmarkReplyOverhead measures a reply of a model that answers at once: what
// it costs without memory, and with it over a file that holds 1,000 memories of
// the user. The difference is what memory adds before the answer is complete. A
// turn of its own session is recorded in each reply.
func BenchmarkReplyOverhead(b *testing.B) {
	b.Run("without memory", func(b *testing.B) { benchReplies(b, nil) })
	for _, await := range []bool{false, true} {
		for _, mode := range []modes.Mode{modes.StaticControl, modes.AgentControl, modes.Both} {
			if await && mode == modes.AgentControl {
				continue // nothing is written
			}
			b.Run(fmt.Sprintf("%s/await=%t", mode, await), func(b *testing.B) {
				benchReplies(b, benchMemory(b, &middleware.Config{Mode: mode, AwaitWrite: await}))
			})
		}
	}
}

func benchMemory(b *testing.B, cfg *middleware.Config) *middleware.MemoryMiddleware {
	b.Helper()
	ctx := context.Background()
	file, err := sqlitestore.Open(ctx, filepath.Join(b.TempDir(), "memory.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, file.Close()) })
	backend := verbatim(b, file)
	var messages []backends.Message
	for i := range 1000 {
		messages = append(messages, backends.Message{Message: schema.UserMessage(fmt.Sprintf("On day %d I took train %d to Oslo and had tea with friend %d.", i, i%17, i%29))})
	}
	_, err = backend.Add(ctx, &backends.AddRequest{Scope: middleware.Scope{UserID: "ann"}, Messages: messages})
	require.NoError(b, err)
	cfg.Backend = backend
	mem, err := middleware.New(ctx, cfg)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, mem.Close(ctx)) })
	return mem
}

func benchReplies(b *testing.B, mem *middleware.MemoryMiddleware) {
	b.Helper()
	a := newAgent(b, mem, testkit.Text("By train 7."))
	i := 0
	for b.Loop() {
		i++
		a.reply(as("ann", fmt.Sprint("session ", i)), "Which train took me to Oslo?")
	}
}
