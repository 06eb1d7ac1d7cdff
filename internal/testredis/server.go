// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a server that belongs to one test, which stops it at its end. Its
// methods are safe for use by multiple goroutines; those that fail, fail the test.
type Server struct {
	Addr string   // host:port, of the loopback
	Dir  string   // where it runs and keeps its files; server.log is what it printed
	Args []string // of its command line; changes count from the next Restart on

	t       testing.TB
	flavour Flavour
	port    int

	mu   sync.Mutex
	proc *process // the last one
}

// Start starts a server and waits until it answers. It keeps nothing on disk unless
// args ask for it: "--appendonly", "yes". A password that args set ("--requirepass",
// "secret") is used by URL and Client. When the test fails, the server's log is printed.
func (f Flavour) Start(t testing.TB, args ...string) *Server {
	t.Helper()
	var err error
	for range 5 { // another process may take the port first
		s := f.prepare(t, args)
		if err = s.run(); err == nil {
			t.Cleanup(s.cleanup)
			return s
		}
		err = fmt.Errorf("%w\n%s", err, s.Log())
	}
	t.Fatalf("start %s: %v", f.Name, err)
	return nil
}

func (f Flavour) prepare(t testing.TB, args []string) *Server {
	t.Helper()
	port := freePort(t)
	return &Server{
		Addr: loopback(port), Dir: t.TempDir(), Args: withDefaults(args, port),
		t: t, flavour: f, port: port,
	}
}

// withDefaults puts what a test server has anyway before what the test asks for.
func withDefaults(args []string, port int) []string {
	all := []string{"--port", strconv.Itoa(port)}
	for _, d := range [][2]string{
		{"--bind", "127.0.0.1"},
		{"--save", ""},
		{"--appendonly", "no"},
		{"--repl-diskless-sync-delay", "0"}, // else a replica waits five seconds
	} {
		if !slices.Contains(args, d[0]) {
			all = append(all, d[0], d[1])
		}
	}
	return append(all, args...)
}

// run starts the program and waits until it answers.
func (s *Server) run() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), s.flavour.Program, s.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, log, log
	p, err := launch(cmd)
	if err != nil {
		return err
	}
	if err := s.awaitAnswer(p); err != nil {
		p.kill()
		return err
	}
	s.proc = p
	return nil
}

func (s *Server) cleanup() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("the log of %s at %s:\n%s", s.flavour.Name, s.Addr, s.Log())
	}
}

// Log returns the end of what the server printed.
func (s *Server) Log() string {
	const most = 8 << 10
	log, _ := os.ReadFile(s.logFile())
	return string(log[max(0, len(log)-most):])
}

func (s *Server) logFile() string { return filepath.Join(s.Dir, "server.log") }

// Kill kills the server and waits until it is gone. One that is gone already stays so.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
}

// Stop asks the server to end, which lets it save what it is to save, and waits until it has.
func (s *Server) Stop() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Server) stop() {
	s.t.Helper()
	_, _ = s.proc.terminate(), s.proc.thaw() // errors mean that it is gone, or cannot be asked
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-s.proc.done:
	case <-timeout.C:
		s.proc.kill()
		s.t.Errorf("%s at %s did not stop within %v", s.flavour.Name, s.Addr, patience)
	}
}

// Restart starts the server again with the same port, folder and Args, and waits
// until it has loaded what it kept and answers. It stops the server first if it runs.
func (s *Server) Restart() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc.alive() {
		s.stop()
	}
	if err := s.run(); err != nil {
		s.t.Fatalf("restart %s at %s: %v\n%s", s.flavour.Name, s.Addr, err, s.Log())
	}
}

// Freeze halts the server: connections stand, nothing is answered.
func (s *Server) Freeze() { s.t.Helper(); s.do("freeze", (*process).freeze) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.t.Helper(); s.do("thaw", (*process).thaw) }

func (s *Server) do(what string, f func(*process) error) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f(s.proc); err != nil {
		s.t.Fatalf("%s %s at %s: %v", what, s.flavour.Name, s.Addr, err)
	}
}

// URL returns redis://host:port/0, with the password if there is one.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr, Path: "/0"}
	if p := s.password(); p != "" {
		u.User = url.UserPassword("", p)
	}
	return u.String()
}

func (s *Server) password() string {
	if i := slices.Index(s.Args, "--requirepass"); i >= 0 && i+1 < len(s.Args) {
		return s.Args[i+1]
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
