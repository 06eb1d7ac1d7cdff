// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// remeChild makes TestRemeChild a process of its own: a clerk's day as JSON.
const remeChild = "EINOMEM_TEST_REME_CHILD"

// day says what a child does: an agent that refunds orders, one a turn, with reme.
type day struct {
	Store  string // a file, or the URL of a server
	User   string
	Await  bool // each turn waits until it is learnt from
	Heir   bool // it takes over from one that is dead, and waits for no turn of it
	Pieces bool // its turns are learnt from in pieces
	Shared bool // ReMe's layout: what is known of users is in the workspace, too
	Nobody bool // its scope names no user: the agent's own memory
	Orders int
	Step   int // at which it dies; 0: at none
	// After is the kind of a partition: the child dies when its first batch of memories
	// is stored there, before anybody is told.
	After backends.PartitionKind

	steps atomic.Int64
}

// TestRemeChild is what the children run.
func TestRemeChild(t *testing.T) {
	spec := os.Getenv(remeChild)
	if spec == "" {
		t.Skip("it is for the processes that other tests start")
	}
	var d day
	require.NoError(t, json.Unmarshal([]byte(spec), &d))
	ctx := middleware.WithScope(context.Background(), d.scope())
	b, mem := d.memory(t, d.open(t, func() {
		if d.steps.Add(1) == int64(d.Step) {
			die()
		}
	}))
	for n := range d.Orders {
		d.turn(t, mem, n)
		fmt.Println("said", n)
		if !d.Await && n%2 == 1 {
			require.NoError(t, mem.Flush(ctx))
			fmt.Println("flushed", n)
		}
	}
	require.NoError(t, mem.Flush(ctx))
	fmt.Println("flushed", d.Orders-1)
	require.NoError(t, mem.Close(ctx))
	require.NoError(t, b.Close(ctx))
	fmt.Println("steps", d.steps.Load())
	os.Exit(0)
}

func (d *day) scope() middleware.Scope {
	if d.Nobody {
		return middleware.Scope{AgentID: "clerk of " + d.User, SessionID: "s1", Workspace: "desk of " + d.User}
	}
	return middleware.Scope{UserID: d.User, AgentID: "clerk", SessionID: "s1", Workspace: "desk of " + d.User}
}

// memory is that of the child, and of who looks after it.
func (d *day) memory(t testing.TB, db store.Store) (*reme.Backend, *middleware.MemoryMiddleware) {
	cfg := &reme.Config{Store: db, Model: &rewording{Learner: &testkit.Learner{}}, Verdict: reme.VerdictOf("refund", "passed")}
	cfg.Tools.RefreshAfter, cfg.Personal.InWorkspace = 2, d.Shared
	b, err := reme.New(context.Background(), cfg)
	require.NoError(t, err)
	w := &working.Config{Sweep: -1, Lease: 300 * time.Millisecond, Idle: time.Millisecond, MaxTurns: 2}
	if d.Pieces {
		w.MaxTokens = 8
	}
	if d.Heir {
		w.OpenTurn = time.Millisecond
	}
	mem, err := middleware.New(context.Background(), &middleware.Config{Backend: b, Mode: modes.Both, AwaitWrite: d.Await, Working: w})
	require.NoError(t, err)
	return b, mem
}

// turn refunds one order: what is learnt from it is its own.
func (d *day) turn(t *testing.T, mem *middleware.MemoryMiddleware, n int) {
	order := n + 10
	agent := clerk(t, mem, testkit.New(
		testkit.Call("c1", "refund", fmt.Sprintf(`{"order":%d}`, order)),
		testkit.Text(fmt.Sprintf("LESSON refunding %s | look into drawer %s", orderName(order), orderName(order))),
	), refundTool(t))
	drain(t, agent.Query(middleware.WithScope(context.Background(), d.scope()), fmt.Sprintf("Refund it. FACT %s bought %s", d.User, orderName(order))))
}

// orderName is a word of its own for each order.
func orderName(n int) string { return strings.Repeat(string(rune('a'+n%26)), 3+n/26) }

// open opens the child's store; step is called before and after each of its steps.
func (d *day) open(t *testing.T, step func()) store.Store {
	if !strings.HasPrefix(d.Store, "redis:") {
		db := openFile(t, d.Store)
		return steppingStore{stepping{db, step}, steppingRecords{db, step, d.After}, db}
	}
	o, err := redis.ParseURL(d.Store)
	require.NoError(t, err)
	c := redis.NewClient(o)
	db, err := redisstore.New(context.Background(), c, nil)
	require.NoError(t, err)
	c.AddHook(steppingHook(step))
	return db
}

// steppingStore takes a step before and after each call that changes something, and
// each that reads records.
type steppingStore struct {
	stepping
	steppingRecords
	closer interface{ Close() error }
}

func (s steppingStore) Close() error { return s.closer.Close() }

type steppingRecords struct {
	store.Records
	step  func()
	after backends.PartitionKind
}

func (s steppingRecords) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	s.step()
	defer s.step()
	applied, err := s.Records.Apply(ctx, p, b)
	if err == nil && p.Kind == s.after && !applied.Replayed && len(b.Mutations) > 0 {
		die()
	}
	return applied, err
}

func (s steppingRecords) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	s.step()
	defer s.step()
	return s.Records.Get(ctx, p, ids...)
}

func (s steppingRecords) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	s.step()
	defer s.step()
	return s.Records.Changes(ctx, p, cursor)
}

// start starts the child; what it prints comes line by line.
func (d *day) start(t *testing.T) (*child, *bufio.Scanner) {
	t.Helper()
	spec, err := json.Marshal(d)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestRemeChild$")
	cmd.Env = append(os.Environ(), remeChild+"="+string(spec))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{cmd, in}, bufio.NewScanner(out)
}

// run lets the child live to its end, and returns what it printed and whether it was
// killed.
func (d *day) run(t *testing.T) (lines []string, killed bool) {
	t.Helper()
	cmd, out := d.start(t)
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	return lines, wasKilled(t, cmd, lines)
}

// rewording is a model that never says the same twice: what is learnt again is not
// recognised by its words.
type rewording struct{ *testkit.Learner }

func (r *rewording) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := r.Learner.WithTools(tools)
	return &rewordingTool{inner}, err
}

type rewordingTool struct{ model.ToolCallingChatModel }

func (r *rewordingTool) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	m, err := r.ToolCallingChatModel.Generate(ctx, in, opts...)
	if err == nil && !strings.Contains(m.ToolCalls[0].Function.Name, "verdicts") {
		c := &m.ToolCalls[0].Function
		word := " {" + backends.NewID() + "}"
		c.Arguments = strings.NewReplacer("look into drawer", "look into drawer"+word, "bought", "bought"+word).Replace(c.Arguments)
	}
	return m, err
}

// reworded are the words that the model put in.
var reworded = regexp.MustCompile(` \{[-0-9a-f]+\}`)
