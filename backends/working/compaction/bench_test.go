// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
)

// report is what a tool returns: lines of numbers and words, n bytes of them.
func report(rnd *rand.Rand, n int) string {
	var b strings.Builder
	b.Grow(n + 64)
	for line := 1; b.Len() < n; line++ {
		fmt.Fprintf(&b, "%05d ship %04x berth %d, cargo of %d tonnes\n", line, rnd.IntN(1<<16), rnd.IntN(40), rnd.IntN(9000))
	}
	return b.String()[:n]
}

// chatWithReports is a history of the size of a LoCoMo conversation, 600 messages of
// 30 to 200 bytes, with ten results of 50,000 tokens in it. No two are the same, and
// no two that different seeds make.
func chatWithReports(seed uint64) []*schema.Message {
	rnd := rand.New(rand.NewPCG(seed, 1))
	out := []*schema.Message{schema.SystemMessage("You are a helpful assistant.")}
	for i := range 300 {
		out = append(out, schema.UserMessage(report(rnd, 30+rnd.IntN(170))))
		if i%30 == 15 {
			id := fmt.Sprint("call_", i)
			out = append(out, calls(id), result(id, report(rnd, 200_000)))
		}
		out = append(out, schema.AssistantMessage(report(rnd, 30+rnd.IntN(170)), nil))
	}
	return append(out, schema.UserMessage("Which ship was it?"))
}

var locomo = budget.Budget{Window: 20_000, Answer: -1, Tools: -1, Memories: -1}

func TestFreeStepsFitAHistoryWithLargeResults(t *testing.T) {
	messages := chatWithReports(1)
	require.Greater(t, completed(t, locomo).Usage(messages).Tokens, 500_000)
	out, err := compacted(t, locomo, messages, newShelf(), compaction.Free()...)
	require.NoError(t, err)
	require.Zero(t, out.Usage)
	require.Equal(t, messages[0], out.Messages[0])
	require.Equal(t, messages[len(messages)-1], out.Messages[len(out.Messages)-1])
}

// The free steps alone, on a history with half a million tokens: in memory, and
// with the writes to SQLite (a file, synchronous=FULL).
func BenchmarkFree(b *testing.B) {
	compactor, err := compaction.New(&compaction.Config{Budget: locomo})
	require.NoError(b, err)
	for name, keep := range map[string]compaction.Archive{"memory": nowhere{}, "sqlite": onFile(b)} {
		b.Run(name, func(b *testing.B) {
			seed := uint64(0)
			for b.Loop() {
				b.StopTimer() // new content each time: what is stored already costs less
				seed++
				messages := chatWithReports(seed)
				b.StartTimer()
				out, err := compactor.Compact(b.Context(), &compaction.Request{Messages: messages, Archive: keep})
				if err != nil || out.After.Over() > 0 || out.Before.Tokens < 500_000 {
					b.Fatal(out.Before, out.After, err)
				}
			}
		})
	}
}

// A context that fits is counted, and that is all.
func BenchmarkFits(b *testing.B) {
	compactor, err := compaction.New(&compaction.Config{Budget: locomo})
	require.NoError(b, err)
	first, err := compactor.Compact(b.Context(), &compaction.Request{Messages: chatWithReports(1), Archive: nowhere{}})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compactor.Compact(b.Context(), &compaction.Request{Messages: first.Messages}); err != nil {
			b.Fatal(err)
		}
	}
}

// nowhere is an archive that costs nothing.
type nowhere struct{}

// Put implements [compaction.Archive].
func (nowhere) Put(_ context.Context, messages []*schema.Message) (string, error) {
	if len(messages) == 0 {
		return "", errors.New("nothing")
	}
	return "a-aaaaaaaaaaaaaaaaaaaa", nil
}

// onFile is an archive in a file.
func onFile(b *testing.B) *archive.Archive {
	db, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "em.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	all, err := archive.New(&archive.Config{Sessions: db})
	require.NoError(b, err)
	x, err := all.Of(backends.Scope{UserID: "ann", SessionID: "s"})
	require.NoError(b, err)
	return x
}

func completed(t testing.TB, b budget.Budget) *budget.Budget {
	b, err := b.WithDefaults()
	require.NoError(t, err)
	return &b
}

// A task of four hundred steps: archives go into archives, and all of it comes back.
func TestArchivesDoNotNestWithoutEnd(t *testing.T) {
	for name, next := range map[string]func(i int) []*schema.Message{
		"steps":  func(i int) []*schema.Message { return steps(i, 1, 60) },
		"rounds": func(i int) []*schema.Message { return rounds(i, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
			require.NoError(t, err)
			defer db.Close()
			all, err := archive.New(&archive.Config{Sessions: db})
			require.NoError(t, err)
			kept, err := all.Of(backends.Scope{UserID: "ann", SessionID: "s"})
			require.NoError(t, err)
			c, err := compaction.New(&compaction.Config{Budget: window(900), Steps: []compaction.Step{compaction.ArchiveRounds{}, compaction.ArchiveCurrent{}}})
			require.NoError(t, err)
			now := []*schema.Message{schema.SystemMessage("s"), schema.UserMessage("go")}
			whole := now
			for i := range 400 {
				now, whole = append(now, next(i)...), append(whole, next(i)...)
				out, err := c.Compact(t.Context(), &compaction.Request{Messages: now, Archive: kept})
				require.NoError(t, err)
				now = out.Messages
			}
			require.LessOrEqual(t, strings.Count(shapeOf(now), "^"), 4)
			back, err := kept.Restore(t.Context(), now)
			require.NoError(t, err)
			require.Equal(t, whole, back)
		})
	}
}
