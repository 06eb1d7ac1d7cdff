// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// withEverything makes a desk whose contexts get all that memory can put into
// them: a note, core blocks, stand-ins, summaries.
func withEverything(t testing.TB, tokens int) *desk {
	t.Helper()
	all := memorySessions(t)
	blocks, err := core.New(&core.Config{Records: all.(store.Records), Blocks: []core.Block{{Name: "human", Initial: "Ann."}}})
	require.NoError(t, err)
	chat := summariser()
	return newDesk(t, setting{tokens: tokens, sessions: all, window: func(c *window.Config) {
		c.Core, c.Model = blocks, chat
		c.Steps = []compaction.Step{compaction.DropDerived{}, compaction.OffloadTools{Over: 100}, compaction.OffloadMessages{Over: 100},
			compaction.SummarizeRounds{Model: chat}, compaction.SummarizeCurrent{Model: chat}, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{}}
	}})
}

// The log has what was said, and nothing else: no stand-in, note, summary or core
// block, whatever became of the context.
func TestTheLogHasTheOriginals(t *testing.T) {
	const pages, words = 12, 110
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := withEverything(t, 3000)
			var want []string
			for turn := range 3 {
				script, said := readPages(turn*pages, (turn+1)*pages, words, testkit.Text(page(turn+1000, words)))
				chat := testkit.New(script...)
				drain(t, d.enter(by, chat, nil, false, readTool(t, words)).Query(context.Background(), page(turn+2000, words)))
				d.sane(chat)
				want = append(append(append(want, "user: "+page(turn+2000, words)), said...), "assistant: "+page(turn+1000, words))
				require.Equal(t, want, d.logged()) // which looks for what is not to be there
			}
			d.fine()
		})
	}
}

// A caller who keeps the context himself: it is made to fit time and again, and
// Finish, at any time, logs what was said and not what is left of it. Prepare wrote
// most of it before; a rewriter writes nothing.
func TestFinishInTheMiddleOfALongTurnLogsTheOriginals(t *testing.T) {
	const pages, words = 12, 110
	for name, by := range map[string]func(d *desk, ctx context.Context, in []*schema.Message) ([]*schema.Message, error){
		"Prepare": func(d *desk, ctx context.Context, in []*schema.Message) ([]*schema.Message, error) {
			return d.Prepare(ctx, in)
		},
		"rewriter": func(d *desk, ctx context.Context, in []*schema.Message) ([]*schema.Message, error) {
			return d.MessageRewriter(nil)(ctx, in), nil
		},
	} {
		for _, other := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", another process ", other), func(t *testing.T) {
				ctx := context.Background()
				d := withEverything(t, 2500)
				require.NoError(t, d.Finish(ctx, append(say("before"), assistant("yes"))))
				want := []string{"user: before", "assistant: yes", "user: read"}
				now := append([]*schema.Message{schema.SystemMessage("You read.")}, say("read")...)
				for n := range pages + 1 {
					var err error
					now, err = by(d, ctx, now)
					require.NoError(t, err)
					require.NoError(t, transcript.Check(now))
					require.LessOrEqual(t, d.window.Usage(now).Over(), 0)
					if n < pages {
						_, said := readPages(n, n+1, words)
						want = append(want, said...)
						now = append(now, exchange(n, words)...)
					}
				}
				if other { // the messages are all that it knows
					d.fine()
					d = newDesk(t, setting{sessions: d.sessions, window: func(c *window.Config) { c.Core = d.window.Core() }})
				}
				require.NoError(t, d.Finish(ctx, now))
				require.Equal(t, want, d.logged())
				require.NoError(t, d.Finish(ctx, now), "once more")
				require.NoError(t, d.Finish(ctx, append(slices.Clone(now), assistant("done"))), "and when it goes on")
				require.Equal(t, append(want, "assistant: done"), d.logged())
				all, done := d.turns()
				require.Equal(t, []int{2, 2}, []int{all, done})
				d.fine()
			})
		}
	}
}

