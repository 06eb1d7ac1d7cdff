// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	einomodel "github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/testkit"
)

// redisChild makes TestRedisChild a process of its own: "url role argument".
const redisChild = "EINOMEM_TEST_REDIS_CHILD"

// TestRedisChild is what the children of the Redis tests run.
func TestRedisChild(t *testing.T) {
	spec := strings.Fields(os.Getenv(redisChild))
	if len(spec) == 0 {
		t.Skip("it is for the processes that other tests start")
	}
	roles := map[string]func(*testing.T, *redis.Client, string){"steps": liveBySteps, "worker": liveByWork, "holder": liveByHolding, "agent": liveAsAgent}
	o, err := redis.ParseURL(spec[0])
	require.NoError(t, err)
	roles[spec[1]](t, redis.NewClient(o), spec[2])
	os.Exit(0)
}

// startRedisChild starts a child; what it prints comes line by line.
func startRedisChild(t *testing.T, url, role, argument string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRedisChild$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", redisChild, url, role, argument))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// redisBackend returns a mem0 on Redis. Its model tells, for each question that it is
// shown as new, that it was asked, in words that differ from call to call: learning
// twice from a question leaves two memories of it.
func redisBackend(t testing.TB, c *redis.Client, clock backends.Clock) *mem0.Backend {
	t.Helper()
	s, err := redisstore.New(context.Background(), c, &redisstore.Config{Clock: clock})
	require.NoError(t, err)
	b, err := mem0.New(context.Background(), &mem0.Config{Store: s, Mode: mem0.Additive, Clock: clock, Model: testkit.New(tellQuestions)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close(context.Background()); _ = s.Close() })
	return b
}

var asked = regexp.MustCompile(`"text":"question (\S+)"`)

func tellQuestions(_ context.Context, in []*schema.Message, _ *einomodel.Options) (*schema.Message, error) {
	_, news, _ := strings.Cut(in[len(in)-1].Content, "<new_messages>")
	type fact struct {
		Text string `json:"text"`
	}
	facts := []fact{}
	for _, m := range asked.FindAllStringSubmatch(news, -1) {
		facts = append(facts, fact{fmt.Sprintf("Ann asked %s in %s.", m[1], backends.NewID())})
	}
	text, err := json.Marshal(map[string]any{"facts": facts})
	return schema.AssistantMessage(string(text), nil), err
}

// told counts, for each question, the facts that were learnt from it, and for each
// message the turns that are kept of it.
func told(t *testing.T, b *mem0.Backend, scope backends.Scope) (facts, turns map[string]int) {
	t.Helper()
	facts, turns = map[string]int{}, map[string]int{}
	for cursor := ""; ; {
		page, err := b.List(t.Context(), &backends.ListRequest{Scope: scope, Limit: 1000, IncludeSuperseded: true, Cursor: cursor})
		require.NoError(t, err)
		for i := range page.Memories {
			if m := &page.Memories[i]; m.Kind == backends.KindFact {
				facts[strings.Fields(m.Text)[2]]++
			} else {
				turns[m.Text]++
			}
		}
		if cursor = page.Next; cursor == "" {
			return facts, turns
		}
	}
}

// dieAt kills this process right before or after a command that it sends.
type dieAt struct{ left int }

func (d *dieAt) step() {
	if d.left--; d.left == 0 {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
}

func (d *dieAt) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d *dieAt) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		d.step()
		defer d.step()
		return next(ctx, cmd)
	}
}

func (d *dieAt) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		d.step()
		defer d.step()
		return next(ctx, cmds)
	}
}

// redisMemory returns a working memory that does nothing by itself.
func redisMemory(t *testing.T, b *mem0.Backend, clock backends.Clock) *working.Memory {
	t.Helper()
	m, err := working.New(context.Background(), &working.Config{Sessions: b.Sessions(), Backend: b, Sweep: -1, Idle: time.Hour, Clock: clock})
	require.NoError(t, err)
	return m
}

// inRoom is Ann in a session of her own.
func inRoom(room string) backends.Scope {
	s := ann
	s.UserID, s.SessionID = "ann-"+room, "talk"
	return s
}

// liveBySteps appends and consolidates in a room, and dies at a step: "room-step".
func liveBySteps(t *testing.T, c *redis.Client, argument string) {
	room, at, _ := strings.Cut(argument, "-")
	step, err := strconv.Atoi(at)
	require.NoError(t, err)
	clock := func() time.Time { return epoch }
	b := redisBackend(t, c, clock)
	m := redisMemory(t, b, clock)
	c.AddHook(&dieAt{left: step})
	for i := range childTurns {
		require.NoError(t, m.Append(t.Context(), say(fmt.Sprint("t", i), inRoom(room))))
		fmt.Println("appended", i)
		if i > 0 {
			_, err := m.Consolidate(t.Context(), inRoom(room))
			require.NoError(t, err)
		}
	}
	fmt.Println("done")
}

// busyMemory returns a working memory that works as fast as it can.
func busyMemory(t *testing.T, b *mem0.Backend, back backends.Backend) *working.Memory {
	t.Helper()
	m, err := working.New(context.Background(), &working.Config{Sessions: b.Sessions(), Backend: back,
		Idle: 20 * time.Millisecond, MaxTurns: 3, Lease: time.Second, Sweep: 100 * time.Millisecond, Backoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond})
	require.NoError(t, err)
	return m
}

// liveByWork speaks in two rooms, one of them everybody's, until it is killed.
func liveByWork(t *testing.T, c *redis.Client, name string) {
	b := redisBackend(t, c, nil)
	m := busyMemory(t, b, b)
	for i := 0; ; i++ {
		id := fmt.Sprint(name, ".", i)
		require.NoError(t, m.Append(t.Context(), say(id, inRoom([]string{"all", name}[i%2]))))
		fmt.Println(id)
	}
}

// liveByHolding takes a session's lease, and learns for ever.
func liveByHolding(t *testing.T, c *redis.Client, room string) {
	b := redisBackend(t, c, nil)
	m := busyMemory(t, b, &holding{b})
	require.NoError(t, m.Append(t.Context(), say("held", inRoom(room))))
	_, _ = m.Consolidate(t.Context(), inRoom(room))
	select {}
}

type holding struct{ backends.Backend }

func (h *holding) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	fmt.Println("holding")
	select {}
}
