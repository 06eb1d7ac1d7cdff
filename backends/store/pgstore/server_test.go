// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bytes"
	"context"
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

	"github.com/jackc/pgx/v5"
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

// server is a Postgres that a test starts, with fsync, on the loopback.
type server struct {
	url    string
	folder string
	port   int
	proc   *exec.Cmd
	done   chan struct{} // closed when it has ended
}

// shared is the server of all tests that leave it running.
var shared struct {
	sync.Once
	*server
	err error
}

// dieWithUs makes Linux kill the server when the tests end in whatever way.
const dieWithUs = syscall.SIGKILL

// needServer returns a server that tests share, or skips the test.
func needServer(t testing.TB) *server {
	t.Helper()
	if programs() == "" {
		t.Skip(howToGet)
	}
	shared.Do(func() { shared.server, shared.err = startServer() })
	require.NoError(t, shared.err)
	return shared.server
}

// ownServer returns a server of the test's own, which it may kill.
func ownServer(t testing.TB, settings ...string) *server {
	t.Helper()
	if programs() == "" {
		t.Skip(howToGet)
	}
	s, err := startServer(settings...)
	require.NoError(t, err)
	t.Cleanup(s.remove)
	return s
}

// account is the user that runs the server: Postgres refuses root.
func account() (*syscall.Credential, error) {
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
	return nil, fmt.Errorf("no user to run Postgres as")
}

func (s *server) command(program string, args ...string) (*exec.Cmd, error) {
	as, err := account()
	cmd := exec.Command(filepath.Join(programs(), program), args...) //nolint:noctx // remove ends it
	cmd.Dir = s.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: dieWithUs}
	return cmd, err
}

func startServer(settings ...string) (*server, error) {
	folder, err := os.MkdirTemp("", "pgstore")
	if err != nil {
		return nil, err
	}
	s := &server{folder: folder}
	if as, err := account(); err != nil {
		return nil, err
	} else if as != nil {
		if err := os.Chown(folder, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	init, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	if err != nil {
		return nil, err
	}
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	for range 5 { // the port may be taken
		s.port = 21000 + rand.IntN(9000)
		s.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
		if err = s.start(settings...); err == nil {
			return s, nil
		}
	}
	s.remove()
	return nil, err
}

func (s *server) data() string { return filepath.Join(s.folder, "data") }

// start starts the program, and waits until it answers.
func (s *server) start(settings ...string) error {
	args := []string{"-D", s.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-k", s.folder}
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

func (s *server) answers(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// kill ends the server and all its processes at once, as a power cut of the machine ends them.
func (s *server) kill() {
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

// stop ends the server in order.
func (s *server) stop() {
	_ = s.proc.Process.Signal(syscall.SIGINT)
	<-s.done
}

func (s *server) remove() {
	if s.proc != nil && s.proc.Process != nil {
		s.kill()
	}
	_ = os.RemoveAll(s.folder)
}
