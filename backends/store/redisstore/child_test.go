// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// childEnv makes the test binary a process that lives a life, as child says: "url
// name death", where a death of n is that before the command (n+1)/2 when n is odd,
// right after the command n/2 when it is even, and never when it is zero.
const childEnv = "REDISSTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := child(spec, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(spec string, acks io.Writer) error {
	f := strings.Fields(spec)
	if f[1] == rivals {
		return rival(f[0], f[2], acks)
	}
	death, err := strconv.Atoi(f[2])
	if err != nil {
		return err
	}
	c, s, err := dial(f[0])
	if err != nil {
		return err
	}
	n := 0
	step := func(string) error {
		if n++; n == death {
			die()
		}
		return nil
	}
	c.AddHook(&hook{before: step, after: step})
	return newLife(f[1]).live(context.Background(), s, 0, func(i int) { fmt.Fprintln(acks, i) })
}

func dial(url string) (*redis.Client, *redisstore.Store, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, err
	}
	c := redis.NewClient(o)
	s, err := redisstore.New(context.Background(), c, nil)
	return c, s, err
}

// rivals is the name of the processes that write to one session and one record until
// they are killed, each with a name of its own in the place of a death.
const rivals = "rivals"

func rival(url, name string, acks io.Writer) error {
	_, s, err := dial(url)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := compete(context.Background(), s, fmt.Sprint(name, "-", i)); err != nil {
			return err
		}
		fmt.Fprintln(acks, i)
	}
}

// compete writes a message, and learns from all there is.
func compete(ctx context.Context, s *redisstore.Store, id string) error {
	log, err := s.Append(ctx, ann, "log", &store.Append{Entries: []store.Entry{said(id + "a"), said(id + "b")}})
	if err != nil {
		return err
	}
	_, err = s.Apply(ctx, ann, &store.Batch{Key: id, Mutations: []store.Mutation{put(id, id), store.Increment("count", "n", 1)},
		Session: &store.SessionUpdate{Session: "log", Watermark: &log.LastSeq}})
	return err
}

// die is kill -9.
func die() {
	p, _ := os.FindProcess(os.Getpid())
	_ = p.Kill()
	select {}
}

// life is what a process does to two partitions that nobody else has, one deed after
// the other. Doing one again changes nothing, but for the last one.
type life struct{ p, q backends.Partition }

func newLife(name string) *life {
	return &life{
		p: backends.Partition{Namespace: "space-" + name, Kind: backends.PartitionUser, ID: "ann"},
		q: backends.Partition{Namespace: "space-" + name, Kind: backends.PartitionWorkspace, ID: "team"},
	}
}

// The deeds that tests look at.
const (
	firstTurn = iota
	teamFacts
	acquired
	learnt
	secondTurn
	release
	blobPut
	teamDropped
	teamAgain
	counted
	deeds
)

func (l *life) do(ctx context.Context, s *redisstore.Store, deed int) (err error) {
	two := int64(2)
	switch deed {
	case firstTurn, secondTurn:
		turn := []string{"one", "two"}[deed/secondTurn]
		_, err = s.Append(ctx, l.p, "log", &store.Append{Entries: []store.Entry{said(turn + "-a"), said(turn + "-b")}})
	case teamFacts:
		_, err = s.Apply(ctx, l.q, &store.Batch{Key: "team", Mutations: []store.Mutation{put("x", "1"), put("y", "2")}})
	case acquired:
		_, err = s.Update(ctx, l.p, &store.SessionUpdate{Session: "log", Acquire: &store.Acquire{Owner: "w", For: time.Hour}})
	case learnt:
		st, err := s.Session(ctx, l.p, "log")
		if err != nil {
			return err
		}
		fact := store.Record{Memory: backends.Memory{ID: "b", Text: "b"}, Vector: make([]byte, 512)}
		_, err = s.Apply(ctx, l.p, &store.Batch{Key: "turn one", Embedding: &store.Embedding{Model: "m", Dim: 128},
			Mutations: []store.Mutation{put("a", "a"), put("count", ""), store.Increment("count", "m", 1), store.Put(&fact), store.Delete("a")},
			Session:   &store.SessionUpdate{Session: "log", Token: st.Lease.Token, Watermark: &two}})
		return err
	case release:
		_, err = s.Update(ctx, l.p, &store.SessionUpdate{Session: "log", Summary: text("a talk"), SummaryUpto: &two})
	case blobPut:
		err = s.PutBlob(ctx, l.p, "log", "blob", []byte("data"))
	case teamDropped:
		_, err = s.Drop(ctx, l.q)
	case teamAgain:
		_, err = s.Append(ctx, l.q, "log", &store.Append{Entries: []store.Entry{said("three")}})
	case counted:
		_, err = s.Apply(ctx, l.p, &store.Batch{Mutations: []store.Mutation{store.Increment("count", "n", 1)}})
	}
	return err
}

// live does what there is to do, from a deed on, and acknowledges each.
func (l *life) live(ctx context.Context, s *redisstore.Store, from int, ack func(deed int)) error {
	for deed := from; deed < deeds; deed++ {
		if err := l.do(ctx, s, deed); err != nil {
			return fmt.Errorf("deed %d: %w", deed, err)
		}
		ack(deed)
	}
	return nil
}

// runChild lets a process live until its death, and returns how many deeds it
// acknowledged, and whether it died.
func runChild(t *testing.T, url, name string, death int) (acks int, died bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", childEnv, url, name, death))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); acks++ {
		require.Equal(t, strconv.Itoa(acks), lines.Text())
	}
	if err = cmd.Wait(); err == nil {
		return acks, false
	}
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "it failed, and was not killed: %v", err)
	return acks, true
}

// runningRival is a process that competes.
type runningRival struct {
	name  string
	cmd   *exec.Cmd
	lines *bufio.Scanner
	acks  int // it acknowledged 0 to acks-1
}

func startRival(t *testing.T, url, name string) *runningRival {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", childEnv, url, rivals, name))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &runningRival{name: name, cmd: cmd, lines: bufio.NewScanner(out)}
}

// kill kills it after so many acknowledgements, and counts those that came before.
func (r *runningRival) kill(t *testing.T, after int) {
	t.Helper()
	for r.acks < after {
		require.True(t, r.lines.Scan(), "it ended by itself")
		r.acks++
	}
	require.NoError(t, r.cmd.Process.Kill())
	for r.lines.Scan() {
		if r.lines.Text() != strconv.Itoa(r.acks) {
			break // cut off
		}
		r.acks++
	}
	require.Error(t, r.cmd.Wait())
}
