// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/prompt"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann  = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func fixed() time.Time { return noon }

// perByte counts one token a byte of text, and 4 for a message.
var perByte = compaction.Tokenizer(func(s string) int { return len(s) })

// fake is a memory that finds what it is told to.
type fake struct {
	hits     []backends.Hit
	degraded error
	err      error
	none     bool // answers nothing at all
	asked    []*backends.SearchRequest
}

func (f *fake) Search(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	f.asked = append(f.asked, r)
	if f.err != nil || f.none {
		return nil, f.err
	}
	return &backends.SearchResponse{Hits: f.hits, Degraded: f.degraded}, nil
}

func (*fake) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, nil
}

func (*fake) Close(context.Context) error { return nil }

func hit(id, text string) backends.Hit {
	return backends.Hit{Memory: backends.Memory{ID: id, Text: text, Observed: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, Score: .5}
}

// tb is what testing.T and rapid.T have in common.
type tb interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

// world is a store with all that prompts are built of.
type world struct {
	t      tb
	db     *sqlitestore.Store
	reads  *unreliable
	memory *fake
	turns  int
	cfg    *prompt.Config
}

// unreliable is a store whose reads may fail.
type unreliable struct {
	store.Store
	err     error
	endless int // updates without a deadline
}

func (u *unreliable) Update(ctx context.Context, p backends.Partition, up *store.SessionUpdate) (*store.Session, error) {
	if _, ok := ctx.Deadline(); !ok {
		u.endless++
	}
	return u.Store.Update(ctx, p, up)
}

func (u *unreliable) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.Store.Session(ctx, p, id)
}

func (u *unreliable) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.Store.Read(ctx, p, id, r)
}

func newWorld(t tb, b compaction.Budget) *world {
	t.Helper()
	db, err := sqlitestore.Open(context.Background(), ":memory:", &sqlitestore.Config{Clock: fixed})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: db, reads: &unreliable{Store: db}, memory: &fake{}}
	sessions, err := session.New(&session.Config{Sessions: w.reads, Counter: b.Counter, Clock: fixed})
	require.NoError(t, err)
	w.cfg = &prompt.Config{Budget: b, Backend: w.memory, Sessions: sessions}
	return w
}

// compacting gives prompts a compactor of the free steps, and archives.
func (w *world) compacting(steps ...compaction.Step) *world {
	w.t.Helper()
	var err error
	w.cfg.Compactor, err = compaction.New(&compaction.Config{Budget: w.cfg.Budget, Steps: steps})
	require.NoError(w.t, err)
	w.cfg.Archives, err = archive.New(&archive.Config{Sessions: w.db})
	require.NoError(w.t, err)
	return w
}

func (w *world) blocks(text string) *world {
	w.t.Helper()
	var err error
	w.cfg.Core, err = core.New(&core.Config{Records: w.db, Clock: fixed, Blocks: []core.Block{{Name: "human", Initial: text}}})
	require.NoError(w.t, err)
	return w
}

// say appends a turn to the session's log.
func (w *world) say(messages ...*schema.Message) *world {
	w.t.Helper()
	w.turns++
	p, err := ann.Speaker()
	require.NoError(w.t, err)
	var entries []store.Entry
	for i, m := range messages {
		id := fmt.Sprintf("t%d-%d", w.turns, i)
		counter := w.cfg.Budget.Counter
		if counter == nil {
			counter = compaction.Estimate
		}
		entries = append(entries, store.Entry{
			Message: backends.Message{ID: id, Turn: fmt.Sprint("t", w.turns), Message: m, Time: noon},
			Tokens:  counter.Message(m), Done: i == len(messages)-1 && m.Role == schema.Assistant,
		})
	}
	_, err = w.db.Append(context.Background(), p, ann.SessionID, &store.Append{Entries: entries, Scope: ann})
	require.NoError(w.t, err)
	return w
}

func (w *world) build(r *prompt.Request) (*prompt.Prompt, error) {
	w.t.Helper()
	b, err := prompt.New(w.cfg)
	require.NoError(w.t, err)
	r.Scope = ann
	return b.Build(context.Background(), r)
}

func (w *world) must(r *prompt.Request) *prompt.Prompt {
	w.t.Helper()
	p, err := w.build(r)
	require.NoError(w.t, err)
	return p
}

// show writes messages as a text.
func show(messages []*schema.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "--- %s", m.Role)
		if m.Name != "" {
			fmt.Fprintf(&b, " %s", m.Name)
		}
		b.WriteByte('\n')
		if m.Content != "" {
			b.WriteString(m.Content + "\n")
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "call %s(%s)\n", c.Function.Name, c.Function.Arguments)
		}
	}
	return b.String()
}

func call(id, args string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: "find", Arguments: args}}})
}

func result(id, text string) *schema.Message {
	return schema.ToolMessage(text, id, schema.WithToolName("find"))
}

// broken is a store whose records cannot be read.
type broken struct{ store.Store }

func (broken) Get(context.Context, backends.Partition, ...string) ([]store.Record, error) {
	return nil, errDown
}

func markNote(m *schema.Message) *schema.Message {
	einox.MarkNote(m)
	return m
}

// load asks for the history that a prompt loads.
func load(p *prompt.Prompt) *session.LoadRequest {
	return &session.LoadRequest{Scope: ann, Tokens: p.Usage.Limit}
}

// history returns the messages of a prompt that are its history.
func history(messages []*schema.Message) []*schema.Message {
	return slices.DeleteFunc(slices.Clone(messages[:len(messages)-1]), func(m *schema.Message) bool {
		return m.Name == "context" || einox.IsCore(m) || einox.IsRecalled(m) || m == messages[0] && m.Role == schema.System
	})
}

func contents(messages []*schema.Message) []string {
	out := []string{}
	for _, m := range messages {
		out = append(out, einox.Text(m))
	}
	return out
}
