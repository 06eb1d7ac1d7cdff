// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// The kill tests of working memory run this test binary as a child process that
// has a part of a session, and dies by SIGKILL: by itself right before or after its
// n-th step, which is a call of the store or a command to Redis, or by its parent.

// windowChild makes TestWindowChild a process of its own: a life as JSON.
const windowChild = "EINOMEM_TEST_WINDOW_CHILD"

// life says what a child does.
type life struct {
	Store string // a file, or the URL of a server
	User  string
	Role  string // see TestWindowChild
	Pages int    // that the agent reads
	Shown string // the file in which the child writes what a model is shown, before it answers
	Step  int    // at which it dies; 0: at none

	steps atomic.Int64
}

// TestWindowChild is what the children run.
func TestWindowChild(t *testing.T) {
	spec := os.Getenv(windowChild)
	if spec == "" {
		t.Skip("it is for the processes that other tests start")
	}
	var l life
	require.NoError(t, json.Unmarshal([]byte(spec), &l))
	db := l.open(t, func() {
		if l.steps.Add(1) == int64(l.Step) {
			die()
		}
	})
	switch l.Role {
	case "talks":
		liveByTalking(t, &l, db)
	case "summarises", "summarises slowly":
		liveBySummarising(t, &l, db)
	default:
		liveByReading(t, &l, db)
	}
	fmt.Println("steps", l.steps.Load())
	os.Exit(0)
}

func die() {
	p, _ := os.FindProcess(os.Getpid())
	_ = p.Kill()
	select {}
}

// open opens the child's store; step is called before and after each of its steps.
func (l *life) open(t *testing.T, step func()) store.Sessions {
	if !strings.HasPrefix(l.Store, "redis:") {
		return stepping{openFile(t, l.Store), step}
	}
	o, err := redis.ParseURL(l.Store)
	require.NoError(t, err)
	c := redis.NewClient(o)
	db, err := redisstore.New(context.Background(), c, nil)
	require.NoError(t, err)
	c.AddHook(steppingHook(step))
	return db
}

func openFile(t testing.TB, path string) *sqlitestore.Store {
	t.Helper()
	db, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{Synchronous: sqlitestore.Normal, BusyTimeout: time.Minute})
	require.NoError(t, err)
	return db
}

// start starts the child; what it prints comes line by line.
func (l *life) start(t *testing.T) (*child, *bufio.Scanner) {
	t.Helper()
	spec, err := json.Marshal(l)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestWindowChild$")
	cmd.Env = append(os.Environ(), windowChild+"="+string(spec))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{cmd, in}, bufio.NewScanner(out)
}

// child is a process, and what it reads.
type child struct {
	*exec.Cmd
	in io.WriteCloser
}

// goOn lets a child that waits go on.
func (c *child) goOn(t *testing.T) {
	t.Helper()
	_, err := c.in.Write([]byte("\n"))
	require.NoError(t, err)
}

// run lets the child live to its end, and returns what it printed and whether it
// was killed.
func (l *life) run(t *testing.T) (lines []string, killed bool) {
	t.Helper()
	cmd, out := l.start(t)
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	return lines, wasKilled(t, cmd, lines)
}

// wasKilled waits for the child's end, which is a kill or a success.
func wasKilled(t *testing.T, cmd *child, lines []string) bool {
	t.Helper()
	if err := cmd.Wait(); err != nil {
		require.Equal(t, -1, cmd.ProcessState.ExitCode(), "the child failed: %v: %q", err, lines)
		return true
	}
	return false
}

// stepping takes a step before and after each call.
type stepping struct {
	store.Sessions
	step func()
}

func (s stepping) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	s.step()
	defer s.step()
	return s.Sessions.Append(ctx, p, id, a)
}

func (s stepping) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	s.step()
	defer s.step()
	return s.Sessions.Session(ctx, p, id)
}

func (s stepping) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	s.step()
	defer s.step()
	return s.Sessions.Read(ctx, p, id, r)
}

func (s stepping) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	s.step()
	defer s.step()
	return s.Sessions.Update(ctx, p, u)
}

func (s stepping) PutBlob(ctx context.Context, p backends.Partition, id, name string, data []byte) error {
	s.step()
	defer s.step()
	return s.Sessions.PutBlob(ctx, p, id, name, data)
}

// steppingHook takes a step before and after each command.
type steppingHook func()

func (steppingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s steppingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s()
		defer s()
		return next(ctx, cmd)
	}
}

func (s steppingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s()
		defer s()
		return next(ctx, cmds)
	}
}
