// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/internal/transcript"
)

// The crash tests run this test binary as a child process that leads a life of a
// session, and kills itself with SIGKILL right before or after its n-th step: a
// call of the store, or a command that is sent to Redis.
const (
	childStore = "EINOMEM_TEST_CHILD_STORE" // a file, or the address of a server; makes this process the child
	childStep  = "EINOMEM_TEST_CHILD_STEP"  // at which step it dies
	childUser  = "EINOMEM_TEST_CHILD_USER"
)

// runChild is the child process. It does nothing in the parent.
func runChild() {
	at := os.Getenv(childStore)
	if at == "" {
		return
	}
	left, err := strconv.Atoi(os.Getenv(childStep))
	fatal(err)
	die := func() {
		if left--; left == 0 {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		}
	}
	db, err := openChildStore(at, die)
	fatal(err)
	fatal(life(db, os.Getenv(childUser), func(step string) { fmt.Println(step) }))
	os.Exit(0)
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
}

func openChildStore(at string, die func()) (store.Sessions, error) {
	standing := func() time.Time { return epoch }
	if url, ok := strings.CutPrefix(at, "redis:"); ok {
		o, err := redis.ParseURL(url)
		if err != nil {
			return nil, err
		}
		c := redis.NewClient(o)
		db, err := redisstore.New(context.Background(), c, &redisstore.Config{Clock: standing})
		c.AddHook(dying(die)) // from here on
		return db, err
	}
	db, err := sqlitestore.Open(context.Background(), at, &sqlitestore.Config{Clock: standing, Synchronous: sqlitestore.Normal})
	step := func(call) error { die(); return nil }
	return &spied{Sessions: db, before: step, after: step}, err
}

// dying takes a step before and after each command.
type dying func()

func (d dying) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d dying) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		d()
		defer d()
		return next(ctx, cmd)
	}
}

func (d dying) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		d()
		defer d()
		return next(ctx, cmds)
	}
}

// life is what happens to a session. It may be begun again wherever it ended.
func life(db store.Sessions, name string, tell func(step string)) error {
	s := backends.Scope{UserID: name, AgentID: "bot", SessionID: "s1"}
	p, err := s.Speaker()
	if err != nil {
		return err
	}
	sessions, err := session.New(&session.Config{Sessions: db, Clock: func() time.Time { return epoch.Add(time.Hour) }})
	if err != nil {
		return err
	}
	say := func(messages ...said) func() error {
		return func() error {
			a := &store.Append{Scope: s}
			for _, m := range messages {
				m.at = epoch
				a.Entries = append(a.Entries, m.entry())
			}
			_, err := db.Append(context.Background(), p, s.SessionID, a)
			return err
		}
	}
	commit := func(from, upto int64) func() error {
		return func() error {
			_, err := sessions.CommitSummary(context.Background(), s, &session.Summary{From: from, Upto: upto, Text: fmt.Sprint("gist of ", upto)})
			return err
		}
	}
	fork := func(to string, upto int64) func() error {
		return func() error {
			_, err := sessions.Fork(context.Background(), s, to, upto)
			return err
		}
	}
	many := make([]said, 0, 250)
	for i := range 250 {
		many = append(many, user(fmt.Sprint("m", i), 0, fmt.Sprint("message ", i)).end())
	}
	for i, do := range []func() error{
		say(user("a", 0, "find it"), calls("a", 1, "x", "y")), say(result("a", 2, "x")), say(result("a", 3, "y"), reply("a", 4, "found").end()),
		commit(0, 5), say(many...), commit(5, 50), fork("s2", 240), fork("s3", 30),
	} {
		if err := do(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		tell(strconv.Itoa(i))
	}
	return nil
}

// childDies lets a child live until it dies at a step. It returns which part of its
// life was the last that it said was over, and whether it died.
func childDies(t *testing.T, at, name string, step int) (over int, died bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childStore+"="+at, childStep+"="+strconv.Itoa(step), childUser+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	over = len(strings.Fields(string(out))) - 1
	if err == nil {
		return over, false
	}
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit) && exit.ExitCode() == -1, "the child failed: %v", err)
	return over, true
}

// survived checks what a dead child left, and lives its life to the end.
func survived(t *testing.T, db store.Store, name string, over int) {
	t.Helper()
	w := newWorld(t, db, newClock())
	w.ann.UserID = name
	for _, id := range []string{"s1", "s2", "s3"} {
		h := w.load(&session.LoadRequest{Scope: scoped(w, id)})
		require.NoError(t, transcript.Check(append(h.Messages, schema.UserMessage("and now?"))))
		if id == "s1" && over >= 0 {
			st := h.Session
			require.GreaterOrEqual(t, st.LastSeq, []int64{2, 3, 5, 5, 255, 255, 255, 255}[over], "what was appended is there")
			require.GreaterOrEqual(t, st.SummaryUpto, []int64{0, 0, 0, 5, 5, 50, 50, 50}[over])
		}
	}
	require.NoError(t, life(db, name, func(string) {}))
	log := w.entries(w.ann)
	require.Len(t, log, 255)
	require.EqualValues(t, 50, w.state(w.ann).SummaryUpto)
	require.Equal(t, "gist of 50", w.state(w.ann).Summary)
	for id, upto := range map[string]int64{"s2": 240, "s3": 30} {
		st := w.state(scoped(w, id))
		require.Equal(t, log[:upto], w.entries(scoped(w, id)))
		require.Equal(t, upto, st.Watermark)
		require.Zero(t, st.Retry)
		require.Equal(t, upto > 50, st.SummaryUpto == 50)
	}
}

// stride is how many steps lie between the deaths.
func stride(usual int) int {
	if long {
		return 1
	}
	return usual * pace
}

func TestKilledAtAnyStep(t *testing.T) {
	n := 1
	for died := true; died; n += stride(5) {
		path := t.TempDir() + "/memory.db"
		var over int
		over, died = childDies(t, path, "ann", n)
		db := openSQLite(t, path, func() time.Time { return epoch })
		survived(t, db, "ann", over)
		require.NoError(t, db.Close())
	}
	t.Logf("%d steps", n)
	require.Greater(t, n, 60)
}

func TestOnRedisKilledAtAnyCommand(t *testing.T) {
	server := testredis.Need(t).Start(t)
	db := openRedis(t, server.Client(t), func() time.Time { return epoch })
	n := 1
	for died := true; died; n += stride(7) {
		name := fmt.Sprint("ann", n)
		var over int
		over, died = childDies(t, "redis:"+server.URL(), name, n)
		survived(t, db, name, over)
	}
	t.Logf("%d steps", n)
	require.Greater(t, n, 60)
}
