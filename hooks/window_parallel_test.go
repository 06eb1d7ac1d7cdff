// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// Sixteen sessions at once over one Hooks, an agent a run: each sees its own.
func TestSessionsInParallel(t *testing.T) {
	const sessions, turns, pages, words = 16, 2, 4, 200
	for name, by := range doors {
		for kind, open := range map[string]func(testing.TB) store.Sessions{"sqlite": memorySessions, "redis": redisSessions} {
			t.Run(name+" "+kind, func(t *testing.T) {
				d := newDesk(t, setting{tokens: 2500, sessions: open(t)})
				scope := func(n int) backends.Scope {
					return backends.Scope{UserID: fmt.Sprint("user", n/2), AgentID: "bot", SessionID: fmt.Sprint("s", n%2)}
				}
				chats := make([][]*testkit.Chat, sessions)
				var group sync.WaitGroup
				for n := range sessions {
					chats[n] = make([]*testkit.Chat, turns)
					for turn := range turns {
						script, _ := readPages(n*100+turn*pages, n*100+(turn+1)*pages, words, testkit.Text(fmt.Sprintf("answer %d of %d", turn, n)))
						chats[n][turn] = testkit.New(script...)
					}
				}
				runs := make([][]runner, sessions)
				for n := range sessions {
					for turn := range turns {
						runs[n] = append(runs[n], d.enter(by, chats[n][turn], nil, n%3 == 0, readTool(t, words)))
					}
				}
				for n := range sessions {
					group.Go(func() {
						for turn := range turns {
							drain(t, runs[n][turn].Query(backends.WithScope(context.Background(), scope(n)), fmt.Sprintf("question %d of %d", turn, n)))
						}
					})
				}
				group.Wait()
				for n := range sessions {
					var want []string
					for turn := range turns {
						_, said := readPages(n*100+turn*pages, n*100+(turn+1)*pages, words)
						want = append(append(append(want, fmt.Sprintf("user: question %d of %d", turn, n)), said...), fmt.Sprintf("assistant: answer %d of %d", turn, n))
					}
					require.Equal(t, want, d.loggedOf(scope(n)))
					d.sane(chats[n]...)
					require.Contains(t, text(chats[n][1].Calls()[0]...), fmt.Sprintf("question 0 of %d", n))
					for other := range sessions {
						if other != n {
							require.NotContains(t, text(chats[n][1].Calls()[0]...), fmt.Sprintf("question 0 of %d\n", other))
						}
					}
				}
				d.fine()
			})
		}
	}
}

// Two runs of one session at once, exchange by exchange: both turns are whole in
// the log, and stand one after the other in the next run.
func TestTwoRunsOfOneSessionAtOnce(t *testing.T) {
	const pages, words = 6, 100
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, setting{tokens: 2500})
			meet := newBarrier(2)
			var chats []*testkit.Chat
			var runs []runner
			var wants [][]string
			for n := range 2 {
				script, said := readPages(n*100, n*100+pages, words, testkit.Text(fmt.Sprint("answer ", n)))
				for i, reply := range script { // each call of the one waits for the same call of the other
					script[i] = func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
						meet.wait()
						return reply(ctx, in, o)
					}
				}
				chats = append(chats, testkit.New(script...))
				runs = append(runs, d.enter(by, chats[n], nil, false, readTool(t, words)))
				wants = append(wants, append(append([]string{fmt.Sprint("user: question ", n)}, said...), fmt.Sprint("assistant: answer ", n)))
			}
			var group sync.WaitGroup
			for n := range 2 {
				group.Go(func() { drain(t, runs[n].Query(context.Background(), fmt.Sprint("question ", n))) })
			}
			group.Wait()
			d.sane(chats...)
			all, done := d.turns()
			require.Equal(t, []int{2, 2}, []int{all, done})
			require.ElementsMatch(t, append(append([]string{}, wants[0]...), wants[1]...), d.logged())
			next := newDesk(t, setting{tokens: 100_000, sessions: d.sessions}).next()
			first, second := wants[0], wants[1]
			if next[0] != first[0] {
				first, second = second, first
			}
			require.Equal(t, append(append([]string{}, first...), second...), next, "whole, and together")
			d.next()
			d.fine()
		})
	}
}

// barrier lets so many goroutines go on together, again and again.
type barrier struct {
	mu      sync.Mutex
	cond    *sync.Cond
	size    int
	waiting int
	round   int
}

func newBarrier(size int) *barrier {
	b := &barrier{size: size}
	b.cond = sync.NewCond(&b.mu)
	return b
}

func (b *barrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting++; b.waiting == b.size {
		b.waiting = 0
		b.round++
		b.cond.Broadcast()
		return
	}
	for round := b.round; round == b.round; {
		b.cond.Wait()
	}
}

// Every turn is in the log when its run's events end: who asks the next question at
// once has it in front of him.
func TestTheNextRunSeesTheLastOneAtOnce(t *testing.T) {
	for name, by := range doors {
		for _, await := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " await ", await), func(t *testing.T) {
				d := newDesk(t, setting{hooks: func(c *hooks.Config) { c.AwaitWrite = await }})
				var want []string
				for n := range 10 {
					chat := testkit.New(testkit.Text(fmt.Sprint("answer ", n)))
					drain(t, d.enter(by, chat, nil, n%2 == 0).Query(context.Background(), fmt.Sprint("question ", n)))
					want = append(want, fmt.Sprint("user: question ", n))
					require.Equal(t, want, shown(chat.Calls()[0]))
					want = append(want, fmt.Sprint("assistant: answer ", n))
				}
				d.fine()
			})
		}
	}
}
