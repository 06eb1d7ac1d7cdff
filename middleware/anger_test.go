// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// What OnError does, or that there is none, is nothing to the reply.
func TestAnOnErrorThatPanics(t *testing.T) {
	for name, onError := range map[string]func(context.Context, string, error){
		"none":   nil,
		"panics": func(context.Context, string, error) { panic("callback") },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{
				onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("search") },
				onAdd:    func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) { panic("add") },
			}
			mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true, OnError: onError,
				Working: &working.Config{Backoff: time.Hour}})
			a := newAgent(t, mem, testkit.Call("c1", "search_memory", `{"keywords":["tea"]}`), testkit.Call("c2", "add_memory", `{"content":["tea"]}`), testkit.Text("still here"))
			require.Equal(t, "still here", a.reply(asAnn(), "hi"))
			require.Equal(t, "nobody", newAgent(t, mem, testkit.Text("nobody")).reply(context.Background(), "hi"))
			require.ErrorContains(t, mem.Flush(context.Background()), "panic: add", "what is not learnt is said")
		})
	}
}

// Each reply ends, and each turn is either in the log or reported.
func TestClosingDuringReplies(t *testing.T) {
	var told failures
	mem := open(t, &middleware.Config{Backend: &fake{memories: []string{"likes tea"}}, OnError: told.tell})
	const users, replies = 4, 10
	begun, ended := make(chan struct{}, users), make(chan string, users*replies)
	for u := range users {
		a := newAgent(t, mem, testkit.Text("ok"))
		go func() {
			for n := range replies {
				if n == 1 {
					begun <- struct{}{}
				}
				ended <- a.reply(as(fmt.Sprint("user", u), "s"), "hi")
			}
		}()
	}
	for range users {
		<-begun
	}
	require.NoError(t, mem.Close(context.Background()))
	for range users * replies {
		require.Equal(t, "ok", <-ended)
	}
	for _, err := range told.at("record") {
		require.ErrorIs(t, err, working.ErrClosed)
	}
	require.ErrorIs(t, mem.Flush(context.Background()), working.ErrClosed)
}

func TestFlushHeedsItsContext(t *testing.T) {
	learning, release := make(chan struct{}), make(chan struct{})
	f := &fake{onAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		learning <- struct{}{}
		<-release
		return &backends.AddResponse{}, nil
	}}
	mem := open(t, &middleware.Config{Backend: f, Working: &working.Config{Idle: time.Millisecond}})
	newAgent(t, mem, testkit.Text("ok")).reply(asAnn(), "hi")
	<-learning
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, mem.Flush(ctx), context.Canceled)
	close(release)
	require.NoError(t, mem.Flush(context.Background()))
}

// Neither goroutines nor memory grow with the replies.
func TestManyRepliesLeaveNothingBehind(t *testing.T) {
	s := openStore(t)
	mem := open(t, &middleware.Config{Backend: verbatim(t, s), AwaitWrite: true})
	a := newAgent(t, mem, testkit.Text("ok"))
	measure := func() (goroutines int, bytes uint64) {
		require.NoError(t, mem.Flush(context.Background()))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	reply := func(n int) { a.reply(as(fmt.Sprint("user", n%5), fmt.Sprint("s", n)), "hi") }
	for n := range 20 {
		reply(n)
	}
	goroutines, bytes := measure()
	for n := range 200 {
		reply(n)
	}
	after, grown := measure()
	require.LessOrEqual(t, after, goroutines+3)
	require.Less(t, grown, bytes+16<<20)
}

// A program may have two memories, of different backends: two notes.
func TestTwoMiddlewaresOnOneAgent(t *testing.T) {
	users := open(t, &middleware.Config{Backend: &fake{memories: []string{"likes tea"}}, Mode: modes.StaticControl})
	tasks := open(t, &middleware.Config{Backend: &fake{memories: []string{"boil the water"}}, Mode: modes.StaticControl, NoteName: "experience"})
	chat := testkit.New(testkit.Text("ok"))
	made, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{Name: "a", Description: "d", Model: chat,
		Middlewares: []adk.AgentMiddleware{users.AgentMiddleware(), tasks.AgentMiddleware()}})
	require.NoError(t, err)
	drain(t, adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: made}).Query(asAnn(), "Tea?"))
	shown := map[string]string{}
	for _, m := range chat.Calls()[0] {
		shown[m.Name] = m.Content
	}
	require.Contains(t, shown["memory"], "likes tea")
	require.Contains(t, shown["experience"], "boil the water")
	require.NotContains(t, shown["experience"], "likes tea")
}

// Under agent_control nothing is recorded, so no log is needed; and the zero
// values of all else will do.
func TestAgentControlNeedsNoSessions(t *testing.T) {
	mem, err := middleware.New(context.Background(), &middleware.Config{Backend: &fake{}, Mode: modes.AgentControl})
	require.NoError(t, err)
	require.Nil(t, mem.Working())
	require.Equal(t, "ok", newAgent(t, mem, testkit.Text("ok")).reply(context.Background(), "hi"))
	require.NoError(t, mem.Flush(context.Background()))
	require.NoError(t, mem.Close(context.Background()))
}

func TestAConfigMayChangeAfterNew(t *testing.T) {
	yes, f := false, &fake{memories: []string{"likes tea"}}
	cfg := &middleware.Config{Backend: f, AwaitWrite: true, Scope: ann, ScopeSearchByAgent: &yes, Working: &working.Config{}}
	mem := open(t, cfg)
	yes = true
	*cfg.Working = working.Config{Backend: &fake{}}
	*cfg = middleware.Config{Backend: &fake{}, NoteName: "other", TopK: 1}
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(context.Background(), "hi")
	searches, adds := f.seen()
	require.Len(t, searches, 1)
	require.Equal(t, 5, searches[0].TopK)
	require.Nil(t, searches[0].Filter)
	require.Len(t, adds, 1)
	require.Len(t, a.notes(0), 1)
}
