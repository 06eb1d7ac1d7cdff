// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// task is a context of one user's message and so many pages that were read for it.
func task(pages, size int) []*schema.Message {
	out := []*schema.Message{schema.SystemMessage("You read."), schema.UserMessage("Read everything.")}
	for n := range pages {
		out = append(out, reading(n, size)...)
	}
	return out
}

func TestWhatFitsStaysAsItIs(t *testing.T) {
	x := newWorld(t, 8000, nil)
	in := task(3, 10)
	res := x.fit(in...)
	require.Equal(t, in, res.Messages)
	for i := range in {
		require.Same(t, in[i], res.Messages[i])
	}
	require.Empty(t, res.Steps)
	require.Len(t, x.fits, 1)
	require.Same(t, res, x.fits[0])
	require.Equal(t, []backends.Scope{ann}, x.scopes)
	require.Empty(t, x.blobs(), "nothing is stored")
	x.fine()
}

func TestWhatDoesNotFitIsMadeToAndCanBeReadAgain(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			x := newWorld(t, 2000, func(c *window.Config) { c.Sessions = open(t) })
			in := task(30, 100)
			before := snapshot(in)
			res := x.fit(in...)
			require.Equal(t, before, snapshot(in), "the caller's messages are left as they are")
			require.Equal(t, "user: Read everything.", saying(res.Messages)[1])
			require.Equal(t, in[len(in)-1].ToolCallID, res.Messages[len(res.Messages)-1].ToolCallID, "the newest exchange stays")
			require.Greater(t, res.Before.Over(), 0)
			full, err := x.Restore(context.Background(), ann, res.Messages)
			require.NoError(t, err)
			require.Equal(t, plain(in), plain(full), "the exact inverse")
			require.Len(t, x.fits, 1, "OnFit hears of it once")
			x.fine()
		})
	}
}

func TestFittingTwiceChangesNothing(t *testing.T) {
	x := newWorld(t, 2000, nil)
	once := x.fit(task(30, 100)...)
	twice := x.fit(once.Messages...)
	require.Equal(t, once.Messages, twice.Messages)
	full, err := x.Restore(context.Background(), ann, twice.Messages)
	require.NoError(t, err)
	require.Equal(t, plain(task(30, 100)), plain(full))
}

// An agent's context grows by an exchange and is fitted, time and again: what
// stands in for others becomes part of what stands in for more.
func TestAContextThatGrowsAndIsFittedAgainAndAgainIsRestoredWhole(t *testing.T) {
	x := newWorld(t, 1500, nil)
	all := task(0, 0)
	now := all
	for n := range 40 {
		all = append(all, reading(n, 60)...)
		now = x.fit(append(slices.Clone(now), reading(n, 60)...)...).Messages
	}
	full, err := x.Restore(context.Background(), ann, now)
	require.NoError(t, err)
	require.Equal(t, plain(all), plain(full))
	x.fine()
}

// What was loaded is in the log, so that compaction names it and writes nothing.
func TestWhatIsInTheLogIsNotStoredASecondTime(t *testing.T) {
	x := newWorld(t, 1000, nil)
	x.talk(60, 20)
	in := append(x.history(), schema.UserMessage("and now?"))
	res := x.fit(in...)
	require.Less(t, len(res.Messages), len(in))
	require.Empty(t, x.blobs())
	full, err := x.Restore(context.Background(), ann, res.Messages)
	require.NoError(t, err)
	require.Equal(t, 121, len(full), "all that was ever said, also what History did not load")
	require.Equal(t, "user: "+prose("question", 0, 20), saying(full)[0])
}

func TestWithoutAScopeOnlyWhatIsDerivedLeaves(t *testing.T) {
	x := newWorld(t, 1000, nil)
	note := schema.UserMessage(prose("note", 1, 200))
	einox.MarkNote(note)
	in := append([]*schema.Message{schema.UserMessage("before"), note, schema.AssistantMessage("yes", nil)}, schema.UserMessage(prose("question", 1, 100)))
	res, err := x.Fit(context.Background(), backends.Scope{}, in)
	require.NoError(t, err)
	require.Equal(t, []string{"user: before", "assistant: yes", "user: " + prose("question", 1, 100)}, saying(res.Messages))

	in = append(task(30, 100), schema.AssistantMessage("read", nil), schema.UserMessage("and now?"))
	res, err = x.Fit(context.Background(), backends.Scope{}, in)
	var over *compaction.OverError
	require.ErrorAs(t, err, &over)
	require.Equal(t, res.After.Over(), over.Tokens-over.Limit)
	require.Equal(t, plain(in), plain(res.Messages), "there is nowhere to keep what would leave")
	require.NoError(t, transcript.Check(res.Messages))
	_, errs := x.told()
	require.NotEmpty(t, errs)
	require.ErrorIs(t, errors.Join(errs...), compaction.ErrNoArchive)

	for _, s := range []backends.Scope{{SessionID: "s1"}, {Workspace: "acme", SessionID: "s1"}} { // as if there was none
		res, err = x.Fit(context.Background(), s, in)
		require.ErrorIs(t, err, compaction.ErrOver, "%+v", s)
		require.Equal(t, plain(in), plain(res.Messages))
	}
	_, err = x.Fit(context.Background(), backends.Scope{UserID: "an\x00n"}, in)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// A user without a session has an archive all the same, and no session is made.
func TestAnAgentWithoutASessionHasAnArchive(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			x := newWorld(t, 2000, func(c *window.Config) { c.Sessions = open(t) })
			s := backends.Scope{UserID: "ann"}
			res, err := x.Fit(context.Background(), s, task(30, 100))
			require.NoError(t, err)
			x.valid(res.Messages)
			full, err := x.Restore(context.Background(), s, res.Messages)
			require.NoError(t, err)
			require.Equal(t, plain(task(30, 100)), plain(full))
		})
	}
}

