// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// turnsIn divides a conversation into what stands in front of it and its turns.
func turnsIn(messages []*schema.Message) (head []*schema.Message, turns [][]*schema.Message) {
	for _, m := range messages {
		switch {
		case m.Role == schema.System:
			head = append(head, m)
		case m.Role == schema.User && (len(turns) == 0 || turns[len(turns)-1][len(turns[len(turns)-1])-1].Role != schema.User):
			turns = append(turns, []*schema.Message{m})
		default:
			turns[len(turns)-1] = append(turns[len(turns)-1], m)
		}
	}
	return head, turns
}

// Random conversations are said turn by turn, each in a run of its own that loads,
// fits, and goes on from what it was shown. Every context is valid, and puts back
// to every word that was ever said, in its order.
func TestWhateverIsSaidIsRestoredInItsOrder(t *testing.T) {
	seeds := 40
	if os.Getenv("EINOMEM_LONG") == "1" {
		seeds = 2000
	}
	for seed := range seeds {
		for _, summarises := range []bool{false, true} {
			t.Run(fmt.Sprint(seed, summarises), func(t *testing.T) {
				h := transcript.New(transcript.Seed(uint64(seed)), &transcript.Shape{Rounds: 8, Tokens: 800, Plain: true})
				head, turns := turnsIn(h.Messages)
				x := newWorld(t, 4000, func(c *window.Config) {
					c.HistoryTokens = 1 << 30
					if summarises {
						c.Model = summariser()
					}
				})
				said := head
				for n, turn := range turns {
					said = append(said, turn...)
					now := append(append([]*schema.Message{}, head...), x.history()...)
					for _, m := range turn {
						now = append(now, m)
						if m.Role != schema.Tool {
							now = x.fitOrOver(now)
						}
					}
					full, err := x.Restore(context.Background(), ann, now)
					require.NoError(t, err)
					require.Equal(t, ordered(said), ordered(full))
					x.turn(fmt.Sprint("turn", n), turn...)
				}
			})
		}
	}
}

// ordered is what messages say, with the results of each exchange in one order: a
// session puts them into that of the calls.
func ordered(messages []*schema.Message) []string {
	out := plain(messages)
	for i := 0; i < len(messages); {
		end := i + 1
		for messages[i].Role == schema.Tool && end < len(messages) && messages[end].Role == schema.Tool {
			end++
		}
		slices.Sort(out[i:end])
		i = end
	}
	return out
}

// fitOrOver fits what may be too large to: then the best there is is valid too. An
// assistant's calls at the end wait for their results and are left alone.
func (x *world) fitOrOver(messages []*schema.Message) []*schema.Message {
	x.t.Helper()
	if len(messages[len(messages)-1].ToolCalls) > 0 {
		return messages
	}
	res, err := x.Fit(context.Background(), ann, messages)
	if err != nil {
		require.ErrorIs(x.t, err, compaction.ErrOver)
	} else {
		require.LessOrEqual(x.t, x.Usage(res.Messages).Over(), 0)
	}
	require.NoError(x.t, transcript.Check(res.Messages))
	return res.Messages
}

func TestRestoreOfWhatNothingLeft(t *testing.T) {
	x := newWorld(t, 2000, nil)
	in := task(3, 10)
	out, err := x.Restore(context.Background(), backends.Scope{}, in)
	require.NoError(t, err, "needs no scope")
	require.Equal(t, in, out)
	out, err = x.Restore(context.Background(), ann, nil)
	require.NoError(t, err)
	require.Empty(t, out)
	out, err = x.Restore(context.Background(), ann, []*schema.Message{nil, in[1]})
	require.NoError(t, err)
	require.Len(t, out, 2)
}

// What stands in for others is of a session: nobody else's archive is reached.
func TestRestoreReachesItsOwnSessionAlone(t *testing.T) {
	x := newWorld(t, 2000, nil)
	res := x.fit(task(30, 100)...)
	for _, s := range []backends.Scope{{UserID: "bob", SessionID: "s1"}, {UserID: "ann", SessionID: "s2"}, {UserID: "ann"}} {
		_, err := x.Restore(context.Background(), s, res.Messages)
		require.ErrorIs(t, err, backends.ErrNotFound, "%+v", s)
	}
	_, err := x.Restore(context.Background(), backends.Scope{}, res.Messages)
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = x.Restore(context.Background(), ann, []*schema.Message{einox.MarkRef(schema.UserMessage("x"), "no such thing")})
	require.Error(t, err)
}
