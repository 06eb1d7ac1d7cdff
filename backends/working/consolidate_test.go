// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
)

func piece(id string, first int, done bool, texts ...string) *working.Turn {
	t := &working.Turn{Scope: ann, ID: id, First: first, Done: done}
	for _, text := range texts {
		t.Messages = append(t.Messages, schema.UserMessage(text))
	}
	return t
}

func TestConsolidateOffersTheNewWithALittleBefore(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Overlap = 3 })
	w.append(say("a", ann), say("b", ann))
	resp := w.consolidate(ann)
	assert.Len(t, resp.Items, 4)
	assert.True(t, resp.Checkpointed)
	assert.Empty(t, w.back.last().Context)

	w.append(say("c", ann))
	w.consolidate(ann)
	r := w.back.last()
	assert.Equal(t, []string{"c-0", "c-1"}, messageIDs(r.Messages))
	assert.Equal(t, []string{"a-1", "b-0", "b-1"}, messageIDs(r.Context))
	assert.Equal(t, "question c", r.Messages[0].Content)
	assert.Equal(t, ann, r.Scope)
	assert.Equal(t, &backends.Checkpoint{Session: "s1", Upto: 6, Token: r.Checkpoint.Token}, r.Checkpoint)
	assert.NotEmpty(t, r.IdempotencyKey)

	s := w.session(ann)
	assert.EqualValues(t, 6, s.Watermark)
	assert.Empty(t, s.Lease.Owner, "the lease is given back")
	assert.Zero(t, s.Retry)
	assert.Equal(t, &backends.AddResponse{}, w.consolidate(ann), "nothing is left")
	assert.Equal(t, working.Stats{Appended: 3, Consolidated: 2}, w.mem.Stats())
}

func TestConsolidateWithoutOverlap(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.Overlap = -1 })
	w.append(say("a", ann))
	w.consolidate(ann)
	w.append(say("b", ann))
	w.consolidate(ann)
	assert.Empty(t, w.back.last().Context)
}

func TestMemoriesInAnotherPartitionMoveTheWatermarkAfter(t *testing.T) {
	w := newWorld(t, func(w *world) { w.back.workspace = "team" })
	w.append(say("a", ann))
	assert.False(t, w.consolidate(ann).Checkpointed)
	assert.EqualValues(t, 2, w.session(ann).Watermark)
	team := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionWorkspace, ID: "team"}
	assert.Equal(t, map[string]int{"a-0": 1, "a-1": 1}, learnt(t, w.db, team))
}

func TestSessionsOfOneIDAreApart(t *testing.T) {
	w := newWorld(t)
	bob, bot, unnamed := ann, backends.Scope{AgentID: "ann", SessionID: "s1"}, backends.Scope{UserID: "ann"}
	bob.UserID = "bob"
	for i, s := range []backends.Scope{ann, bob, bot, unnamed} {
		w.append(say(fmt.Sprint("t", i), s))
	}
	for i, s := range []backends.Scope{ann, bob, bot, unnamed} {
		w.consolidate(s)
		assert.Equal(t, []string{fmt.Sprintf("t%d-0", i), fmt.Sprintf("t%d-1", i)}, messageIDs(w.back.last().Messages))
		assert.Equal(t, s, w.back.last().Scope)
	}
	_, err := w.mem.Consolidate(t.Context(), backends.Scope{})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestOnlyCompleteTurnsAreLearnt(t *testing.T) {
	w := newWorld(t)
	w.append(piece("a", 0, true, "1"), piece("open", 0, false, "2"), piece("b", 0, true, "3"))
	w.consolidate(ann)
	assert.Equal(t, [][]string{{"a-0"}}, w.back.stored(), "what follows an open turn waits, so that the order holds")

	w.clock.Advance(time.Minute)
	w.append(piece("open", 1, false, "4")) // still at it
	w.clock.Advance(119 * time.Second)
	w.consolidate(ann)
	assert.Len(t, w.back.stored(), 1)

	w.clock.Advance(time.Second)
	w.consolidate(ann)
	assert.Equal(t, []string{"open-0", "b-0", "open-1"}, w.back.stored()[1], "2 minutes after it was last heard of it counts as complete")
	w.append(piece("open", 2, true, "5"))
	w.consolidate(ann)
	assert.Equal(t, []string{"open-2"}, w.back.stored()[2], "a late end is not lost")
}

func TestOpenTurnsFromThePastAreOpenForWhoHeardOfThem(t *testing.T) {
	w := newWorld(t)
	old := piece("t", 0, false, "hi")
	old.Time = epoch.AddDate(-1, 0, 0)
	w.append(old)
	assert.Empty(t, w.consolidate(ann).Items)
	w.clock.Advance(2 * time.Minute)
	assert.Len(t, w.consolidate(ann).Items, 1)
}

func TestBatchesAreBounded(t *testing.T) {
	word := func(tokens int) string { return strings.Repeat("word", tokens-4) } // 4 for the message
	counter := compaction.Tokenizer(func(s string) int { return len(s) / 4 })
	for name, tc := range map[string]struct {
		turns []*working.Turn
		want  [][]string
	}{
		"by turns": {
			[]*working.Turn{piece("a", 0, true, "1", "2"), piece("b", 0, true, "3"), piece("c", 0, true, "4"), piece("d", 0, true, "5")},
			[][]string{{"a-0", "a-1", "b-0", "c-0"}, {"d-0"}},
		},
		"by tokens, whole turns": {
			[]*working.Turn{piece("a", 0, true, word(40)), piece("b", 0, true, word(30), word(31)), piece("c", 0, true, word(9))},
			[][]string{{"a-0"}, {"b-0", "b-1", "c-0"}},
		},
		"exactly": {
			[]*working.Turn{piece("a", 0, true, word(60)), piece("b", 0, true, word(40)), piece("c", 0, true, word(10))},
			[][]string{{"a-0", "b-0"}, {"c-0"}},
		},
		"a turn larger than a batch": {
			[]*working.Turn{piece("a", 0, true, word(60), word(30), word(60)), piece("b", 0, true, word(40))},
			[][]string{{"a-0", "a-1"}, {"a-2", "b-0"}},
		},
		"a giant message goes alone": {
			[]*working.Turn{piece("a", 0, true, word(10), word(5000), word(10)), piece("b", 0, true, word(9000))},
			[][]string{{"a-0"}, {"a-1"}, {"a-2"}, {"b-0"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.cfg.MaxTurns, w.cfg.MaxTokens, w.cfg.Tokens = 3, 100, counter
				w.back.workspace = "w"
			})
			p, _ := ann.Speaker()
			for _, turn := range tc.turns { // behind the Memory's back: nothing is due
				e := &store.Append{Scope: ann}
				for i, m := range turn.Messages {
					e.Entries = append(e.Entries, store.Entry{Done: i == len(turn.Messages)-1, Message: backends.Message{ID: fmt.Sprintf("%s-%d", turn.ID, i), Turn: turn.ID, Time: epoch, Message: m}})
				}
				_, err := w.db.Append(t.Context(), p, "s1", e)
				require.NoError(t, err)
			}
			w.consolidate(ann)
			assert.Equal(t, tc.want, w.back.stored())
		})
	}
}

