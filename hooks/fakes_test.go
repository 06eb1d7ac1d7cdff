// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/modes"
)

var ann = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}

const tea = "Ann drinks green tea"

// backend is a fake that always finds the same.
type backend struct {
	backends.Backend
	mu       sync.Mutex
	texts    []string
	hits     []backends.Hit
	searches []backends.SearchRequest
	find     func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error)
}

func (b *backend) Search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	b.mu.Lock()
	b.searches = append(b.searches, *r)
	b.mu.Unlock()
	if b.find != nil {
		return b.find(ctx, r)
	}
	hits := append([]backends.Hit(nil), b.hits...)
	for i, t := range b.texts {
		hits = append(hits, backends.Hit{Score: 0.9, Memory: backends.Memory{ID: fmt.Sprintf("m%d", i), Text: t, Observed: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}})
	}
	return &backends.SearchResponse{Hits: hits}, nil
}

func (b *backend) queries() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]string, len(b.searches))
	for i, r := range b.searches {
		out[i] = r.Query
	}
	return out
}

// log is a fake that keeps what it is told. Open turns live in shared, which
// stands for the store that several processes have.
type log struct {
	mu           sync.Mutex
	turns        []working.Turn
	appended     int
	consolidated []backends.Scope
	shared       *openTurns
	err          error
	onRecord     func(ctx context.Context)
}

type openTurns struct {
	mu    sync.Mutex
	turns map[string]working.Turn
}

func newLog() *log { return &log{shared: &openTurns{turns: map[string]working.Turn{}}} }

func (l *log) Record(ctx context.Context, t *working.Turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onRecord != nil {
		l.onRecord(ctx)
	}
	if l.err != nil {
		return l.err
	}
	l.turns = append(l.turns, *t)
	return nil
}

func (l *log) Append(ctx context.Context, t *working.Turn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.Record(ctx, t); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appended++
	return nil
}

func (l *log) Consolidate(_ context.Context, s backends.Scope) (*backends.AddResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.consolidated = append(l.consolidated, s)
	return &backends.AddResponse{}, nil
}

func (l *log) SaveOpenTurn(_ context.Context, s backends.Scope, id string, t *working.Turn) error {
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	l.shared.turns[fmt.Sprint(s, id)] = *t
	return nil
}

func (l *log) TakeOpenTurn(_ context.Context, s backends.Scope, id string) (*working.Turn, error) {
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	t, ok := l.shared.turns[fmt.Sprint(s, id)]
	if !ok {
		return nil, nil
	}
	delete(l.shared.turns, fmt.Sprint(s, id))
	return &t, nil
}

func (l *log) recorded() []working.Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]working.Turn(nil), l.turns...)
}

// conversation is the log as it is kept: each message once, by turn and place.
func (l *log) conversation(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, turn := range l.recorded() {
		for i, m := range turn.Messages {
			require.False(t, einox.IsNote(m), "a note was recorded")
			require.Empty(t, einox.TurnOf(m), "a mark was recorded")
			at := turn.First + i
			switch {
			case at < len(out[turn.ID]):
				require.Equal(t, out[turn.ID][at], line(m), "a message changed under its id")
			case at == len(out[turn.ID]):
				out[turn.ID] = append(out[turn.ID], line(m))
			default:
				t.Fatalf("turn %s has a gap before %d", turn.ID, at)
			}
		}
	}
	return out
}

// turn is the only turn of the log.
func (l *log) turn(t *testing.T) []string {
	t.Helper()
	all := l.conversation(t)
	require.Len(t, all, 1)
	for _, lines := range all {
		return lines
	}
	return nil
}

func line(m *schema.Message) string {
	s := string(m.Role) + ": " + m.Content
	for _, c := range m.ToolCalls {
		s += " calls " + c.Function.Name
	}
	return s
}

func lines(messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = line(m)
	}
	return out
}

// notes counts the notes among messages.
func notes(messages []*schema.Message) int {
	n := 0
	for _, m := range messages {
		if einox.IsNote(m) {
			n++
		}
	}
	return n
}

// sees reports whether the text is among what a model was given.
func sees(messages []*schema.Message, text string) bool {
	for _, m := range messages {
		if strings.Contains(m.Content, text) {
			return true
		}
	}
	return false
}

