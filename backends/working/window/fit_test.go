// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

// task is a context of one user's message and so many pages that were read for it.
func task(pages, tokens int) []*schema.Message {
	out := []*schema.Message{schema.SystemMessage("You read."), schema.UserMessage("Read everything.")}
	for n := range pages {
		out = append(out, testkit.PageRead(n, tokens/4)...)
	}
	return out
}

// fit fits messages, which must work without a failure. A provider takes the result, and it
// is within the budget.
func (x *fixture) fit(messages ...*schema.Message) *compaction.Result {
	res, err := x.Fit(context.Background(), ann, messages)
	require.NoError(x.t, err)
	require.NoError(x.t, transcript.Check(res.Messages))
	require.LessOrEqual(x.t, x.Usage(res.Messages).Over(), 0)
	require.Empty(x.t, x.errs)
	return res
}

func summarise(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "k", Type: "function", Function: schema.FunctionCall{
		Name: "keep_summary", Arguments: `{"goal":"answer question0w0","directives":[],"facts":["answer0w0 answer0w1"],"failed":[],"open":[],"next":[]}`,
	}}}), nil
}

func TestWhatFitsStaysAsItIs(t *testing.T) {
	x := newFixture(t, 8000)
	in := task(3, 10)
	res := x.fit(in...)
	for i := range in {
		require.Same(t, in[i], res.Messages[i])
	}
	require.Equal(t, []*compaction.Result{res}, x.fits, "OnFit gets it once")
	require.NotContains(t, x.db.Calls(), "PutBlob", "nothing is stored")
	for _, in := range [][]*schema.Message{nil, {}, {nil}} {
		res, err := x.Fit(t.Context(), ann, in)
		require.NoError(t, err)
		require.Empty(t, res.Messages)
	}
}

func TestWhatDoesNotFitCanBeRestored(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		in := task(100, 100)
		before := plain(in)
		for _, s := range []backends.Scope{ann, {UserID: "ann"}} { // an agent without a session has an archive all the same
			res, err := x.Fit(t.Context(), s, in)
			require.NoError(t, err)
			require.Equal(t, before, plain(in), "the caller's messages are left as they are")
			require.Equal(t, "user: Read everything.", plain(res.Messages)[1])
			require.Equal(t, in[len(in)-1].ToolCallID, res.Messages[len(res.Messages)-1].ToolCallID, "the newest exchange stays")
			require.Greater(t, res.Before.Over(), 0)
			full, err := x.Restore(t.Context(), s, res.Messages)
			require.NoError(t, err)
			require.Equal(t, before, plain(full))
			again, err := x.Fit(t.Context(), s, res.Messages)
			require.NoError(t, err)
			require.Equal(t, res.Messages, again.Messages, "fitting twice changes nothing")
		}
		require.Empty(t, x.errs)
	})
}

func TestWithoutAScopeOnlyWhatIsDerivedLeaves(t *testing.T) {
	x := newFixture(t, 1000)
	note := schema.UserMessage(prose("note", 1, 600))
	note = einox.Mark{Kind: einox.Note}.On(note)
	question := schema.UserMessage(prose("question", 1, 100))
	res, err := x.Fit(t.Context(), backends.Scope{}, []*schema.Message{schema.UserMessage("before"), note, schema.AssistantMessage("yes", nil), question})
	require.NoError(t, err)
	require.Equal(t, []string{"user: before", "assistant: yes", "user: " + question.Content}, plain(res.Messages))

	in := append(task(30, 100), testkit.Turn("and?", "read")...)
	for _, s := range []backends.Scope{{}, {SessionID: "s1"}, {Workspace: "acme", SessionID: "s1"}} {
		res, err = x.Fit(t.Context(), s, in)
		var over *compaction.OverError
		require.ErrorAs(t, err, &over, "%+v", s)
		require.Equal(t, res.After.Over(), over.Tokens-over.Limit)
		require.Equal(t, plain(in), plain(res.Messages), "there is nowhere to keep what would leave")
	}
	require.ErrorContains(t, errors.Join(x.errs...), "no archive")
	_, err = x.Fit(t.Context(), backends.Scope{UserID: "an\x00n"}, in)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestWhatNeverFitsIsAnErrorWithTheBestThereIs(t *testing.T) {
	x := newFixture(t, 500)
	in := append([]*schema.Message{schema.SystemMessage(prose("rule", 1, 600))}, task(10, 100)...)
	in = append(in, schema.AssistantMessage("read", nil), schema.UserMessage("and now?"))
	res, err := x.Fit(t.Context(), ann, in)
	var over *compaction.OverError
	require.ErrorAs(t, err, &over)
	require.Equal(t, compaction.OverError{Tokens: x.Usage(res.Messages).Tokens, Limit: 500}, *over)
	require.Less(t, len(res.Messages), len(in), "what could leave has left")
	require.Equal(t, in[len(in)-1], res.Messages[len(res.Messages)-1])
	require.Equal(t, plain(in), plain(x.restore(res.Messages)))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err = x.Fit(ctx, ann, in)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, plain(in), plain(res.Messages))
}

