// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

// desk is hooks with a window, on a real log and a real store.
type desk struct {
	*hooks.Hooks
	t        testing.TB
	sessions store.Sessions
	log      *working.Memory
	window   *window.Window
	backend  *learner
	failures *failures

	mu   sync.Mutex
	fits int
}

// setting is what a desk is made from.
type setting struct {
	tokens   int // of the window; 0: 4000
	sessions store.Sessions
	window   func(*window.Config)
	hooks    func(*hooks.Config)
}

func memorySessions(t testing.TB) store.Sessions {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func redisSessions(t testing.TB) store.Sessions {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = c.Close() })
	s, err := redisstore.New(context.Background(), c, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newDesk(t testing.TB, s setting) *desk {
	t.Helper()
	d := &desk{t: t, sessions: s.sessions, backend: &learner{}, failures: &failures{}}
	if d.sessions == nil {
		d.sessions = memorySessions(t)
	}
	if s.tokens == 0 {
		s.tokens = 4000
	}
	wc := &window.Config{
		Sessions: d.sessions, Budget: compaction.Budget{Window: s.tokens, Answer: -1, Tools: -1, Memories: -1}, OnError: d.failures.add,
		OnFit: func(context.Context, backends.Scope, *compaction.Result) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.fits++
		},
	}
	if s.window != nil {
		s.window(wc)
	}
	var err error
	d.window, err = window.New(wc)
	require.NoError(t, err)
	d.log, err = working.New(context.Background(), &working.Config{Sessions: d.sessions, Backend: d.backend, Sweep: -1, Idle: time.Hour, OpenTurn: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.log.Close(context.Background())) })
	d.backend.texts = []string{tea}
	hc := &hooks.Config{Backend: d.backend, Log: d.log, Plan: staticPlan, Scope: ann, OnError: d.failures.add, Window: d.window, SearchTimeout: 10 * time.Second}
	if s.hooks != nil {
		s.hooks(hc)
	}
	d.Hooks, err = hooks.New(hc)
	require.NoError(t, err)
	return d
}

// with puts the middleware into an agent.
func (d *desk) with(cfg *adk.ChatModelAgentConfig) {
	cfg.Middlewares = append(cfg.Middlewares, d.AgentMiddleware())
	cfg.MaxIterations = 100
}

func (d *desk) fine() {
	d.t.Helper()
	stages, err := d.failures.seen()
	require.Empty(d.t, stages, err)
}

// entries is the log of a scope's session.
func (d *desk) entries(s backends.Scope) []store.Entry {
	d.t.Helper()
	p, err := s.Speaker()
	require.NoError(d.t, err)
	log, err := d.sessions.Read(context.Background(), p, s.SessionID, store.Range{Limit: 100_000})
	require.NoError(d.t, err)
	return log
}

// logged is what ann's session says, without the marks that end turns, and checks
// that there is nothing in it of memory's own making.
func (d *desk) logged() []string {
	d.t.Helper()
	return d.loggedOf(ann)
}

func (d *desk) loggedOf(s backends.Scope) []string {
	d.t.Helper()
	var out []string
	log := d.entries(s)
	for i := range log {
		m := log[i].Message.Message
		require.Empty(d.t, einox.Marks(m), "no mark is in the log")
		require.NotEqual(d.t, schema.System, m.Role)
		for _, ours := range []string{"<memories>", "<core_memory>", "log-1", "archive a-", "[Memory:"} {
			require.NotContains(d.t, m.Content, ours)
		}
		if m.Content != "" || len(m.ToolCalls) > 0 || m.ToolCallID != "" {
			out = append(out, line(m))
		}
	}
	return out
}

// turns is how many turns ann's session has, and how many of them are done.
func (d *desk) turns() (all, done int) {
	d.t.Helper()
	ended := map[string]bool{}
	log := d.entries(ann)
	for i := range log {
		ended[log[i].Turn] = ended[log[i].Turn] || log[i].Done
	}
	for _, e := range ended {
		if e {
			done++
		}
	}
	return len(ended), done
}

// sane checks what must be true of every call of a model: a provider takes it, it
// is within the budget, and nothing is in it twice.
func (d *desk) sane(models ...*testkit.Chat) {
	d.t.Helper()
	for i, m := range models {
		for n, in := range m.Calls() {
			require.NoError(d.t, transcript.Check(in), "model %d, call %d: %v", i, n, outline(in))
			require.LessOrEqual(d.t, d.window.Usage(in).Over(), 0, "model %d, call %d", i, n)
			require.LessOrEqual(d.t, recalled(in), 1, "model %d, call %d", i, n)
		}
	}
}