// failures collects what OnError is told.
type failures struct {
	mu     sync.Mutex
	stages []string
	errs   []error
}

func (f *failures) add(_ context.Context, stage string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stages, f.errs = append(f.stages, stage), append(f.errs, err)
}

func (f *failures) seen() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.stages...), errors.Join(f.errs...)
}

// memory is a Hooks value and what is behind it.
type memory struct {
	*hooks.Hooks
	backend  *backend
	log      *log
	failures *failures
}

var staticPlan = modes.Plan{Search: true, Record: true}

func newMemory(t testing.TB, change func(*hooks.Config)) *memory {
	t.Helper()
	m := &memory{backend: &backend{texts: []string{tea}}, log: newLog(), failures: &failures{}}
	n := 0
	var mu sync.Mutex
	cfg := &hooks.Config{
		Backend: m.backend, Log: m.log, Plan: staticPlan, Scope: ann, OnError: m.failures.add,
		Clock: func() time.Time { return time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC) },
		IDs: func() string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("t%d", n)
		},
	}
	if change != nil {
		change(cfg)
	}
	h, err := hooks.New(cfg)
	require.NoError(t, err)
	m.Hooks = h
	return m
}

func (m *memory) fine(t *testing.T) {
	t.Helper()
	stages, err := m.failures.seen()
	require.Empty(t, stages, err)
}

// checkpoints is a checkpoint store in memory.
type checkpoints struct {
	mu   sync.Mutex
	data map[string][]byte
}

func newCheckpoints() *checkpoints { return &checkpoints{data: map[string][]byte{}} }

func (c *checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.data[id]
	return d, ok, nil
}

func (c *checkpoints) Set(_ context.Context, id string, d []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data[id] = d
	return nil
}

type query struct {
	Q string `json:"q"`
}

func echoTool(t testing.TB) tool.BaseTool {
	t.Helper()
	tl, err := utils.InferTool("echo", "echoes", func(_ context.Context, q query) (string, error) { return "echo:" + q.Q, nil })
	require.NoError(t, err)
	return tl
}

func askTool(t testing.TB) tool.BaseTool {
	t.Helper()
	tl, err := utils.InferTool("ask", "asks for approval", func(ctx context.Context, _ query) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was {
			return "", tool.Interrupt(ctx, "may I?")
		}
		return "approved", nil
	})
	require.NoError(t, err)
	return tl
}

func newAgent(t testing.TB, name string, m model.ToolCallingChatModel, change func(*adk.ChatModelAgentConfig), tools ...tool.BaseTool) *adk.ChatModelAgent {
	t.Helper()
	cfg := &adk.ChatModelAgentConfig{
		Name: name, Description: "an agent", Instruction: "You are " + name + ".", Model: m,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
	}
	if change != nil {
		change(cfg)
	}
	a, err := adk.NewChatModelAgent(context.Background(), cfg)
	require.NoError(t, err)
	return a
}

// with puts the memory's middleware into an agent.
func (m *memory) with(cfg *adk.ChatModelAgentConfig) {
	cfg.Middlewares = append(cfg.Middlewares, m.AgentMiddleware())
}

func newRunner(a adk.Agent, streaming bool, c adk.CheckPointStore) *adk.Runner {
	return adk.NewRunner(context.Background(), adk.RunnerConfig{Agent: a, EnableStreaming: streaming, CheckPointStore: c})
}

// drain reads all events and returns what was said in them.
func drain(t testing.TB, it *adk.AsyncIterator[*adk.AgentEvent]) []string {
	t.Helper()
	var out []string
	for {
		e, ok := it.Next()
		if !ok {
			return out
		}
		if e.Err != nil {
			out = append(out, "error: "+e.Err.Error())
		}
		if e.Output != nil && e.Output.MessageOutput != nil {
			m, err := e.Output.MessageOutput.GetMessage()
			if err != nil {
				out = append(out, "broken stream: "+err.Error())
				continue
			}
			out = append(out, line(m))
		}
		if e.Action != nil && e.Action.Interrupted != nil {
			out = append(out, "interrupted")
		}
	}
}

func say(texts ...string) []*schema.Message {
	out := make([]*schema.Message, len(texts))
	for i, s := range texts {
		out[i] = schema.UserMessage(s)
	}
	return out
}