func TestAnArchiveThatFailsLosesNothing(t *testing.T) {
	db := &broken{Sessions: sqlite(t), put: backends.ErrUnavailable}
	x := newWorld(t, 2000, func(c *window.Config) { c.Sessions = db })
	in := task(30, 100)
	res, err := x.Fit(context.Background(), ann, in)
	require.ErrorIs(t, err, compaction.ErrOver, "an error that says by how much, not a context that lost something")
	require.Equal(t, plain(in), plain(res.Messages))
	stages, errs := x.told()
	require.NotEmpty(t, stages)
	require.ErrorIs(t, errors.Join(errs...), backends.ErrUnavailable)
	for _, s := range stages {
		require.Equal(t, window.StageCompact, s)
	}
	require.Len(t, x.fits, 1)

	db.put = nil
	x.fit(in...)
}

func TestWhatNeverFitsIsAnErrorWithTheBestThereIs(t *testing.T) {
	x := newWorld(t, 500, nil)
	in := append(task(10, 100), schema.AssistantMessage("read", nil), schema.UserMessage(prose("question", 1, 600)))
	res, err := x.Fit(context.Background(), ann, in)
	var over *compaction.OverError
	require.ErrorAs(t, err, &over)
	require.Equal(t, 500, over.Limit)
	require.Equal(t, x.Usage(res.Messages).Tokens, over.Tokens)
	require.Less(t, len(res.Messages), len(in), "what could leave has left")
	require.Equal(t, in[len(in)-1], res.Messages[len(res.Messages)-1])
	require.NoError(t, transcript.Check(res.Messages))
	full, err := x.Restore(context.Background(), ann, res.Messages)
	require.NoError(t, err)
	require.Equal(t, plain(in), plain(full))
}

func TestFittingNothing(t *testing.T) {
	for _, in := range [][]*schema.Message{nil, {}, {nil}} {
		res, err := newWorld(t, 500, nil).Fit(context.Background(), ann, in)
		require.NoError(t, err)
		require.Empty(t, res.Messages)
		x, _, _ := withCore(t, 500)
		require.Equal(t, []int{0}, cores(x.fit(in...).Messages))
	}
}

func TestACancelledFitSaysSo(t *testing.T) {
	x := newWorld(t, 2000, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	res, err := x.Fit(ctx, ann, task(30, 100))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, plain(task(30, 100)), plain(res.Messages))
	_, err = x.Fit(ctx, ann, task(1, 10))
	require.NoError(t, err, "what fits needs no time")
}

// Sessions of several users at once, and one session by several goroutines.
func TestAWindowServesManyAtOnce(t *testing.T) {
	x := newWorld(t, 1500, func(c *window.Config) { c.Sessions = sqlite(t); c.Model = summariser() })
	x.talk(30, 20)
	history := x.history()
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			s := ann
			if n%2 == 1 {
				s.UserID = fmt.Sprint("user", n)
			}
			in := task(20, 50+n)
			if s == ann {
				in = append(slices.Clone(history), in[1:]...)
			}
			res, err := x.Fit(context.Background(), s, in)
			if err != nil || transcript.Check(res.Messages) != nil || x.Usage(res.Messages).Over() > 0 {
				t.Errorf("goroutine %d: %v", n, err)
				return
			}
			full, err := x.Restore(context.Background(), s, res.Messages)
			if err != nil || !slices.Equal(plain(in)[len(plain(in))-40:], plain(full)[len(plain(full))-40:]) {
				t.Errorf("goroutine %d: not restored: %v", n, err)
			}
		})
	}
	group.Wait()
	require.Len(t, x.fits, 8)
}

// blobs are the names of what the archive of ann's session holds.
func (x *world) blobs() []string {
	x.t.Helper()
	p, err := ann.Speaker()
	require.NoError(x.t, err)
	page, err := x.sessions.ListBlobs(context.Background(), p, ann.SessionID, "", store.Page{Limit: 1000})
	if errors.Is(err, backends.ErrNotFound) {
		return nil
	}
	require.NoError(x.t, err)
	var out []string
	for _, b := range page.Blobs {
		out = append(out, b.Name)
	}
	return out
}

// plain is what messages say, without memory's marks.
func plain(messages []*schema.Message) []string {
	out := make([]string, 0, len(messages))
	for _, m := range messages {
		m = einox.Unmark(m)
		out = append(out, fmt.Sprintf("%s %s %q %v %s %s %v", m.Role, m.Name, m.Content, m.ToolCalls, m.ToolCallID, m.ReasoningContent, m.UserInputMultiContent))
	}
	return out
}

// snapshot is all that messages are.
func snapshot(messages []*schema.Message) []schema.Message {
	out := make([]schema.Message, len(messages))
	for i, m := range messages {
		out[i] = *m
		out[i].ToolCalls = slices.Clone(m.ToolCalls)
	}
	return out
}
