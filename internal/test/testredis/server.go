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
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Server is a server of one test, which stops it at its end. Its methods are for one
// goroutine; a failing method fails the test.
type Server struct {
	Addr string // host:port, of the loopback

	t       testing.TB
	flavour Flavour
	port    int
	dir     string // its working folder, with its files
	args    []string

	proc *os.Process   // the last one
	done chan struct{} // closed when it has ended
}

// Ports lie below the range that systems give to outgoing connections, so a server that
// comes back finds its port free. A cluster's nodes also listen ten thousand ports above.
const (
	lowestPort = 11000
	busOffset  = 10000
)

// Start starts a server and waits until it answers. It keeps data on disk only if args
// ask for it: "--appendonly", "yes". Client uses a password that args set
// ("--requirepass", "secret"). When the test fails, the server's log is printed.
func (f Flavour) Start(t testing.TB, args ...string) *Server {
	t.Helper()
	var err error
	for range 5 { // the port may be taken
		s := &Server{t: t, flavour: f, port: lowestPort + rand.IntN(busOffset), dir: t.TempDir()}
		s.Addr = fmt.Sprint("127.0.0.1:", s.port)
		s.args = append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
			"--repl-diskless-sync-delay", "0"}, args...) // the last one of a repeated name counts
		if err = s.run(); err == nil {
			t.Cleanup(s.cleanup)
			return s
		}
		err = fmt.Errorf("%w\n%s", err, s.log())
	}
	require.NoError(t, err, "start %s", f.Name)
	return nil
}

// dieWithUs makes Linux kill the program when the thread that started it ends.
var dieWithUs = []string{"setpriv", "--pdeathsig", "KILL"}

const (
	patience = 30 * time.Second // for a server's own work, on a busy machine
	glance   = 10 * time.Millisecond
)

// await calls check until it returns nil, and returns its last error when the patience ends.
func await(check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(glance)
	}
}

// run starts the program and waits until it answers.
func (s *Server) run() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	words := append([]string{s.flavour.Program}, s.args...)
	if _, err := exec.LookPath(dieWithUs[0]); err == nil { // else it outlives a test that is killed
		words = slices.Concat(dieWithUs, words)
	}
	cmd := exec.CommandContext(context.Background(), words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.proc, s.done = cmd.Process, make(chan struct{})
	go func(done chan struct{}) {
		_ = cmd.Wait() // its log has how it ended
		close(done)
	}(s.done)
	err = await(func(ctx context.Context) error {
		if s.ended() {
			return nil
		}
		return s.answers(ctx)
	})
	if err == nil && s.ended() {
		err = errors.New("the server ended at once")
	}
	if err != nil {
		s.Kill()
	}
	return err
}

func (s *Server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// answers returns nil once the process itself answers at the server's address, and has
// loaded its data.
func (s *Server) answers(ctx context.Context) error {
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
	if got := info.Item("Server", "process_id"); info.Err() == nil && got != strconv.Itoa(s.proc.Pid) {
		return fmt.Errorf("process %s answers, not %d: a script must end in exec", got, s.proc.Pid)
	}
	return info.Err()
}

func (s *Server) cleanup() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("the log of %s at %s:\n%s", s.flavour.Name, s.Addr, s.log())
	}
}

// log returns the end of the server's output.
func (s *Server) log() string {
	const most = 8 << 10
	log, _ := os.ReadFile(s.logFile())
	return string(log[max(0, len(log)-most):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }

// Kill kills the server and waits until it is gone, frozen or running. A server that is
// gone already stays so.
func (s *Server) Kill() {
	_ = s.proc.Kill() // an error means that it is gone
	<-s.done
}

// Restart kills the server if it runs, starts it with the same port and folder, and waits
// until it has loaded its data and answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	err := s.run()
	require.NoError(s.t, err, "restart %s at %s\n%s", s.flavour.Name, s.Addr, s.log())
}

// Freeze halts the server: connections stand, and answers stop.
func (s *Server) Freeze() { s.t.Helper(); s.signal("STOP") }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.t.Helper(); s.signal("CONT") }

// signal sends a signal by its name: some systems that Go knows lack them.
func (s *Server) signal(name string) {
	s.t.Helper()
	command := fmt.Sprint("kill -", name, " ", s.proc.Pid)
	out, err := exec.CommandContext(context.Background(), "sh", "-c", command).CombinedOutput()
	require.NoError(s.t, err, "%s: %s", command, out)
}

// AppendOnlyFile returns the path of the file to which the server, started with
// "--appendonly", "yes", appends its writes now.
func (s *Server) AppendOnlyFile() string {
	s.t.Helper()
	found := []string{filepath.Join(s.dir, "appendonly.aof")} // before Redis 7
	if parts, _ := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*.incr.aof")); len(parts) > 0 {
		found = parts
	}
	require.Len(s.t, found, 1, "the file is being written anew")
	return found[0]
}

// Reload makes the server read its append-only file again, as it does when it starts. The
// server needs "--enable-debug-command", "yes" from Redis 7 on.
func (s *Server) Reload() {
	s.t.Helper()
	require.NoError(s.t, s.Client(s.t).Do(s.t.Context(), "debug", "loadaof").Err(), "%s", s.log())
}

// URL returns redis://host:port/0, without the password.
func (s *Server) URL() string { return "redis://" + s.Addr + "/0" }

func (s *Server) password() string {
	if i := slices.Index(s.args, "--requirepass"); i >= 0 && i+1 < len(s.args) {
		return s.args[i+1]
	}
	return ""
}

// Client returns a client that the test closes at its end. It has go-redis' own settings,
// except the ones that opts change.
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

// Hook stands around each command or pipeline of a client. It sends the commands, or skips
// them, and its error takes the place of their own. Give it to the client's AddHook.
type Hook func(cmds []redis.Cmder, send func() error) error

// DialHook implements redis.Hook.
func (Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var own error
		err := h(cmds, func() error { own = next(ctx, cmds); return own })
		if err != nil && !errors.Is(own, err) {
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		return err
	}
}