// recalled is how many notes of searches are among messages.
func recalled(in []*schema.Message) (n int) {
	for _, m := range in {
		if einox.IsRecalled(m) {
			n++
		}
	}
	return n
}

// outline is what messages say, shortened.
func outline(messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = line(m)
		if len(out[i]) > 80 {
			out[i] = out[i][:80]
		}
	}
	return out
}

// shown is what a model was shown, without system messages and the note.
func shown(in []*schema.Message) []string {
	var out []string
	for _, m := range in {
		if m.Role != schema.System && !einox.IsRecalled(m) {
			out = append(out, line(m))
		}
	}
	return out
}

// next asks a new question in the session and returns what a model is shown of it
// in front of the question. Nothing of it is recorded.
func (d *desk) next() []string {
	d.t.Helper()
	return shown(d.nextMessages())
}

func (d *desk) nextMessages() []*schema.Message {
	d.t.Helper()
	in := d.BeforeReply(context.Background(), say("next?")).Messages
	require.NoError(d.t, transcript.Check(in), outline(in))
	res, err := d.window.Fit(context.Background(), ann, in)
	require.NoError(d.t, err)
	require.NoError(d.t, transcript.Check(res.Messages), outline(res.Messages))
	require.Equal(d.t, "next?", in[len(in)-1].Content)
	return in[:len(in)-1]
}

// page is a text of its own for every n, of that many words.
func page(n, words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = fmt.Sprintf("page%dword%d", n, i)
	}
	return strings.Join(out, " ")
}

// readTool returns page n.
func readTool(t testing.TB, words int) tool.BaseTool {
	t.Helper()
	tl, err := utils.InferTool("read", "reads", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		return page(in.N, words), nil
	})
	require.NoError(t, err)
	return tl
}

// readPages is a script that reads pages one after the other, and what is said.
func readPages(from, upto, words int, then ...testkit.Reply) (script []testkit.Reply, said []string) {
	for n := from; n < upto; n++ {
		script = append(script, testkit.Call(fmt.Sprint("c", n), "read", fmt.Sprintf(`{"n":%d}`, n)))
		said = append(said, "assistant:  calls read", "tool: "+page(n, words))
	}
	return append(script, then...), said
}

// door is one way to let memory into an agent.
type door struct{ middleware, runner bool }

var doors = map[string]door{"middleware": {true, false}, "runner": {false, true}, "both": {true, true}}

// enter returns how a new agent is run and resumed through a door.
func (d *desk) enter(by door, chat *testkit.Chat, points adk.CheckPointStore, streaming bool, tools ...tool.BaseTool) runner {
	d.t.Helper()
	inner := newRunner(newAgent(d.t, "a", chat, func(cfg *adk.ChatModelAgentConfig) {
		cfg.MaxIterations = 100
		if by.middleware {
			d.with(cfg)
		} else { // a wrapped runner alone fits what a run starts with: the model does the rest
			cfg.Model = d.WrapModel(chat)
		}
	}, tools...), streaming, points)
	if by.runner {
		return d.WrapRunner(inner)
	}
	return inner
}

// runner is what adk.Runner and hooks.Runner have in common.
type runner interface {
	Run(ctx context.Context, messages []adk.Message, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent]
	Query(ctx context.Context, query string, opts ...adk.AgentRunOption) *adk.AsyncIterator[*adk.AgentEvent]
	Resume(ctx context.Context, id string, opts ...adk.AgentRunOption) (*adk.AsyncIterator[*adk.AgentEvent], error)
}

func text(messages ...*schema.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

// assistant is what a model says.
func assistant(s string) *schema.Message { return schema.AssistantMessage(s, nil) }

// runTool runs what it is asked with a runner of its own.
func runTool(t testing.TB, r runner) tool.BaseTool {
	t.Helper()
	tl, err := utils.InferTool("run", "runs", func(ctx context.Context, q query) (string, error) {
		return strings.Join(drain(t, r.Query(ctx, q.Q)), "\n"), nil
	})
	require.NoError(t, err)
	return tl
}

// summariser is a model that writes summaries.
func summariser() *testkit.Chat {
	return testkit.New(testkit.Call("k", "keep_summary",
		`{"goal":"read page0word0","directives":[],"facts":["page0word1 page0word2"],"failed":[],"open":[],"next":[]}`))
}

// cores is how many messages of core blocks are among messages.
func cores(in []*schema.Message) (n int) {
	for _, m := range in {
		if einox.IsCore(m) {
			n++
		}
	}
	return n
}
