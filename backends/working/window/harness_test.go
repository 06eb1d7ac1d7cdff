// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/transcript"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

var ann = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}

// db is what all stores are.
type db interface {
	store.Sessions
	store.Records
}

func sqlite(t testing.TB) db {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func redisOf(t testing.TB) db {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = c.Close() })
	s, err := redisstore.New(context.Background(), c, &redisstore.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var everyStore = map[string]func(testing.TB) db{"sqlite": sqlite, "redis": redisOf}

// world is a window, its store, and the log of turns on the same store.
type world struct {
	*window.Window
	t        testing.TB
	sessions store.Sessions
	log      *working.Memory

	mu     sync.Mutex
	fits   []*compaction.Result
	scopes []backends.Scope
	stages []string
	errs   []error
}

// exactly is a budget of so many tokens, with nothing kept free.
func exactly(tokens int) compaction.Budget {
	return compaction.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1}
}

func newWorld(t testing.TB, tokens int, change func(*window.Config)) *world {
	t.Helper()
	x := &world{t: t}
	cfg := &window.Config{
		Budget: exactly(tokens), Sessions: nil, Language: backends.English,
		OnFit: func(_ context.Context, s backends.Scope, r *compaction.Result) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.fits, x.scopes = append(x.fits, r), append(x.scopes, s)
		},
		OnError: func(_ context.Context, stage string, err error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.stages, x.errs = append(x.stages, stage), append(x.errs, err)
		},
	}
	if change != nil {
		change(cfg)
	}
	if cfg.Sessions == nil {
		cfg.Sessions = sqlite(t)
	}
	x.sessions = cfg.Sessions
	var err error
	x.Window, err = window.New(cfg)
	require.NoError(t, err)
	x.log, err = working.New(context.Background(), &working.Config{Sessions: x.sessions, Backend: nowhere{}, Sweep: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.log.Close(context.Background())) })
	return x
}

// nowhere is a backend that learns nothing.
type nowhere struct{ backends.Backend }

func (nowhere) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, nil
}

// turn appends one complete turn.
func (x *world) turn(id string, messages ...*schema.Message) {
	x.t.Helper()
	require.NoError(x.t, x.log.Append(context.Background(), &working.Turn{Scope: ann, ID: id, Messages: messages, Done: true}))
}

// talk appends so many turns of a question and an answer, of so many words each.
func (x *world) talk(turns, size int) {
	x.t.Helper()
	for n := range turns {
		x.turn(fmt.Sprint("t", n), schema.UserMessage(prose("question", n, size)), schema.AssistantMessage(prose("answer", n, size), nil))
	}
}

// prose is a text of its own for every name and number.
func prose(name string, n, size int) string {
	words := make([]string, size)
	for i := range words {
		words[i] = fmt.Sprintf("%s%dw%d", name, n, i)
	}
	return strings.Join(words, " ")
}

func (x *world) history() []*schema.Message {
	x.t.Helper()
	h, err := x.History(context.Background(), ann)
	require.NoError(x.t, err)
	return h
}

// fit fits messages, which must work, and checks what must be true of every
// context that was fitted: a provider takes it, and it is within the budget.
func (x *world) fit(messages ...*schema.Message) *compaction.Result {
	x.t.Helper()
	res, err := x.Fit(context.Background(), ann, messages)
	require.NoError(x.t, err)
	x.valid(res.Messages)
	return res
}

func (x *world) valid(messages []*schema.Message) {
	x.t.Helper()
	require.NoError(x.t, transcript.Check(messages))
	require.LessOrEqual(x.t, x.Usage(messages).Over(), 0)
}

// told returns what OnError was told so far.
func (x *world) told() ([]string, []error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stages, x.errs
}

func (x *world) fine() {
	x.t.Helper()
	stages, errs := x.told()
	require.Empty(x.t, stages, errs)
}

// saying returns the roles and contents of messages.
func saying(messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = string(m.Role) + ": " + m.Content
	}
	return out
}

// reading is an exchange of an agent that reads a page of so many words.
func reading(n, size int) []*schema.Message {
	id := fmt.Sprint("c", n)
	return []*schema.Message{
		schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: fmt.Sprintf(`{"n":%d}`, n)}}}),
		schema.ToolMessage(prose("page", n, size), id, schema.WithToolName("read")),
	}
}

// summariser is a model that summarises: every part of its answer is from what it
// is shown.
func summariser() *testkit.Chat { return testkit.New(summarise) }

func summarise(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "k", Type: "function", Function: schema.FunctionCall{
		Name: "keep_summary", Arguments: `{"goal":"answer question0w0","directives":[],"facts":["answer0w0 answer0w1"],"failed":[],"open":[],"next":[]}`,
	}}}), nil
}
