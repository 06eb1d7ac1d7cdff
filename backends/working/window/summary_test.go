// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/testkit"
)

// summarising is a window that summarises past rounds by m, and nothing else first.
func summarising(t testing.TB, tokens int, m model.BaseChatModel, change func(*window.Config)) *world {
	t.Helper()
	return newWorld(t, tokens, func(c *window.Config) {
		c.Model = m
		c.Steps = []compaction.Step{compaction.SummarizeRounds{Model: m}, compaction.ArchiveRounds{}}
		if change != nil {
			change(c)
		}
	})
}

func (x *world) info() *session.Info {
	x.t.Helper()
	i, err := x.Sessions().Get(context.Background(), ann)
	require.NoError(x.t, err)
	return i
}

// ask fits what the session said and a new question, as a run does.
func (x *world) ask() *compaction.Result {
	x.t.Helper()
	return x.fit(append(x.history(), schema.UserMessage("and now?"))...)
}

func TestASummaryIsKeptAndTheNextRunStartsFromIt(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			chat := summariser()
			x := summarising(t, 1000, chat, func(c *window.Config) { c.Sessions = open(t) })
			x.talk(30, 20)
			res := x.ask()
			require.NotNil(t, res.Summary)
			i := x.info()
			require.Equal(t, res.Summary.Upto, i.SummaryUpto)
			require.Equal(t, res.Summary.Text, i.Summary)
			calls := len(chat.Calls())

			h := x.history()
			require.Equal(t, "user: "+res.Summary.Text, saying(h)[0])
			require.Len(t, h, 1+60-int(i.SummaryUpto), "what is summarised is not loaded")
			x.ask()
			require.Len(t, chat.Calls(), calls, "the next run asks for no summary")
			full, err := x.Restore(context.Background(), ann, h)
			require.NoError(t, err)
			require.Len(t, full, 60)
			x.fine()
		})
	}
}

// Turns that are said while the model summarises are in the log and behind the
// summary: none is lost, none is summarised away.
func TestTurnsSaidWhileTheModelSummarisesAreKept(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			var x *world
			meanwhile := 0
			chat := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
				x.turn(fmt.Sprint("meanwhile", meanwhile), schema.UserMessage(fmt.Sprintf("said meanwhile %d", meanwhile)), schema.AssistantMessage("yes", nil))
				meanwhile++
				return summarise(ctx, in, o)
			})
			x = summarising(t, 1000, chat, func(c *window.Config) { c.Sessions = open(t) })
			x.talk(30, 20)
			res := x.ask()
			require.NotZero(t, meanwhile)
			i := x.info()
			require.Equal(t, res.Summary.Upto, i.SummaryUpto)
			require.LessOrEqual(t, i.SummaryUpto, int64(60))
			require.EqualValues(t, 60+2*meanwhile, i.Messages)
			said := strings.Join(saying(x.history()), "\n")
			for n := range meanwhile {
				require.Contains(t, said, fmt.Sprintf("said meanwhile %d", n))
			}
			x.fine()
		})
	}
}

