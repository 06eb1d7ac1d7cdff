// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Server is a server that belongs to one test, which stops it at its end. Its
// methods are for one goroutine; those that fail, fail the test.
type Server struct {
	Addr string // host:port, of the loopback

	t       testing.TB
	flavour Flavour
	port    int
	dir     string // where it runs and keeps its files
	args    []string
	proc    *process // the last one
}

// Ports are taken from below the range that systems give to outgoing connections,
// so that a server that comes back finds its port free; a cluster's nodes also
// listen ten thousand ports above.
const (
	lowestPort = 11000
	busOffset  = 10000
)

// Start starts a server and waits until it answers. It keeps nothing on disk unless
// args ask for it: "--appendonly", "yes". A password that args set ("--requirepass",
// "secret") is used by Client. When the test fails, the server's log is printed.
func (f Flavour) Start(t testing.TB, args ...string) *Server {
	t.Helper()
	var err error
	for range 5 { // the port may be taken
		s := &Server{t: t, flavour: f, port: lowestPort + rand.IntN(busOffset), dir: t.TempDir()}
		s.Addr = fmt.Sprint("127.0.0.1:", s.port)
		s.args = append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
			"--repl-diskless-sync-delay", "0"}, args...) // of a name that is there twice the last counts
		if err = s.run(); err == nil {
			t.Cleanup(s.cleanup)
			return s
		}
		err = fmt.Errorf("%w\n%s", err, s.log())
	}
	t.Fatalf("start %s: %v", f.Name, err)
	return nil
}

// run starts the program and waits until it answers.
func (s *Server) run() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), s.flavour.Program, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if s.proc, err = launch(cmd); err != nil {
		return err
	}
	err = await(func(ctx context.Context) error {
		if !s.proc.alive() {
			return nil
		}
		return s.answers(ctx, cmd.Process.Pid)
	})
	if err == nil && !s.proc.alive() {
		err = errors.New("the server ended at once")
	}
	if err != nil {
		s.proc.kill()
	}
	return err
}

// answers reports whether the process itself answers at the server's address, and has
// loaded its data.
func (s *Server) answers(ctx context.Context, pid int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr) // go-redis logs refused connections
	if err != nil {
		return err
	}
	_ = conn.Close()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, Password: s.password(), PoolSize: 1, MaxRetries: -1})
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil {
		return err
	}
	info := c.InfoMap(ctx, "server")
	if got := info.Item("Server", "process_id"); info.Err() == nil && got != strconv.Itoa(pid) {
		return fmt.Errorf("process %s answers, not %d: a script must end in exec", got, pid)
	}
	return info.Err()
}

func (s *Server) cleanup() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("the log of %s at %s:\n%s", s.flavour.Name, s.Addr, s.log())
	}
}

// log returns the end of what the server printed.
func (s *Server) log() string {
	const most = 8 << 10
	log, _ := os.ReadFile(s.logFile())
	return string(log[max(0, len(log)-most):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }

// Kill kills the server and waits until it is gone. One that is gone already stays so.
func (s *Server) Kill() { s.proc.kill() }

// Restart kills the server if it runs, starts it with the same port and folder, and
// waits until it has loaded what it kept and answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.run(); err != nil {
		s.t.Fatalf("restart %s at %s: %v\n%s", s.flavour.Name, s.Addr, err, s.log())
	}
}

// Freeze halts the server: connections stand, nothing is answered.
func (s *Server) Freeze() { s.t.Helper(); s.signal("STOP") }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.t.Helper(); s.signal("CONT") }

func (s *Server) signal(name string) {
	s.t.Helper()
	if err := s.proc.signal(name); err != nil {
		s.t.Fatalf("%s at %s: %v", s.flavour.Name, s.Addr, err)
	}
}

// URL returns redis://host:port/0, without the password.
func (s *Server) URL() string { return "redis://" + s.Addr + "/0" }

func (s *Server) password() string {
	if i := slices.Index(s.args, "--requirepass"); i >= 0 && i+1 < len(s.args) {
		return s.args[i+1]
	}
	return ""
}

// Client returns a client that the test closes at its end. It has go-redis' own
// settings, but for what opts change.
func (s *Server) Client(t testing.TB, opts ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: s.Addr, Password: s.password(), ContextTimeoutEnabled: true}
	for _, opt := range opts {
		opt(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Hook has before called right before each command or pipeline of a client is sent, and
// after right after it was answered, with the command or those of the pipeline. Their
// errors take the place of the commands' own. Either may be nil.
func Hook(c redis.UniversalClient, before, after func(cmds []redis.Cmder) error) {
	c.AddHook(&hook{before, after})
}

type hook struct {
	before, after func(cmds []redis.Cmder) error
}

func (*hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.around([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.around(cmds, func() error { return next(ctx, cmds) })
	}
}

func (h *hook) around(cmds []redis.Cmder, send func() error) error {
	fail := func(err error) error {
		for _, c := range cmds {
			c.SetErr(err)
		}
		return err
	}
	if h.before != nil {
		if err := h.before(cmds); err != nil {
			return fail(err)
		}
	}
	own := send()
	if h.after != nil {
		if err := h.after(cmds); err != nil {
			return fail(err)
		}
	}
	return own
}