func TestATurnLongerThanAReadIsLearntOnceItIsComplete(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.MaxTokens = 1 << 20 })
	texts := make([]string, 500)
	for i := range texts {
		texts[i] = "x"
	}
	w.append(piece("t", 0, false, texts...))
	w.consolidate(ann)
	assert.Empty(t, w.back.stored())
	w.append(piece("t", 500, true, "end"))
	w.consolidate(ann)
	var sizes []int
	for _, b := range w.back.stored() {
		sizes = append(sizes, len(b))
	}
	assert.Equal(t, []int{200, 200, 101}, sizes)
}

func TestATurnLongerThanAnyDoesNotStopTheLog(t *testing.T) {
	w := newWorld(t)
	texts := make([]string, 10_000)
	for i := range texts {
		texts[i] = "x"
	}
	w.append(piece("t", 0, false, texts...))
	w.consolidate(ann)
	require.Len(t, w.back.stored(), 1, "no turn has ten thousand messages: somebody forgot to end it")
	assert.Len(t, w.back.stored()[0], 200)
}

func TestConsolidationComesDue(t *testing.T) {
	big := strings.Repeat("word", 200)
	for name, tc := range map[string]struct {
		configure func(*working.Config)
		turns     []*working.Turn
	}{
		"by turns":  {func(c *working.Config) { c.MaxTurns = 2 }, []*working.Turn{say("a", ann), say("b", ann)}},
		"by tokens": {func(c *working.Config) { c.MaxTokens = 200 }, []*working.Turn{piece("a", 0, true, big)}},
		"by idling": {func(c *working.Config) { c.Idle = time.Millisecond }, []*working.Turn{say("a", ann)}},
	} {
		t.Run(name, func(t *testing.T) {
			learnt := make(chan int, 10)
			w := newWorld(t, func(w *world) {
				tc.configure(&w.cfg)
				w.back.after = func(r *backends.AddRequest) error { learnt <- len(r.Messages); return nil }
			})
			w.append(tc.turns...)
			assert.Positive(t, <-learnt)
		})
	}
}

type tenant struct{}

func TestBackgroundWorkKeepsTheValuesButNotTheCancellation(t *testing.T) {
	type seen struct {
		tenant any
		err    error
	}
	got := make(chan seen, 10)
	w := newWorld(t, func(w *world) {
		w.cfg.Idle = time.Millisecond
		w.back.before = func(ctx context.Context, _ *backends.AddRequest) error {
			got <- seen{ctx.Value(tenant{}), ctx.Err()}
			return nil
		}
	})
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), tenant{}, "acme"))
	cancel()
	require.NoError(t, w.mem.Record(ctx, say("a", ann)), "a reply that was cut off is recorded too")
	assert.Equal(t, seen{"acme", nil}, <-got)
}

func TestItemsThatFailedAreReported(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.cfg.Idle = time.Millisecond
		w.cfg.Backend = failingItems{w.back}
	})
	w.append(say("a", ann))
	err := <-w.errs
	assert.ErrorIs(t, err, errItem)
	assert.ErrorContains(t, err, "consolidate: ")
}

var errItem = errors.New("too long to embed")

type failingItems struct{ *learner }

func (f failingItems) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	resp, err := f.learner.Add(ctx, r)
	if err == nil {
		resp.Items[0] = backends.Item{Outcome: backends.OutcomeFailed, Err: errItem}
	}
	return resp, err
}