// Several runs summarise and others append, all at once.
func TestSummariesAndTurnsOfManyAtOnce(t *testing.T) {
	x := summarising(t, 1000, summariser(), nil)
	x.talk(30, 20)
	var group sync.WaitGroup
	for n := range 6 {
		group.Go(func() {
			for k := range 4 {
				if err := x.log.Append(context.Background(), &working.Turn{Scope: ann, ID: fmt.Sprintf("g%d-%d", n, k), Done: true,
					Messages: []*schema.Message{schema.UserMessage(prose(fmt.Sprintf("g%d-%d", n, k), 0, 20)), schema.AssistantMessage("ok", nil)}}); err != nil {
					t.Error(err)
				}
				h, err := x.History(context.Background(), ann)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err = x.Fit(context.Background(), ann, append(h, schema.UserMessage("and now?"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	x.fine()
	i := x.info()
	require.EqualValues(t, 60+2*6*4, i.Messages)
	require.NotZero(t, i.SummaryUpto)
	full, err := x.Restore(context.Background(), ann, x.history())
	require.NoError(t, err)
	require.Len(t, full, int(i.Messages), "every message once")
	require.Len(t, unique(saying(full)), 30*2+6*4+1)
}

func unique(in []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range in {
		out[s] = true
	}
	return out
}

// A rival that summarised more comes first: its summary stays.
func TestASummaryThatCoversLessThanTheSessionsIsNotKept(t *testing.T) {
	var x *world
	once := sync.Once{}
	chat := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		once.Do(func() {
			ok, err := x.Sessions().CommitSummary(ctx, ann, &session.Summary{Upto: 60, Text: "The rival's."})
			require.NoError(t, err)
			require.True(t, ok)
		})
		return summarise(ctx, in, o)
	})
	x = summarising(t, 1000, chat, nil)
	x.talk(30, 20)
	x.ask()
	require.Equal(t, "The rival's.", x.info().Summary)
	require.EqualValues(t, 60, x.info().SummaryUpto)
	require.Equal(t, []string{"user: The rival's."}, saying(x.history()))
	x.fine()
}

// A rival that summarised less: the one that covers more takes its place, because
// it was made from all that the other one was.
func TestASummaryThatCoversMoreTakesTheRivalsPlace(t *testing.T) {
	var x *world
	once := sync.Once{}
	chat := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		once.Do(func() {
			_, err := x.Sessions().CommitSummary(ctx, ann, &session.Summary{Upto: 2, Text: "The rival's."})
			require.NoError(t, err)
		})
		return summarise(ctx, in, o)
	})
	x = summarising(t, 1000, chat, nil)
	x.talk(30, 20)
	res := x.ask()
	require.Equal(t, res.Summary.Text, x.info().Summary)
	require.Equal(t, res.Summary.Upto, x.info().SummaryUpto)
	full, err := x.Restore(context.Background(), ann, x.history())
	require.NoError(t, err)
	require.Len(t, full, 60)
	x.fine()
}

func TestASummaryThatFailsLeavesTheContextValidAndSmall(t *testing.T) {
	x := summarising(t, 1000, testkit.New(testkit.Fail(errors.New("the model is down"))), nil)
	x.talk(30, 20)
	res := x.ask()
	require.Nil(t, res.Summary)
	require.Zero(t, x.info().SummaryUpto)
	stages, errs := x.told()
	require.Equal(t, []string{window.StageCompact}, stages, "OnError hears of it once")
	require.ErrorContains(t, errs[0], "the model is down")
	require.ErrorIs(t, errs[0], backends.ErrUnavailable)
	full, err := x.Restore(context.Background(), ann, res.Messages)
	require.NoError(t, err)
	require.Len(t, full, 61)
}

func TestASummaryThatCannotBeKeptCostsNothingElse(t *testing.T) {
	db := &broken{Sessions: sqlite(t), update: backends.ErrUnavailable}
	x := summarising(t, 1000, summariser(), func(c *window.Config) { c.Sessions = db })
	x.talk(30, 20)
	require.NotNil(t, x.ask().Summary)
	stages, errs := x.told()
	require.Equal(t, []string{window.StageSummary}, stages)
	require.ErrorIs(t, errs[0], backends.ErrUnavailable)
	require.Zero(t, x.info().SummaryUpto)
	db.update = nil
	x.ask()
	require.NotZero(t, x.info().SummaryUpto, "the next one is kept")
}

// The turn that runs is not over: what it said so far is in no summary of the
// session, so that another run sees it as it is.
func TestAnOpenTurnIsNotSummarisedAway(t *testing.T) {
	x := summarising(t, 1000, summariser(), nil)
	x.talk(5, 20)
	require.NoError(t, x.log.Append(context.Background(), &working.Turn{Scope: ann, ID: "open", Messages: []*schema.Message{schema.UserMessage("this one waits")}}))
	for n := range 15 {
		x.turn(fmt.Sprint("later", n), schema.UserMessage(prose("later", n, 20)), schema.AssistantMessage(prose("reply", n, 20), nil))
	}
	x.ask()
	require.EqualValues(t, 10, x.info().SummaryUpto)
	require.Equal(t, "user: this one waits", saying(x.history())[1])
}

// A context that nobody loaded has no place in the log: its summary is nobody's.
func TestASummaryOfWhatIsNotInTheLogIsNotKept(t *testing.T) {
	x := summarising(t, 1000, summariser(), nil)
	x.talk(2, 5)
	var in []*schema.Message
	for n := range 30 {
		in = append(in, schema.UserMessage(prose("question", n, 20)), schema.AssistantMessage(prose("answer", n, 20), nil))
	}
	res := x.fit(append(in, schema.UserMessage("and now?"))...)
	require.Nil(t, res.Summary)
	require.Zero(t, x.info().SummaryUpto)
	full, err := x.Restore(context.Background(), ann, res.Messages)
	require.NoError(t, err)
	require.Len(t, full, 61)
	x.fine()
}

// The session is deleted while its summary is made: there is nothing to keep, and
// nothing to tell of.
func TestASessionDeletedMeanwhileStaysDeleted(t *testing.T) {
	var x *world
	chat := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		require.NoError(t, x.Sessions().Delete(ctx, ann))
		return summarise(ctx, in, o)
	})
	x = summarising(t, 1000, chat, nil)
	x.talk(30, 20)
	x.ask()
	_, err := x.Sessions().Get(context.Background(), ann)
	require.ErrorIs(t, err, backends.ErrNotFound)
	x.fine()
}
