// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/testkit"
)

const resumeWords = 150

// longTask reads pages before and after it asks for approval.
func longTask(before, after int) (first, rest []testkit.Reply, want []string) {
	first, said := readPages(0, before, resumeWords, testkit.Call("ask", "ask", "{}"))
	rest, more := readPages(before, before+after, resumeWords, testkit.Text("done"))
	want = append(append([]string{"user: read it all"}, said...), "assistant:  calls ask", "tool: approved")
	return first, rest, append(append(want, more...), "assistant: done")
}

// A turn with many times the window's tokens is interrupted in the middle and
// resumed by other hooks, of another process: the log has it once and whole, and
// what the next run sees is valid.
func TestALongTurnIsResumedInAnotherProcess(t *testing.T) {
	stores := map[string]func(testing.TB) store.Sessions{"sqlite": memorySessions, "redis": redisSessions}
	for kind, open := range stores {
		for name, by := range doors {
			for _, streaming := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, " ", name, " ", streaming), func(t *testing.T) {
					ctx, points, sessions := context.Background(), &testkit.Checkpoints{}, open(t)
					first, rest, want := longTask(10, 10)

					d := newDesk(t, setting{tokens: 2500, sessions: sessions})
					require.NoError(t, d.Finish(ctx, append(say("long ago"), assistant("yes"))))
					chat := testkit.New(first...)
					out := drain(t, d.enter(by, chat, points, streaming, readTool(t, resumeWords), askTool(t)).Query(ctx, "read it all", adk.WithCheckPointID("cp")))
					require.Equal(t, "interrupted", out[len(out)-1])
					d.sane(chat)
					require.Equal(t, want[:2+2*10], d.logged()[2:], "what was said is in the log")
					require.Contains(t, text(d.nextMessages()...), "read it all", "a turn that waits is seen")
					d.fine()

					d2 := newDesk(t, setting{tokens: 2500, sessions: sessions})
					chat2 := testkit.New(rest...)
					it, err := d2.enter(by, chat2, points, streaming, readTool(t, resumeWords), askTool(t)).Resume(ctx, "cp")
					require.NoError(t, err)
					out = drain(t, it)
					require.Equal(t, "assistant: done", out[len(out)-1])
					d2.sane(chat2)
					for _, call := range chat2.Calls() {
						require.Contains(t, text(call...), "read it all")
						require.Equal(t, 1, recalled(call), "the note is in the checkpoint")
					}
					require.Equal(t, want, d2.logged()[2:], "once, and whole")
					all, done := d2.turns()
					require.Equal(t, []int{2, 2}, []int{all, done})
					d2.fine()

					d3 := newDesk(t, setting{tokens: 100_000, sessions: sessions})
					require.Equal(t, append([]string{"user: long ago", "assistant: yes"}, want...), d3.next(), "every word, at the next run")
				})
			}
		}
	}
}

// The marks of summaries, stand-ins, core blocks and media go through Eino's
// checkpoint, and through it again.
func TestATurnInterruptedTwiceWithAllSortsOfMessages(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx, points := context.Background(), &testkit.Checkpoints{}
			all := memorySessions(t)
			blocks, err := core.New(&core.Config{Records: all.(store.Records), Blocks: []core.Block{{Name: "human", Initial: "Ann."}}})
			require.NoError(t, err)
			shape := setting{tokens: 2500, sessions: all, window: func(c *window.Config) { c.Core = blocks; c.Model = summariser() }}
			d := newDesk(t, shape)
			for n := range 12 {
				require.NoError(t, d.Finish(ctx, append(say(page(n, 80)), assistant(page(n+50, 80)))))
			}
			first, rest, _ := longTask(8, 8)
			chat := testkit.New(append(first, rest[:len(rest)-1]...)...)
			picture := "https://example.com/cat.png"
			in := []*schema.Message{{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
				{Type: schema.ChatMessagePartTypeText, Text: "read it all"},
				{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture}}},
			}}}
			drain(t, d.enter(by, chat, points, false, readTool(t, resumeWords), askTool(t)).Run(ctx, in, adk.WithCheckPointID("cp")))
			d.sane(chat)
			for _, script := range [][]testkit.Reply{append(rest[:len(rest)-1:len(rest)-1], testkit.Call("ask2", "ask", "{}")), {testkit.Text("done")}} {
				d = newDesk(t, shape)
				chat = testkit.New(script...)
				it, err := d.enter(by, chat, points, false, readTool(t, resumeWords), askTool(t)).Resume(ctx, "cp")
				require.NoError(t, err)
				out := drain(t, it)
				require.Contains(t, []string{"interrupted", "assistant: done"}, out[len(out)-1])
				d.sane(chat)
				for _, call := range chat.Calls() {
					require.Equal(t, 1, cores(call))
				}
				d.fine()
			}
			log := d.logged()[24:]
			require.Len(t, log, 2*16+2*2+1, "and the picture, which has no line")
			require.Equal(t, "assistant: done", log[len(log)-1])
			turns, done := d.turns()
			require.Equal(t, []int{13, 13}, []int{turns, done})
			d.next()
		})
	}
}

