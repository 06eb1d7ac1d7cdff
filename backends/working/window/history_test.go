// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
)

func TestHistoryIsWhatTheSessionSaid(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			x := newWorld(t, 8000, func(c *window.Config) { c.Sessions = open(t) })
			require.Empty(t, x.history(), "a session that does not exist yet")
			x.talk(3, 2)
			require.Equal(t, []string{
				"user: question0w0 question0w1", "assistant: answer0w0 answer0w1",
				"user: question1w0 question1w1", "assistant: answer1w0 answer1w1",
				"user: question2w0 question2w1", "assistant: answer2w0 answer2w1",
			}, saying(x.history()))
			for i, m := range x.history() {
				require.EqualValues(t, i+1, einox.SeqOf(m))
			}
			x.fine()
		})
	}
}

func TestNoHistoryWhereNoneIsWanted(t *testing.T) {
	ctx := context.Background()
	x := newWorld(t, 8000, func(c *window.Config) { c.NoHistory = true })
	x.talk(2, 2)
	require.Empty(t, x.history())
	res := x.fit(schema.UserMessage("hi"))
	require.Equal(t, []string{"user: hi"}, saying(res.Messages), "what is fitted is what was given")

	x = newWorld(t, 8000, nil)
	x.talk(2, 2)
	for _, s := range []backends.Scope{{}, {UserID: "ann"}, {UserID: "ann", AgentID: "bot"}, {UserID: "bob", SessionID: "s1"}, {UserID: "ann", SessionID: "s2"}, {AgentID: "bot", SessionID: "s1"}} {
		h, err := x.History(ctx, s)
		require.NoError(t, err, "%+v", s)
		require.Empty(t, h, "%+v", s)
	}
	_, err := x.History(ctx, backends.Scope{SessionID: "s1"})
	require.ErrorIs(t, err, backends.ErrNoScope, "a session of nobody")
}

func TestHistoryTokensBoundWhatIsLoaded(t *testing.T) {
	for _, c := range []struct{ turns, tokens, want int }{{20, 480, 0}, {20, 600, 0}, {1, 1, 2}, {5, 1, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			x := newWorld(t, 8000, func(w *window.Config) { w.HistoryTokens = c.tokens })
			x.talk(c.turns, 10)
			h := x.history()
			said, tokens := 0, 0
			for _, m := range h {
				if !einox.IsNote(m) {
					said++
					tokens += compaction.Estimate.Message(m)
				}
			}
			require.Equal(t, fmt.Sprintf("assistant: %s", prose("answer", c.turns-1, 10)), saying(h)[len(h)-1])
			if c.want > 0 {
				require.Equal(t, c.want, said, "the newest turn is there even if it is too large")
				return
			}
			require.LessOrEqual(t, tokens, c.tokens)
			require.Greater(t, tokens, c.tokens/2, "as much as fits")
			require.Equal(t, fmt.Sprintf("log-1-%d", 2*c.turns-said), einox.RefOf(h[0]), "what is not loaded is named")
			a, err := x.Archives().Of(ann)
			require.NoError(t, err)
			earlier, err := a.Restore(context.Background(), h[:1])
			require.NoError(t, err)
			require.Len(t, earlier, 2*c.turns-said)
		})
	}
}

// The default loads more than the window holds: what is large in it shrinks
// without a model, and is then worth more than a notice.
func TestByDefaultFourTimesTheBudgetIsLoaded(t *testing.T) {
	x := newWorld(t, 1000, nil)
	x.talk(60, 20)
	tokens := x.Usage(x.history()).Tokens
	require.Greater(t, tokens, 3000)
	require.Less(t, tokens, 4300)
	x.fit(append(x.history(), schema.UserMessage("and now?"))...)
	x.fine()
}

func TestASummaryIsLoadedInFrontOfWhatItDoesNotCover(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			x := newWorld(t, 8000, func(c *window.Config) { c.Sessions = open(t) })
			x.talk(4, 2)
			ok, err := x.Sessions().CommitSummary(ctx, ann, &session.Summary{Upto: 4, Text: "Two questions were answered."})
			require.NoError(t, err)
			require.True(t, ok)
			h := x.history()
			require.Len(t, h, 5)
			require.Equal(t, "user: Two questions were answered.", saying(h)[0])
			require.True(t, einox.IsSummary(h[0]))
			require.Equal(t, "log-1-4", einox.RefOf(h[0]))
			require.Equal(t, "user: question2w0 question2w1", saying(h)[1])
			full, err := x.Restore(ctx, ann, h)
			require.NoError(t, err)
			require.Len(t, full, 8, "all that was said")
		})
	}
}

func TestAStoreThatIsAwayIsAnErrorOfHistory(t *testing.T) {
	x := newWorld(t, 8000, func(c *window.Config) { c.Sessions = &broken{Sessions: sqlite(t), read: backends.ErrUnavailable} })
	_, err := x.History(context.Background(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "history")
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	for name, c := range map[string]*window.Config{
		"nothing":          nil,
		"no sessions":      {Budget: exactly(100)},
		"no window":        {Sessions: sqlite(t)},
		"all kept free":    {Sessions: sqlite(t), Budget: compaction.Budget{Window: 100, Answer: 100}},
		"negative history": {Sessions: sqlite(t), Budget: exactly(100), HistoryTokens: -1},
		"trigger above 1":  {Sessions: sqlite(t), Budget: exactly(100), Trigger: 2},
		"unknown language": {Sessions: sqlite(t), Budget: exactly(100), Language: "fr"},
	} {
		_, err := window.New(c)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, "context window", name)
	}
	cfg := &window.Config{Sessions: sqlite(t), Budget: compaction.Budget{Window: 8000}}
	w, err := window.New(cfg)
	require.NoError(t, err)
	require.Equal(t, &window.Config{Sessions: cfg.Sessions, Budget: compaction.Budget{Window: 8000}}, cfg, "the caller's is left as it is")
	require.Equal(t, 8000-1000-500-500, w.Budget().Limit())
	require.Nil(t, w.Core())
	require.NotNil(t, w.Sessions())
}

// broken is a store that fails where it is told to.
type broken struct {
	store.Sessions
	read, put, update error
}

func (b *broken) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	if b.read != nil {
		return nil, b.read
	}
	return b.Sessions.Read(ctx, p, id, r)
}

func (b *broken) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	if b.put != nil {
		return b.put
	}
	return b.Sessions.PutBlob(ctx, p, id, name, data)
}

func (b *broken) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if b.update != nil {
		return nil, b.update
	}
	return b.Sessions.Update(ctx, p, u)
}