// exchange is a call that reads page n, and what it returns.
func exchange(n, words int) []*schema.Message {
	id := fmt.Sprint("c", n)
	return []*schema.Message{
		schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"n":%d}`, n)}}}),
		schema.ToolMessage(page(n, words), id, schema.WithToolName("read")),
	}
}

// The same context is prepared twice, as when a model is asked again: a stand-in
// takes nobody's place in the log, not even where the original could not be written.
func TestAStandInIsNeverWritten(t *testing.T) {
	ctx := context.Background()
	db := &flaky{Sessions: memorySessions(t)}
	d := newDesk(t, setting{tokens: 2500, sessions: db, window: func(c *window.Config) {
		c.Steps = []compaction.Step{compaction.OffloadTools{Over: 100}, compaction.ArchiveCurrent{}}
	}})
	now, err := d.Prepare(ctx, say("read"))
	require.NoError(t, err)
	db.refused.Store(true) // the log takes nothing, the archive does
	now, err = d.Prepare(ctx, append(now, exchange(0, 1500)...))
	require.NoError(t, err)
	db.refused.Store(false)
	now, err = d.Prepare(ctx, now)
	require.NoError(t, err)
	require.NoError(t, d.Finish(ctx, append(now, assistant("done"))))
	_, said := readPages(0, 1, 1500)
	require.Equal(t, append(append([]string{"user: read"}, said...), "assistant: done"), d.logged())
	stages, failed := d.failures.seen()
	require.Equal(t, []string{hooks.StageRecord}, stages)
	require.ErrorIs(t, failed, errRefused)
}

var errRefused = errors.New("refused")

// flaky is a store whose log may refuse what is appended.
type flaky struct {
	store.Sessions
	refused atomic.Bool // nothing is appended
	hidden  atomic.Bool // no blob is read
}

func (f *flaky) GetBlob(ctx context.Context, p backends.Partition, id, name string) ([]byte, error) {
	if f.hidden.Load() {
		return nil, errRefused
	}
	return f.Sessions.GetBlob(ctx, p, id, name)
}

func (f *flaky) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	if f.refused.Load() {
		return nil, errRefused
	}
	return f.Sessions.Append(ctx, p, id, a)
}

// The backend learns from the originals too, and once.
func TestWhatIsLearntIsWhatWasSaid(t *testing.T) {
	const pages, words = 10, 120
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := withEverything(t, 3000)
			script, said := readPages(0, pages, words, testkit.Text("done"))
			drain(t, d.enter(by, testkit.New(script...), nil, false, readTool(t, words)).Query(context.Background(), "read"))
			require.NoError(t, d.log.Flush(context.Background()))
			require.Equal(t, append(append([]string{"user: read"}, said...), "assistant: done"), d.backend.learnt)
			d.fine()
		})
	}
}

// The archive cannot be read when the turn is over: what stands in for others is
// not what was said, and the log gets the rest.
func TestFinishWithoutTheArchive(t *testing.T) {
	ctx := context.Background()
	db := &flaky{Sessions: memorySessions(t)}
	d := newDesk(t, setting{tokens: 2500, sessions: db, window: func(c *window.Config) {
		c.Steps = []compaction.Step{compaction.OffloadTools{Over: 100}}
	}})
	rewrite := d.MessageRewriter(nil)
	now := say("read")
	for n := range 8 {
		now = rewrite(ctx, append(rewrite(ctx, now), exchange(n, 110)...))
	}
	db.hidden.Store(true)
	require.NoError(t, d.Finish(ctx, append(now, assistant("done"))))
	log := d.logged()
	require.Equal(t, "user: read", log[0])
	require.Equal(t, "assistant: done", log[len(log)-1])
	calls, results := 0, 0
	for _, l := range log {
		if l == "assistant:  calls read" {
			calls++
		}
		if l[:5] == "tool:" {
			results++
		}
	}
	require.Equal(t, 8, calls)
	require.Positive(t, results)
	require.Less(t, results, 8)
	require.Equal(t, "tool: "+page(7, 110), log[len(log)-2])
	stages, failed := d.failures.seen()
	require.Equal(t, []string{hooks.StageRecord}, stages)
	require.ErrorIs(t, failed, errRefused)
	d.next()
}