// An interrupted turn that nobody resumes: the next run is told that the call has
// no result, and goes on.
func TestAnInterruptedTurnThatNobodyResumes(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d := newDesk(t, setting{})
			chat := testkit.New(testkit.Call("c", "ask", "{}"))
			drain(t, d.enter(by, chat, &testkit.Checkpoints{}, false, askTool(t)).Query(ctx, "first", adk.WithCheckPointID("cp")))
			chat = testkit.New(testkit.Text("second answer"))
			drain(t, d.enter(by, chat, nil, false).Query(ctx, "second"))
			d.sane(chat)
			in := shown(chat.Calls()[0])
			require.Len(t, in, 4)
			require.Equal(t, []string{"user: first", "assistant:  calls ask"}, in[:2])
			require.Contains(t, in[2], "tool: ")
			require.NotContains(t, in[2], "approved")
			require.Equal(t, "user: second", in[3])
			require.Equal(t, []string{"user: first", "assistant:  calls ask", "user: second", "assistant: second answer"}, d.logged())
			d.fine()
		})
	}
}

// A turn is resumed after another one of the session began, and ended: each is
// whole, and stands together, in the next run.
func TestATurnThatIsResumedAfterAnotherBegan(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx, points := context.Background(), &testkit.Checkpoints{}
			d := newDesk(t, setting{tokens: 2500})
			first, rest, want := longTask(6, 6)
			drain(t, d.enter(by, testkit.New(first...), points, false, readTool(t, resumeWords), askTool(t)).Query(ctx, "read it all", adk.WithCheckPointID("cp")))
			chat := testkit.New(testkit.Text("between"))
			drain(t, d.enter(by, chat, nil, false).Query(ctx, "meanwhile"))
			d.sane(chat)
			chat = testkit.New(rest...)
			it, err := d.enter(by, chat, points, false, readTool(t, resumeWords), askTool(t)).Resume(ctx, "cp")
			require.NoError(t, err)
			drain(t, it)
			d.sane(chat)
			for _, call := range chat.Calls() {
				require.NotContains(t, text(call...), "meanwhile", "a resumed run goes on with what it knew")
			}
			all, done := d.turns()
			require.Equal(t, []int{2, 2}, []int{all, done})
			next := newDesk(t, setting{tokens: 100_000, sessions: d.sessions}).next()
			require.Equal(t, append([]string{"user: meanwhile", "assistant: between"}, want...), next, "a turn stands where it ended")
			d.next()
			d.fine()
		})
	}
}

// A resume that is made twice (a client that repeats its call) leaves one turn.
func TestAResumeThatIsMadeTwice(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx, points := context.Background(), &testkit.Checkpoints{}
			d := newDesk(t, setting{})
			chat := testkit.New(testkit.Call("c", "ask", "{}"), testkit.Text("done"))
			r := d.enter(by, chat, points, false, askTool(t))
			drain(t, r.Query(ctx, "hi", adk.WithCheckPointID("cp")))
			for range 2 {
				it, err := d.enter(by, chat, points, false, askTool(t)).Resume(ctx, "cp")
				require.NoError(t, err)
				drain(t, it)
			}
			d.sane(chat)
			d.next()
			require.Subset(t, d.logged(), approved)
			if !by.runner { // the state knows the turn; the runner's open turn is taken by the first
				require.Equal(t, approved, d.logged())
			}
			d.fine()
		})
	}
}

// What a provider's client hangs on a part of a message comes back from the log as
// JSON makes it. Eino's checkpoint is gob, which knows few types: it must not be
// what a later turn fails for when it is interrupted.
func TestWhatComesFromTheLogGoesIntoACheckpoint(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			ctx, points := context.Background(), &testkit.Checkpoints{}
			d := newDesk(t, setting{})
			picture := "https://example.com/cat.png"
			require.NoError(t, d.Finish(ctx, []*schema.Message{
				{Role: schema.User, Content: "", UserInputMultiContent: []schema.MessageInputPart{
					{Type: schema.ChatMessagePartTypeText, Text: "look"},
					{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
						MessagePartCommon: schema.MessagePartCommon{URL: &picture, Extra: map[string]any{"tags": []string{"cat"}, "size": map[string]any{"w": 3}, "n": 1}},
					}},
				}},
				{Role: schema.Assistant, Content: "a cat", Extra: map[string]any{"provider": map[string]any{"x": 1}}},
			}))
			chat := testkit.New(testkit.Call("c", "ask", "{}"), testkit.Text("done"))
			out := drain(t, d.enter(by, chat, points, false, askTool(t)).Query(ctx, "hi", adk.WithCheckPointID("cp")))
			require.Equal(t, []string{"assistant:  calls ask", "interrupted"}, out)
			it, err := d.enter(by, chat, points, false, askTool(t)).Resume(ctx, "cp")
			require.NoError(t, err)
			require.Equal(t, []string{"tool: approved", "assistant: done"}, drain(t, it))
			require.Equal(t, &picture, chat.Calls()[1][1].UserInputMultiContent[1].Image.URL)
			d.fine()
		})
	}
}