// A store that fails, or is too slow, delays a context once, however many steps would archive
// something: what could not be stored is not replaced. A connection that was cut once costs
// a second try.
func TestAnArchiveThatFailsLosesNothing(t *testing.T) {
	in := []*schema.Message{schema.UserMessage(prose("question", 0, 400)), schema.AssistantMessage("ok", nil), schema.UserMessage("and now?")}
	for _, tc := range []struct {
		name  string
		fails error
		times int // so many calls fail
		calls int // of PutBlob, in one context
		want  error
	}{
		{"unavailable", backends.ErrUnavailable, 9, 2, backends.ErrUnavailable},
		{"too slow", context.DeadlineExceeded, 9, 1, context.DeadlineExceeded},
		{"cut once", backends.ErrUnavailable, 1, 2, nil},
	} {
		x := newFixture(t, 1000, func(c *window.Config) {
			c.Steps = []compaction.Step{compaction.OffloadMessages{Over: 100}, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{}}
		})
		calls := 0
		x.db.Arm(func(c *testkit.StoreCall) error {
			if c.Method != "PutBlob" {
				return nil
			}
			if calls++; calls > tc.times {
				return nil
			}
			return tc.fails
		})
		res, err := x.Fit(t.Context(), ann, in)
		require.Equal(t, tc.calls, calls, tc.name)
		if tc.want == nil {
			require.NoError(t, err)
			require.Empty(t, x.errs)
			continue
		}
		require.ErrorAs(t, err, new(*compaction.OverError), tc.name)
		require.Equal(t, plain(in), plain(res.Messages))
		require.Contains(t, x.stages, window.StageCompact)
		require.ErrorIs(t, errors.Join(x.errs...), tc.want, tc.name)
		x.db.Arm(nil)
		_, err = x.Fit(t.Context(), ann, in)
		require.NoError(t, err, "the next context asks again")
	}
}

// hanging is a store whose archives never answer.
type hanging struct{ store.Sessions }

