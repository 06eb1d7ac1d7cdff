// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package testpostgres starts Postgres servers for tests: each with a database of its own in a
// temporary folder, on the loopback, with fsync. A test is skipped where there is no Postgres.
package testpostgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// envServer names the folder of Postgres's programs: initdb and postgres. Without it the folders of
// Debian's packages and the PATH are searched. If it is set and empty, tests that need a server
// are skipped.
const envServer = "EINOMEM_POSTGRES"

const howToGet = "needs a server: " + envServer + "=$(.ci/servers postgres) installs one and names its folder"

// programs returns the folder of Postgres's programs, or "".
func programs() string {
	folder, named := os.LookupEnv(envServer)
	if named {
		return folder
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

// Server is a Postgres. Its methods are for one goroutine.
type Server struct {
	URL    string // of the database postgres, as a superuser
	Folder string // which holds everything, and that the server's user owns
	Port   int

	proc *exec.Cmd
	done chan struct{} // closed when it has ended
}

// shared is the server of all tests that leave it running.
var shared struct {
	sync.Once
	*Server
	err error
}

// Need returns a server that the tests of a package share, or skips the test. TestMain calls
// [Remove] at its end.
func Need(t testing.TB) *Server {
	t.Helper()
	if programs() == "" {
		t.Skip(howToGet)
	}
	shared.Do(func() { shared.Server, shared.err = start() })
	require.NoError(t, shared.err)
	return shared.Server
}

// Remove ends the server that [Need] started, if it did.
func Remove() {
	if shared.Server != nil {
		shared.remove()
	}
}

// Start returns a server of the test's own with some settings, such as "autovacuum=off".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	if programs() == "" {
		t.Skip(howToGet)
	}
	s, err := start(settings...)
	require.NoError(t, err)
	t.Cleanup(s.remove)
	return s
}

// Account is the user that runs the server, nil for this one: Postgres refuses root.
func Account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("no user to run Postgres as")
}

// dieWithUs makes Linux kill the program when the thread that started it ends.
var dieWithUs = []string{"setpriv", "--pdeathsig", "KILL"}

func (s *Server) command(program string, args ...string) (*exec.Cmd, error) {
	as, err := Account()
	words := append([]string{filepath.Join(programs(), program)}, args...)
	if _, err := exec.LookPath(dieWithUs[0]); err == nil { // else it outlives a test that is killed
		words = slices.Concat(dieWithUs, words)
	}
	cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // remove ends it
	cmd.Dir = s.Folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return cmd, err
}

func start(settings ...string) (*Server, error) {
	folder, err := os.MkdirTemp("", "pgstore")
	if err != nil {
		return nil, err
	}
	s := &Server{Folder: folder}
	if as, err := Account(); err != nil {
		return nil, err
	} else if as != nil {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	init, err := s.command("initdb", "-D", s.Data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	if err != nil {
		return nil, err
	}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	for range 5 { // the port may be taken
		s.Port = 21000 + rand.IntN(9000)
		s.URL = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.Port)
		if err = s.Start(settings...); err == nil {
			return s, nil
		}
	}
	s.remove()
	return nil, err
}

// Data is the folder of the database.
func (s *Server) Data() string { return filepath.Join(s.Folder, "data") }

// Start starts the program again after [Server.Kill] or [Server.Stop], and waits until it answers.
func (s *Server) Start(settings ...string) error {
	args := []string{"-D", s.Data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-k", s.Folder}
	for _, one := range slices.Concat([]string{"fsync=on", "max_connections=300", "shared_buffers=64MB"}, settings) {
		args = append(args, "-c", one)
	}
	cmd, err := s.command("postgres", args...)
	if err != nil {
		return err
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	started := make(chan error)
	s.proc, s.done = cmd, make(chan struct{})
	go func(done chan struct{}) {
		runtime.LockOSThread() // the server dies with the thread that started it
		started <- cmd.Start()
		_ = cmd.Wait()
		close(done)
	}(s.done)
	if err := <-started; err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for {
		if err = s.answers(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-s.done:
			return fmt.Errorf("the server ended: %s", log.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) answers(ctx context.Context) error {
	ask, err := s.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port))
	if err != nil {
		return err
	}
	if err := ask.Run(); err != nil {
		return errors.Join(err, ctx.Err())
	}
	return nil
}

// Database makes a database for one test, and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("d%x", rand.Uint64())
	create, err := s.command("createdb", "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", "postgres", name)
	require.NoError(t, err)
	out, err := create.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.Replace(s.URL, "/postgres?", "/"+name+"?", 1)
}

// Kill ends the server and all its processes at once, as kill -9 does.
func (s *Server) Kill() {
	pids := []string{}
	if out, err := exec.Command("pgrep", "-P", strconv.Itoa(s.proc.Process.Pid)).Output(); err == nil { //nolint:noctx // it is short
		pids = strings.Fields(string(out))
	}
	_ = s.proc.Process.Kill()
	for _, pid := range pids {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	<-s.done
}

// Stop ends the server in order.
func (s *Server) Stop() {
	_ = s.proc.Process.Signal(syscall.SIGINT)
	<-s.done
}

func (s *Server) remove() {
	if s.proc != nil && s.proc.Process != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.Folder)
}
