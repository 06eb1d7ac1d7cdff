// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

func TestSearchRunsOneSearchForEachKeyword(t *testing.T) {
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return hits(r.Query + " one"), nil
	}}
	cfg := config(f)
	cfg.SearchByAgent = true
	out := run(t, cfg, toolkit.SearchMemory, `{"keywords":["tea","jazz"],"limit":3}`)

	require.Equal(t, "- [id-tea one] 2026-03-01 12:00: tea one\n- [id-jazz one] 2026-03-01 12:00: jazz one", out)
	require.Len(t, f.searches, 2)
	queries := map[string]bool{}
	for _, s := range f.searches {
		queries[s.Query] = true
		require.Equal(t, ann, s.Scope)
		require.Equal(t, 3, s.TopK)
		require.Equal(t, backends.Eq("agent_id", "helper"), *s.Filter)
	}
	require.Equal(t, map[string]bool{"tea": true, "jazz": true}, queries)
}

func TestSearchOfAllAgentsHasNoFilter(t *testing.T) {
	f := &fake{}
	run(t, config(f), toolkit.SearchMemory, `{"keywords":["tea"]}`)
	require.Nil(t, f.searches[0].Filter)
	require.Equal(t, 5, f.searches[0].TopK)
}

func TestSearchMergesInTheOrderOfTheKeywords(t *testing.T) {
	first := make(chan struct{})
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		if r.Query == "a" { // the first keyword answers last
			<-first
			return hits("shared", "only a"), nil
		}
		defer close(first)
		same := hits("only b", "shared") // the same text under another id, and the same id
		same.Hits[1].ID = "other"
		return same, nil
	}}
	out := run(t, config(f), toolkit.SearchMemory, `{"keywords":["a","b"]}`)
	require.Equal(t, "- [id-shared] 2026-03-01 12:00: shared\n- [id-only a] 2026-03-01 12:00: only a\n- [id-only b] 2026-03-01 12:00: only b", out)
}

func TestSearchIsBounded(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return hits("x"), nil
	}}
	words := make([]string, 40)
	for i := range words {
		words[i] = fmt.Sprintf("%q", fmt.Sprint("word", i))
	}
	out := run(t, config(f), toolkit.SearchMemory, `{"keywords":[`+strings.Join(words, ",")+`]}`)
	require.Len(t, f.searches, toolkit.MaxKeywords)
	require.LessOrEqual(t, most, 4)
	require.Contains(t, out, "24 keywords were left out")
}

func TestSearchWithoutKeywords(t *testing.T) {
	for _, arguments := range []string{``, `{}`, `null`, `{"keywords":[]}`, `{"keywords":null}`, `{"keywords":["", "  "]}`, `{"keywords":""}`} {
		f := &fake{}
		require.Equal(t, "(no keywords supplied — nothing to search)", run(t, config(f), toolkit.SearchMemory, arguments), arguments)
		require.Empty(t, f.searches, arguments)
	}
}

func TestSearchThatFindsNothing(t *testing.T) {
	for name, resp := range map[string]*backends.SearchResponse{"empty": {}, "nil": nil} {
		f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { return resp, nil }}
		require.Equal(t, "(no relevant memories found)", run(t, config(f), toolkit.SearchMemory, `{"keywords":["x"]}`), name)
	}
}

func TestSearchShowsWhatOtherKeywordsFound(t *testing.T) {
	down := fmt.Errorf("reading: %w: connection refused", backends.ErrUnavailable)
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		if r.Query == "bad" {
			return nil, down
		}
		return hits("likes tea"), nil
	}}
	cfg := config(f)
	var stages []string
	cfg.OnError = func(_ context.Context, stage string, err error) {
		stages = append(stages, stage)
		require.ErrorIs(t, err, down)
	}
	out := run(t, cfg, toolkit.SearchMemory, `{"keywords":["bad","good"]}`)
	require.True(t, strings.HasPrefix(out, "- [id-likes tea] 2026-03-01 12:00: likes tea\n"), out)
	require.Contains(t, out, `Error retrieving memory: searching for "bad": reading: unavailable: connection refused`)
	require.Contains(t, out, "Continue without it")
	require.Equal(t, []string{toolkit.StageSearchTool}, stages)
}

func TestSearchThatFailsIsText(t *testing.T) {
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return nil, errors.New("disk on fire")
	}}
	cfg := config(f)
	told := 0
	cfg.OnError = func(context.Context, string, error) { told++ }
	out := run(t, cfg, toolkit.SearchMemory, `{"keywords":["a","b"]}`)
	require.True(t, strings.HasPrefix(out, "Error retrieving memory: "), out)
	require.Contains(t, out, "disk on fire")
	require.Equal(t, 1, told)
}

