// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// childEnv makes a test binary a child; its value is the child's spec.
const childEnv = "EINOMEM_TEST_CHILD"

// RunChild runs child in a process that [StartChild] started, and ends the process. An
// error goes to standard error, with status 1. In any other process it returns at once.
// Call it first in TestMain.
func RunChild(child func(spec string) error) {
	spec, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	if err := child(spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Die ends this process as kill -9 does: buffers are lost, and files stay open.
func Die() {
	p, _ := os.FindProcess(os.Getpid())
	_ = p.Kill()
	select {}
}

// Child is a process that runs the same test binary. Its methods are for one
// goroutine.
type Child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	in    io.WriteCloser
}

// StartChild starts a child, which the test kills at its end if it still runs. The
// child's standard error appears in the output of the tests. The package's TestMain must
// call [RunChild].
func StartChild(t testing.TB, spec string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it is killed below
	cmd.Env = append(os.Environ(), childEnv+"="+spec)
	cmd.Stderr = os.Stderr
	out, in := must(cmd.StdoutPipe())(t), must(cmd.StdinPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &Child{cmd: cmd, lines: lines, in: in}
}

// Line waits for the next line that the child prints. It returns false at its end. A kill
// may cut the last line.
func (c *Child) Line() (text string, ok bool) {
	ok = c.lines.Scan()
	return c.lines.Text(), ok
}

// Rest waits for the child's end, and returns the lines until then.
func (c *Child) Rest() (lines []string) {
	for line, ok := c.Line(); ok; line, ok = c.Line() {
		lines = append(lines, line)
	}
	return lines
}

// Send writes a line to the child's standard input.
func (c *Child) Send(line string) error {
	_, err := io.WriteString(c.in, line+"\n")
	return err
}

// Kill ends the child as kill -9 does. Lines that it printed before can still be read.
func (c *Child) Kill() { _ = c.cmd.Process.Kill() }

// Wait waits for the child's end, and reports whether it was killed. A child that failed
// fails the test. Read all lines before.
func (c *Child) Wait(t testing.TB) (killed bool) {
	t.Helper()
	err := c.cmd.Wait()
	if err != nil && c.cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child failed, and was not killed: %v", err)
	}
	return err != nil
}
