// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/modes"
)

// The session is named by Eino's session values alone, which a resumed run has from
// its checkpoint.
func TestASessionNamedBySessionValues(t *testing.T) {
	ann := map[string]any{"user_id": "ann", "session_id": "s1"}
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx, points := context.Background(), &testkit.Checkpoints{}
			d := newDesk(t, setting{hooks: func(c *hooks.Config) { c.Scope = backends.Scope{AgentID: "bot"} }})
			drain(t, d.enter(by, testkit.New(testkit.Text("Hello.")), nil, false).Query(ctx, "Hi.", adk.WithSessionValues(ann)))
			chat := testkit.New(testkit.Call("c", "ask", "{}"), testkit.Text("done"))
			drain(t, d.enter(by, chat, points, false, askTool(t)).Query(ctx, "And now?", adk.WithSessionValues(ann), adk.WithCheckPointID("cp")))
			require.Equal(t, []string{"user: Hi.", "assistant: Hello.", "user: And now?"}, shown(chat.Calls()[0]))
			it, err := d.enter(by, chat, points, false, askTool(t)).Resume(ctx, "cp")
			require.NoError(t, err)
			drain(t, it)
			want := []string{"user: Hi.", "assistant: Hello.", "user: And now?", "assistant:  calls ask", "tool: approved", "assistant: done"}
			require.Equal(t, want, d.logged())
			d.fine()
		})
	}
}

func TestHistoryStandsBehindTheSystemMessages(t *testing.T) {
	d := newDesk(t, setting{})
	require.NoError(t, d.Finish(context.Background(), append(say("Hi."), assistant("Hello."))))
	out, err := d.Prepare(context.Background(), append([]*schema.Message{schema.SystemMessage("a"), schema.SystemMessage("b")}, say("And", "now?")...))
	require.NoError(t, err)
	require.Equal(t, []string{"system: a", "system: b", "user: Hi.", "assistant: Hello.", "user: And", "note", "user: now?"}, named(out))
}

// named is what messages say, with the note by its name.
func named(messages []*schema.Message) []string {
	var out []string
	for _, m := range messages {
		if recalled([]*schema.Message{m}) == 1 {
			out = append(out, "note")
		} else {
			out = append(out, line(m))
		}
	}
	return out
}

// A caller who keeps what Prepare returned, and asks again after his model failed:
// the first question is a turn of its own, said once.
func TestAQuestionThatWasNotAnsweredAndTheNextOne(t *testing.T) {
	ctx := context.Background()
	d := newDesk(t, setting{})
	first, err := d.Prepare(ctx, say("first"))
	require.NoError(t, err)
	second, err := d.Prepare(ctx, append(first, say("second")...))
	require.NoError(t, err)
	require.Equal(t, []string{"user: first", "user: second"}, shown(second))
	require.NoError(t, d.Finish(ctx, append(second, assistant("ok"))))
	require.Equal(t, []string{"user: first", "user: second", "assistant: ok"}, d.logged())
	all, done := d.turns()
	require.Equal(t, []int{2, 1}, []int{all, done})
	require.Equal(t, d.logged(), d.next())
	d.fine()
}

// A window without a log reads a session that somebody else writes.
func TestAWindowThatOnlyReads(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			writer := newDesk(t, setting{})
			require.NoError(t, writer.Finish(context.Background(), append(say("Hi."), assistant("Hello."))))
			d := newDesk(t, setting{tokens: 2500, sessions: writer.sessions, hooks: func(c *hooks.Config) { c.Log, c.Plan = nil, modes.Plan{} }})
			script, _ := readPages(0, 12, 120, testkit.Text("done"))
			chat := testkit.New(script...)
			out := drain(t, d.enter(by, chat, nil, false, readTool(t, 120)).Query(context.Background(), "read"))
			require.Equal(t, "assistant: done", out[len(out)-1])
			d.sane(chat)
			require.Equal(t, []string{"user: Hi.", "assistant: Hello.", "user: read"}, shown(chat.Calls()[0]))
			require.Len(t, writer.logged(), 2)
			d.fine()
		})
	}
}

// slowToRead is a store whose log nobody waits for.
type slowToRead struct{ store.Sessions }

func (s *slowToRead) Read(ctx context.Context, _ backends.Partition, _ string, _ store.Range) ([]store.Entry, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestAHistoryThatTakesTooLongCostsTheHistory(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{sessions: &slowToRead{memorySessions(t)}, hooks: func(c *hooks.Config) { c.SearchTimeout = time.Millisecond; c.Plan = modes.Plan{} }})
			chat := testkit.New(testkit.Text("ok"))
			require.Equal(t, []string{"assistant: ok"}, drain(t, d.enter(by, chat, nil, false).Query(context.Background(), "hi")))
			stages, err := d.failures.seen()
			require.Equal(t, []string{hooks.StageHistory}, stages, "once a turn")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// A block that the agent edits is shown as it is now, at the very next call.
func TestABlockEditedInARunIsShownOnceAndNew(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			all := memorySessions(t)
			blocks, err := core.New(&core.Config{Records: all.(store.Records), Blocks: []core.Block{{Name: "human", Initial: "Ann."}}})
			require.NoError(t, err)
			d := newDesk(t, setting{sessions: all, window: func(c *window.Config) { c.Core = blocks }})
			edit := func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
				if _, err := blocks.Append(ctx, &core.Edit{Scope: ann, Block: "human", Text: "Likes tea."}); err != nil {
					return nil, err
				}
				return testkit.Call("c", "echo", `{"q":"1"}`)(ctx, in, o)
			}
			chat := testkit.New(edit, testkit.Text("done"))
			drain(t, d.enter(by, chat, nil, false, echoTool(t)).Query(context.Background(), "hi"))
			d.sane(chat)
			require.Equal(t, 1, cores(chat.Calls()[0]))
			require.NotContains(t, text(chat.Calls()[0]...), "Likes tea.")
			require.Equal(t, 1, cores(chat.Calls()[1]))
			require.Contains(t, text(chat.Calls()[1]...), "Likes tea.")
			require.Equal(t, []string{"user: hi", "assistant:  calls echo", "tool: echo:1", "assistant: done"}, d.logged())
			d.fine()
		})
	}
}

// A model that summarises is asked inside the agent's hooks: it says nothing into
// the run's events (trap T3), and one that fails is told of and costs nothing else.
func TestASummaryIsNoEventOfTheAgent(t *testing.T) {
	const pages, words = 10, 120
	for name, by := range doors {
		for _, streaming := range []bool{false, true} {
			for _, fails := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					chat := summariser()
					if fails {
						chat = testkit.New(testkit.Fail(errors.New("down")))
					}
					d := newDesk(t, setting{tokens: 2500, window: func(c *window.Config) { c.Model = chat }})
					for turn := range 2 {
						script, said := readPages(turn*pages, (turn+1)*pages, words, testkit.Text("done"))
						agent := testkit.New(script...)
						out := drain(t, d.enter(by, agent, nil, streaming, readTool(t, words)).Query(context.Background(), "read"))
						require.Equal(t, append(said, "assistant: done"), out)
						d.sane(agent)
					}
					require.NotEmpty(t, chat.Calls())
					stages, _ := d.failures.seen()
					require.Equal(t, fails, len(stages) > 0)
					for _, s := range stages {
						require.Equal(t, window.StageCompact, s)
					}
				})
			}
		}
	}
}
