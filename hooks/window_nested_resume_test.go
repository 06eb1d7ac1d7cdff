// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/supervisor"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// An agent inside a tool is interrupted in the middle of its own long work, and
// resumed in another process: it still has no history, and the log has the outer
// turn once.
func TestAnAgentInAToolIsInterruptedAndResumed(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx, points, sessions := context.Background(), &testkit.Checkpoints{}, memorySessions(t)
			first, rest, _ := longTask(6, 6)
			process := func(outer, inner *testkit.Chat) (*desk, runner) {
				d := newDesk(t, setting{tokens: 2500, sessions: sessions})
				expert := newAgent(t, "expert", inner, d.with, readTool(t, resumeWords), askTool(t))
				return d, d.enter(by, outer, points, false, adk.NewAgentTool(ctx, expert))
			}
			outer, inner := testkit.New(testkit.Call("x", "expert", `{"request":"read it all"}`)), testkit.New(first...)
			d, r := process(outer, inner)
			require.NoError(t, d.Finish(ctx, append(say("what was said before"), assistant("an answer"))))
			out := drain(t, r.Query(ctx, "question", adk.WithCheckPointID("cp")))
			require.Equal(t, "interrupted", out[len(out)-1])
			d.sane(outer, inner)
			d.fine()

			outer, inner = testkit.New(testkit.Text("all done")), testkit.New(rest...)
			d, r = process(outer, inner)
			it, err := r.Resume(ctx, "cp")
			require.NoError(t, err)
			out = drain(t, it)
			require.Equal(t, "assistant: all done", out[len(out)-1])
			d.sane(outer, inner)
			for _, call := range inner.Calls() {
				require.NotContains(t, text(call...), "what was said before")
			}
			require.Equal(t, []string{"user: question", "assistant:  calls expert", "tool: done", "assistant: all done"}, d.logged()[2:])
			all, done := d.turns()
			require.Equal(t, []int{2, 2}, []int{all, done})
			d.fine()
		})
	}
}

// The worker of a supervisor is interrupted and resumed in another process.
func TestAWorkerIsInterruptedAndResumed(t *testing.T) {
	ctx, points, sessions := context.Background(), &testkit.Checkpoints{}, memorySessions(t)
	process := func(boss, worker []testkit.Reply) (*desk, *grove, runner) {
		d := newDesk(t, setting{tokens: 2500, sessions: sessions})
		g := &grove{t: t, d: d, in: d.with}
		b := g.agent("boss", boss...)
		w := newAgent(t, "worker", g.model(worker...), d.with, readTool(t, pageWords), askTool(t))
		a, err := supervisor.New(ctx, &supervisor.Config{Supervisor: b, SubAgents: []adk.Agent{w}})
		require.NoError(t, err)
		return d, g, d.WrapRunner(newRunner(a, false, points))
	}
	first, said := readPages(0, 2, pageWords, testkit.Call("ask", "ask", "{}"))
	d, g, r := process([]testkit.Reply{testkit.Call("t", "transfer_to_agent", `{"agent_name":"worker"}`)}, first)
	require.NoError(t, d.Finish(ctx, append(say("what was said before"), assistant("an answer"))))
	drain(t, r.Query(ctx, "question", adk.WithCheckPointID("cp")))
	d.sane(g.models...)
	d, g, r = process([]testkit.Reply{testkit.Text("all done")}, []testkit.Reply{testkit.Text("worked")})
	it, err := r.Resume(ctx, "cp")
	require.NoError(t, err)
	drain(t, it)
	d.sane(g.models...)
	want := append(append([]string{"user: question"}, said...), "assistant:  calls ask", "tool: approved", "assistant: worked", "assistant: all done")
	require.Equal(t, want, d.logged()[2:])
	all, done := d.turns()
	require.Equal(t, []int{2, 2}, []int{all, done})
	for _, m := range g.models {
		require.Contains(t, text(m.Calls()[0]...), "what was said before")
	}
	d.fine()
}

// What does not fit is handed back by Prepare with its error, and goes on from a
// rewriter and a modifier, which have none.
func TestWhatDoesNotFitWhereNothingCanBeRefused(t *testing.T) {
	ctx := context.Background()
	d := newDesk(t, setting{tokens: 1500})
	out, err := d.Prepare(ctx, say(page(1, 600)))
	require.ErrorIs(t, err, compaction.ErrOver)
	require.Equal(t, page(1, 600), out[len(out)-1].Content)
	require.NoError(t, transcript.Check(out))
	d.fine()
	for n, show := range []func(context.Context, []*schema.Message) []*schema.Message{d.MessageRewriter(nil), d.MessageModifier(nil)} {
		out = show(ctx, say(page(2, 600)))
		require.Equal(t, page(2, 600), out[len(out)-1].Content)
		stages, err := d.failures.seen()
		require.Equal(t, slices.Repeat([]string{window.StageCompact}, n+1), stages)
		require.ErrorIs(t, err, compaction.ErrOver)
	}
}

// A callback of the caller's that panics costs neither the run nor the fitting.
func TestACallbackThatPanics(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{window: func(c *window.Config) {
				c.OnFit = func(context.Context, backends.Scope, *compaction.Result) { panic("mine") }
			}})
			chat := testkit.New(testkit.Text("ok"))
			require.Equal(t, []string{"assistant: ok"}, drain(t, d.enter(by, chat, nil, false).Query(context.Background(), "hi")))
			require.Equal(t, []string{"user: hi", "assistant: ok"}, d.logged())
			stages, err := d.failures.seen()
			require.ErrorContains(t, err, "mine")
			for _, s := range stages {
				require.Equal(t, window.StageCompact, s)
			}
		})
	}
}

// The memories kept free for notes are for notes: a large one does not push the
// question out, and a conversation does not push the note out.
func TestANoteStaysInASmallWindow(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: 2000, window: func(c *window.Config) { c.Budget = compaction.Budget{Window: 2000} },
				hooks: func(c *hooks.Config) { c.Note.Tokens = 300 }})
			for n := range 40 {
				d.backend.texts = append(d.backend.texts, fmt.Sprint("Ann knows ", page(n, 10)))
			}
			script, _ := readPages(0, 10, 100, testkit.Text("done"))
			chat := testkit.New(script...)
			out := drain(t, d.enter(by, chat, nil, false, readTool(t, 100)).Query(context.Background(), "read"))
			require.Equal(t, "assistant: done", out[len(out)-1])
			d.sane(chat)
			for _, call := range chat.Calls() {
				require.Equal(t, 1, recalled(call))
			}
			d.fine()
		})
	}
}