func (hanging) PutBlob(ctx context.Context, _ backends.Partition, _, _ string, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestAStoreThatHangsDelaysAContextForATime(t *testing.T) {
	var cfg *window.Config
	x := newFixture(t, 1000, func(c *window.Config) { c.Sessions, cfg = hanging{c.Sessions}, c })
	w, err := cfg.OpenWindow(&store.Common{Timeout: time.Millisecond})
	require.NoError(t, err)
	_, err = w.(*window.Window).Fit(t.Context(), ann, task(10, 200))
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.ErrorIs(t, errors.Join(x.errs...), context.DeadlineExceeded)
}

// Functions of the configuration that panic cost neither the process nor a context that fits.
func TestAFunctionOfTheConfigurationThatPanics(t *testing.T) {
	x := newFixture(t, 8000, func(c *window.Config) {
		c.OnFit = func(context.Context, backends.Scope, *compaction.Result) { panic("OnFit") }
		c.OnError = func(context.Context, string, error) { panic("OnError") }
	})
	x.fit(task(1, 1)...)

	x = newFixture(t, 1000, func(c *window.Config) { c.Redact = func(string) string { panic("Redact") } })
	res, err := x.Fit(t.Context(), ann, task(10, 200))
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Equal(t, plain(task(10, 200)), plain(res.Messages), "what was not stored is not replaced")
	require.ErrorContains(t, errors.Join(x.errs...), "panic: Redact")

	x = summarising(t, summarise, func(c *window.Config) { c.Redact = func(string) string { panic("Redact") } })
	x.talk(30, 20)
	res, err = x.Fit(t.Context(), ann, append(x.history(), schema.UserMessage("and now?")))
	require.NoError(t, err)
	require.NotNil(t, res.Summary)
	require.Equal(t, []string{window.StageSummary}, x.stages)
}

// Core blocks stand behind the system prompt, once, as they are now and for whom the context is.
func TestCoreBlocks(t *testing.T) {
	x := newFixture(t, 1500)
	blocks, err := core.New(&core.Config{Records: x.db, Blocks: []core.Block{{Name: "human", Initial: "Ann."}}})
	require.NoError(t, err)
	x = newFixtureOn(t, x.db, x.clock, 1500, func(c *window.Config) { c.Core = blocks })
	at := func(messages []*schema.Message) (at []int) {
		for i, m := range messages {
			if einox.MarkOf(m).Kind == einox.Core {
				at = append(at, i)
			}
		}
		return at
	}
	require.Equal(t, []int{0}, at(x.fit(schema.UserMessage("hi")).Messages))
	first := x.fit(schema.SystemMessage("a"), schema.SystemMessage("b"), schema.UserMessage("hi")).Messages
	require.Equal(t, []int{2}, at(first))
	require.Equal(t, first, x.fit(first...).Messages)

	_, err = blocks.Append(t.Context(), &core.Edit{Scope: ann, Block: "human", Text: "Likes tea."})
	require.NoError(t, err)
	second := x.fit(append(slices.Clone(first), first[2], schema.AssistantMessage("noted", nil), schema.UserMessage("and now?"))...).Messages
	require.Equal(t, []int{2}, at(second), "a copy that a caller left behind is dropped")
	require.Contains(t, second[2].Content, "Likes tea.")
	require.NotContains(t, first[2].Content, "Likes tea.", "what was shown before is not changed")

	messages := task(0, 0)
	for n := range 20 {
		messages = x.fit(append(messages, testkit.PageRead(n, 75)...)...).Messages
		require.Equal(t, []int{1}, at(messages), "they stay when the context shrinks")
	}
	require.Equal(t, []int{1}, at(x.restore(messages)), "no archive has a copy")

	for s, want := range map[backends.Scope][]int{{UserID: "bob"}: {2}, {Workspace: "acme"}: nil} {
		res, err := x.Fit(t.Context(), s, second)
		require.NoError(t, err)
		require.Equal(t, want, at(res.Messages))
		require.NotContains(t, strings.Join(plain(res.Messages), "\n"), "Likes tea.", "another user's")
	}
	res, err := x.Fit(t.Context(), backends.Scope{}, []*schema.Message{schema.UserMessage("hi")})
	require.NoError(t, err)
	require.Len(t, res.Messages, 1)

	x.db.FailOn(backends.ErrUnavailable, "Get")
	for _, in := range [][]*schema.Message{second, {schema.UserMessage("hi")}} {
		res, err = x.Fit(t.Context(), ann, in)
		require.NoError(t, err)
		require.Equal(t, in, res.Messages, "as it was, or left out")
	}
	require.Equal(t, []string{window.StageCompact, window.StageCompact}, x.stages)
	require.ErrorContains(t, x.errs[0], "core blocks")
	require.ErrorIs(t, x.errs[0], backends.ErrUnavailable)
}

// summarising is a window of 1000 tokens that summarises past rounds by a model.
func summarising(t testing.TB, reply testkit.Reply, change ...func(*window.Config)) *fixture {
	return newFixture(t, 1000, append(change, func(c *window.Config) {
		c.Steps = []compaction.Step{compaction.SummarizeRounds{Model: testkit.New(reply)}, compaction.ArchiveRounds{}}
	})...)
}

// The next run starts from a summary. Turns that are appended while the model summarises are
// behind it: none is lost, none is summarised away.
func TestASummaryIsKeptWithTheSession(t *testing.T) {
	var x *fixture
	calls := 0
	x = summarising(t, func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		if calls++; calls == 1 {
			x.turn("meanwhile", testkit.Turn("said meanwhile", "yes")...)
		}
		return summarise(ctx, in, o)
	}, func(c *window.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "Goal", "G***") }
	})
	x.talk(30, 20)
	res := x.fit(append(x.history(), schema.UserMessage("and now?"))...)
	st, err := x.Sessions().Get(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, res.Summary.Upto, st.SummaryUpto)
	require.LessOrEqual(t, st.SummaryUpto, int64(60))
	require.Contains(t, res.Summary.Text, "Goal")
	require.Equal(t, strings.ReplaceAll(res.Summary.Text, "Goal", "G***"), st.Summary, "redacted before it is kept")
	asked := calls
	require.NotZero(t, asked)
	h := x.history()
	require.Equal(t, st.Summary, h[0].Content)
	require.Len(t, h, 1+62-int(st.SummaryUpto), "what is summarised is not loaded")
	x.fit(append(h, schema.UserMessage("and now?"))...)
	require.Equal(t, asked, calls, "the next run asks for no summary")
	require.Len(t, x.restore(h), 62)
}

