// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/middleware"
)

// crowdTokens is the window of the crowd: about two turns.
const crowdTokens = 600

// talker is one of many sessions over one middleware. Whatever is said in it has
// its own mark.
type talker struct {
	scope middleware.Scope
	n     int
}

func (p *talker) text(turn int, what string) string {
	return fmt.Sprintf("owner%dend %s of turn %d. %s", p.n, what, turn, pageText(1000*p.n+turn, 15))
}

var ownerMark = regexp.MustCompile(`owner(\d+)end|page(\d+)word`)

// own returns an error if messages have a word of somebody else's.
func (p *talker) own(messages []*schema.Message) error {
	for _, m := range messages {
		text := m.Content
		for _, c := range m.ToolCalls {
			text += c.Function.Arguments
		}
		for _, f := range ownerMark.FindAllStringSubmatch(text, -1) {
			var owner, page int
			_, _ = fmt.Sscan(f[1], &owner)
			_, _ = fmt.Sscan(f[2], &page)
			if f[1] != "" && owner != p.n || f[2] != "" && page/1000 != p.n {
				return fmt.Errorf("session %d was shown %s: %.300s", p.n, f[0], text)
			}
		}
	}
	return nil
}

// crowdOf serves many talkers with one middleware, one model and one tool: they
// know the talker by the context of the run. Each talker has an agent, because runs
// of one of this Eino race when they build its graph.
type crowdOf struct {
	memory    adk.AgentMiddleware
	look      tool.BaseTool
	calls     atomic.Int64
	compacted atomic.Int64
}

type talkerKey struct{}

func newCrowdOf(t *testing.T, db store.Sessions, told *failures) (*crowdOf, *middleware.MemoryMiddleware) {
	t.Helper()
	c := &crowdOf{}
	cfg := windowed(crowdTokens)
	cfg.Sessions, cfg.OnError = db, told.tell
	cfg.SearchTimeout = time.Minute // it is a crowd
	cfg.Working = &working.Config{Sweep: -1, Idle: time.Hour, MaxTurns: 1 << 20, MaxTokens: 1 << 30}
	cfg.Backend = forgetful{}
	cfg.Window.OnFit = func(_ context.Context, _ backends.Scope, r *compaction.Result) {
		if len(r.Steps) > 0 {
			c.compacted.Add(1)
		}
	}
	mem := open(t, cfg)
	var err error
	c.memory = mem.AgentMiddleware()
	c.look, err = utils.InferTool("look", "looks up", func(ctx context.Context, in struct {
		Turn int `json:"turn"`
	},
	) (string, error) {
		return ctx.Value(talkerKey{}).(*talker).text(in.Turn, "result"), nil
	})
	require.NoError(t, err)
	return c, mem
}

// forgetful is a backend that learns and finds nothing.
type forgetful struct{}

func (forgetful) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, nil
}

func (forgetful) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, nil
}

func (forgetful) Close(context.Context) error { return nil }

// watcher is the crowd's model: it calls the tool once a turn, then answers.
type watcher struct{ crowd *crowdOf }

func (w *watcher) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	p, turn := ctx.Value(talkerKey{}).(*talker), ctx.Value(turnKey{}).(int)
	w.crowd.calls.Add(1)
	if err := p.own(in); err != nil {
		return nil, err
	}
	if err := transcript.Check(in); err != nil {
		return nil, fmt.Errorf("session %d, turn %d: %w", p.n, turn, err)
	}
	if over := (compaction.Budget{Window: crowdTokens, Counter: compaction.Estimate}).Usage(in).Over(); over > 0 {
		return nil, fmt.Errorf("session %d, turn %d: %d tokens over", p.n, turn, over)
	}
	if last := in[len(in)-1]; last.Role == schema.User {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: fmt.Sprintf("c%d", turn), Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: fmt.Sprintf(`{"turn":%d}`, turn)}}}), nil
	}
	return schema.AssistantMessage(p.text(turn, "answer"), nil), nil
}

func (w *watcher) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := w.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func (w *watcher) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return w, nil }

type turnKey struct{}

// talk has so many turns, one after the other.
func (c *crowdOf) talk(p *talker, turns int) error {
	made, err := adk.NewChatModelAgent(context.Background(), &adk.ChatModelAgentConfig{
		Name: "crowd", Description: "serves many", Instruction: basePrompt, Model: &watcher{c}, Middlewares: []adk.AgentMiddleware{c.memory},
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{c.look}}},
	})
	if err != nil {
		return err
	}
	runner := adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: made})
	ctx := context.WithValue(middleware.WithScope(context.Background(), p.scope), talkerKey{}, p)
	for turn := range turns {
		if err := failureOf(runner.Query(context.WithValue(ctx, turnKey{}, turn), p.text(turn, "question"))); err != nil {
			return err
		}
	}
	return nil
}

// spoken checks that the log of a session has so many turns, each message once and
// in order.
func (p *talker) spoken(t *testing.T, db store.Sessions, turns int) {
	t.Helper()
	partition, err := p.scope.Speaker()
	require.NoError(t, err)
	log, err := db.Read(context.Background(), partition, p.scope.SessionID, store.Range{Limit: 10_000})
	require.NoError(t, err)
	var want []string
	for turn := range turns {
		want = append(want, "user: "+p.text(turn, "question"), "assistant: ", "tool: "+p.text(turn, "result"), "assistant: "+p.text(turn, "answer"))
	}
	require.Equal(t, want, texts(log))
}

// crowdSize says how many sessions talk at once, and how long.
func crowdSize() (sessions, turns int) {
	switch {
	case long:
		return 64, 50
	case raced || testing.Short():
		return 8, 8
	}
	return 32, 10
}

func crowded(t *testing.T, db store.Sessions) {
	sessions, turns := crowdSize()
	var told failures
	c, mem := newCrowdOf(t, db, &told)
	var people []*talker
	for n := range sessions { // users share ids of sessions, and sessions users
		people = append(people, &talker{n: n, scope: middleware.Scope{UserID: fmt.Sprint("user", n%8), AgentID: "helper", SessionID: fmt.Sprint("s", n/8)}})
	}
	before := heap()
	var most atomic.Int64
	most.Store(before)
	ended, sampling := make(chan struct{}), sync.WaitGroup{}
	sampling.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(100 * time.Millisecond):
				most.Store(max(most.Load(), heap()))
			}
		}
	})
	start := time.Now()
	var all errgroup.Group
	for _, p := range people {
		all.Go(func() error { return c.talk(p, turns) })
	}
	err := all.Wait()
	took := time.Since(start)
	close(ended)
	sampling.Wait()
	require.NoError(t, err)
	require.NoError(t, mem.Flush(t.Context()))
	grown := heap() - before
	for _, p := range people {
		p.spoken(t, db, turns)
	}
	require.Empty(t, told.stages)
	require.Greater(t, c.compacted.Load(), int64(sessions*(turns-4)), "every turn compacts once the window is full")
	t.Logf("%d sessions of %d turns in %v: %d calls of the model, %d contexts compacted; the heap grew by %d KiB, by at most %d KiB meanwhile",
		sessions, turns, took.Round(time.Millisecond), c.calls.Load(), c.compacted.Load(), grown>>10, (most.Load()-before)>>10)
	require.Less(t, grown, int64(8<<20), "what is held does not grow with what was said")
}

func TestManySessionsCompactAtOnce(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		db := openFile(t, filepath.Join(t.TempDir(), "memory.db"))
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		crowded(t, db)
	})
	t.Run("redis", func(t *testing.T) {
		db, err := redisstore.New(t.Context(), testredis.Need(t).Start(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		crowded(t, db)
	})
}