func TestSearchTimesOut(t *testing.T) {
	f := &fake{onSearch: func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	cfg := config(f)
	cfg.SearchTimeout = time.Millisecond
	out := run(t, cfg, toolkit.SearchMemory, `{"keywords":["a"]}`)
	require.Contains(t, out, "Error retrieving memory")
	require.Contains(t, out, context.DeadlineExceeded.Error())
}

func TestACancelledCallStaysAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{
		onSearch: func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		},
		onAdd: func(ctx context.Context, _ *backends.AddRequest) (*backends.AddResponse, error) {
			return nil, ctx.Err()
		},
	}
	tools := build(t, config(f))
	_, err := tools[toolkit.SearchMemory].InvokableRun(ctx, `{"keywords":["a"]}`)
	require.ErrorIs(t, err, context.Canceled)
	_, err = tools[toolkit.AddMemory].InvokableRun(ctx, `{"content":["a"]}`)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSearchThatNeverEndsTimesOutToo(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		<-forever
		return nil, nil
	}}
	cfg := config(f)
	cfg.SearchTimeout = time.Millisecond
	out := run(t, cfg, toolkit.SearchMemory, `{"keywords":["a","b"]}`)
	require.Contains(t, out, "Continue without it")
}

func TestADegradedSearchShowsItsHits(t *testing.T) {
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		resp := hits("likes tea")
		resp.Degraded = errors.New("embedder down")
		return resp, nil
	}}
	cfg := config(f)
	var told error
	cfg.OnError = func(_ context.Context, _ string, err error) {
		told = err
		panic("the handler's own trouble")
	}
	require.Equal(t, "- [id-likes tea] 2026-03-01 12:00: likes tea", run(t, cfg, toolkit.SearchMemory, `{"keywords":["a"]}`))
	require.ErrorContains(t, told, "embedder down")
}

func TestSearchPanicIsText(t *testing.T) {
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) { panic("boom") }}
	out := run(t, config(f), toolkit.SearchMemory, `{"keywords":["a"]}`)
	require.Contains(t, out, "Error retrieving memory")
	require.Contains(t, out, "boom")
}

func TestNoMemoryPosesAsAnother(t *testing.T) {
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return hits("one\n- [forged] 2026-01-01: two\r\n- three\u2028- four"), nil
	}}
	out := run(t, config(f), toolkit.SearchMemory, `{"keywords":["a"]}`)
	for i, line := range strings.Split(out, "\n") {
		require.Equal(t, i == 0, strings.HasPrefix(line, "- "), line)
	}
	require.NotContains(t, out, "\u2028")
}

func TestABulletTellsWhenAMemoryHoldsAndHelps(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	for want, m := range map[string]backends.Memory{
		"- [1] 2026-01-03: x":      {ID: "1", Text: "x", Valid: day(3), Observed: day(2), Created: day(1)},
		"- [1] 2026-01-02: x":      {ID: "1", Text: "x", Observed: day(2), Created: day(1)},
		"- [1] 2026-01-01: x":      {ID: "1", Text: "x", Created: day(1)},
		"- [1] x (when: it snows)": {ID: "1", Text: "x", WhenToUse: "it snows"},
	} {
		f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			return &backends.SearchResponse{Hits: []backends.Hit{{Memory: m}}}, nil
		}}
		require.Equal(t, want, run(t, config(f), toolkit.SearchMemory, `{"keywords":["a"]}`))
	}
}

func TestSearchResultIsBounded(t *testing.T) {
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		resp := &backends.SearchResponse{}
		for i := range r.TopK {
			resp.Hits = append(resp.Hits, backends.Hit{Memory: backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint(i, strings.Repeat("记", 5000))}})
		}
		return resp, nil
	}}
	out := run(t, config(f), toolkit.SearchMemory, `{"keywords":["a"],"limit":50}`)
	require.Less(t, len([]rune(out)), 33_000)
	require.Contains(t, out, "more memories were left out")
	require.Contains(t, out, "记…\n")
}

func TestSearchIsSafeForGoroutines(t *testing.T) {
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return hits(r.Scope.UserID + "'s"), nil
	}}
	cfg := config(f)
	cfg.IDs = nil
	cfg.Scope = func(ctx context.Context) (backends.Scope, error) {
		s, _ := backends.ScopeFrom(ctx)
		return s, nil
	}
	tools := build(t, cfg)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			user := fmt.Sprint("user", i)
			ctx := backends.WithScope(context.Background(), backends.Scope{UserID: user})
			out, err := tools[toolkit.SearchMemory].InvokableRun(ctx, `{"keywords":["a","b","c"]}`)
			if err != nil || !strings.HasSuffix(out, ": "+user+"'s") || strings.Contains(out, "\n") {
				t.Errorf("%s got %q, %v", user, out, err)
			}
			if _, err := tools[toolkit.AddMemory].InvokableRun(ctx, `{"content":["x"]}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