func TestASummaryThatIsNotKept(t *testing.T) {
	var x *fixture
	down := errors.New("the model is down")
	meanwhile := func(change func(ctx context.Context) error) testkit.Reply {
		var once sync.Once
		return func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			once.Do(func() { require.NoError(t, change(ctx)) })
			return summarise(ctx, in, o)
		}
	}
	rival := func(upto int64) func(context.Context) error {
		return func(ctx context.Context) error {
			kept, err := x.Sessions().KeepSummary(ctx, ann, upto, "The rival's.")
			require.True(t, kept)
			return err
		}
	}
	for _, tc := range []struct {
		name   string
		reply  testkit.Reply
		fail   string // a method of the store
		upto   int64  // how far the session's summary reaches then; -1: further than the rival's
		stages []string
	}{
		{name: "the model fails", reply: testkit.Fail(down), stages: []string{window.StageCompact}},
		{name: "the store fails", reply: summarise, fail: "Update", stages: []string{window.StageSummary}},
		{name: "a rival that covers more came first", reply: meanwhile(rival(60)), upto: 60},
		{name: "a rival that covers less makes room", reply: meanwhile(rival(2)), upto: -1},
		{name: "the session was deleted", reply: meanwhile(func(ctx context.Context) error { return x.DeleteSession(ctx, ann) })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x = summarising(t, tc.reply)
			x.talk(30, 20)
			in := append(x.history(), schema.UserMessage("and now?"))
			x.db.FailOn(backends.ErrUnavailable, tc.fail)
			res, err := x.Fit(t.Context(), ann, in)
			require.NoError(t, err)
			require.LessOrEqual(t, res.After.Over(), 0)
			x.db.Arm(nil)
			require.Equal(t, tc.stages, x.stages)
			st, err := x.Sessions().Get(t.Context(), ann)
			if errors.Is(err, backends.ErrNotFound) {
				return
			}
			require.NoError(t, err)
			if tc.upto < 0 {
				tc.upto = res.Summary.Upto
				require.Greater(t, tc.upto, int64(2))
			}
			require.Equal(t, tc.upto, st.SummaryUpto)
		})
	}
	// Messages that were not loaded have no place in the log: nor has their summary.
	x = summarising(t, summarise)
	x.talk(2, 5)
	var in []*schema.Message
	for n := range 30 {
		in = append(in, testkit.Turn(prose("question", n, 20), prose("answer", n, 20))...)
	}
	res := x.fit(append(in, schema.UserMessage("and now?"))...)
	require.Nil(t, res.Summary)
	require.Len(t, x.restore(res.Messages), 61)
}
