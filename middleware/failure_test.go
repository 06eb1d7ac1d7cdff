// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
)

// failures collects what Config.OnError is told.
type failures struct {
	mu     sync.Mutex
	stages map[string][]error
}

func (f *failures) tell(_ context.Context, stage string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stages == nil {
		f.stages = map[string][]error{}
	}
	f.stages[stage] = append(f.stages[stage], err)
}

func (f *failures) at(stage string) []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stages[stage]
}

// A backend that is down, in all its ways, leaves the reply as it would be
// without memory.
func TestABackendThatIsDown(t *testing.T) {
	down := errors.New("connection refused")
	forever := make(chan struct{})
	defer close(forever)
	for name, onSearch := range map[string]func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error){
		"fails": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return nil, down },
		"hangs until its context ends": func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"hangs whatever its context says": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			<-forever
			return nil, nil
		},
		"panics": func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			var told failures
			f := &fake{
				onSearch: onSearch,
				onAdd:    func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) { return nil, down },
			}
			mem := open(t, &middleware.Config{
				Backend: f, AwaitWrite: true, SearchTimeout: 20 * time.Millisecond, OnError: told.tell,
				Working: &working.Config{Backoff: time.Hour},
			})
			a := newAgent(t, mem, testkit.Text("still here"))
			require.Equal(t, "still here", a.reply(asAnn(), "hi"))
			require.Empty(t, a.notes(0))
			require.Len(t, told.at("search"), 1)
			require.Len(t, told.at("consolidate"), 1)
		})
	}
}

// What could not be learnt is in the log, and learnt when the backend is back.
func TestNothingIsLostWhileTheBackendIsDown(t *testing.T) {
	broken := true
	var mu sync.Mutex
	f := &fake{}
	f.onAdd = func(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return nil, backends.ErrUnavailable
		}
		return &backends.AddResponse{}, nil
	}
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true, OnError: func(context.Context, string, error) {},
		Working: &working.Config{Backoff: time.Nanosecond}})
	newAgent(t, mem, testkit.Text("ok")).reply(asAnn(), "I moved to Rome.")
	mu.Lock()
	broken = false
	mu.Unlock()
	_, err := mem.Working().Consolidate(context.Background(), ann)
	require.NoError(t, err)
	require.NoError(t, mem.Flush(context.Background()))
	_, adds := f.seen()
	require.Greater(t, len(adds), 1)
	require.Equal(t, [][2]string{{"user", "I moved to Rome."}, {"assistant", "ok"}}, said(&adds[len(adds)-1]))
}

// Closing ends the writing, not the reading: agents that still run go on.
func TestRecordingAfterCloseIsReported(t *testing.T) {
	var told failures
	mem := open(t, &middleware.Config{Backend: &fake{memories: []string{"likes tea"}}, OnError: told.tell})
	require.NoError(t, mem.Close(context.Background()))
	a := newAgent(t, mem, testkit.Text("ok"))
	require.Equal(t, "ok", a.reply(asAnn(), "hi"))
	require.Len(t, a.notes(0), 1, "reading goes on")
	require.Len(t, told.at("record"), 1)
	require.ErrorIs(t, told.at("record")[0], working.ErrClosed)
}
