// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
)

// What stands in for messages names them so that the archive gives them back: a
// history restored is the whole log.
func TestWhatIsNotShownIsWithinReach(t *testing.T) {
	c := newClock()
	db := openSQLite(t, ":memory:", c.Now)
	archives, err := archive.New(&archive.Config{Sessions: db})
	require.NoError(t, err)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w := newWorld(t, db, c)
		w.ann.SessionID = fmt.Sprint("s", n)
		w.say(w.ann, madeUp(chance(rapid.Uint64().Draw(rt, "log")))...)
		log := w.entries(w.ann)
		if upto := rapid.IntRange(0, len(log)).Draw(rt, "summary"); upto > 0 && !log[0].Done {
			c.Advance(1 << 40)
			w.commit(w.ann, 0, int64(upto), "gist")
		}
		h := w.load(&session.LoadRequest{Scope: w.ann, Messages: rapid.IntRange(1, 50).Draw(rt, "messages")})
		x, err := archives.Of(w.ann)
		require.NoError(rt, err)
		restored, err := x.Restore(t.Context(), h.Messages)
		require.NoError(rt, err)
		found := map[int64]int{}
		for _, m := range restored {
			if seq := einox.SeqOf(m); seq > 0 {
				require.False(rt, einox.IsNote(m))
				require.Equal(rt, log[seq-1].Content, m.Content)
				found[seq]++
			}
		}
		for i := range log {
			if !saysNothing(log[i].Message.Message) {
				require.Equal(rt, 1, found[log[i].Seq], "message %d", log[i].Seq)
			}
		}
	})
}
