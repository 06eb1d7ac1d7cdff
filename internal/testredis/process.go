// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

const (
	patience = 30 * time.Second // for what a server does by itself, on a busy machine
	glance   = 10 * time.Millisecond
)

// await calls check until it returns nil, and returns its last error when the patience ends.
func await(check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", patience, err)
		}
	}
}

// process is a running program, with one goroutine that ends when the program does.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// launch starts cmd. Linux kills the program when the thread that started it ends,
// which bounds its life by ours however we end; hence a thread that stays.
func launch(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // its log has how it ended
		close(p.done)
	}()
	return p, <-started
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the program at once, frozen or not, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it is gone
	<-p.done
}

// signal sends a signal by its name: not every system that Go knows has them.
func (p *process) signal(name string) error {
	out, err := exec.CommandContext(context.Background(), "sh", "-c", fmt.Sprint("kill -", name, " ", p.cmd.Process.Pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kill -%s: %w: %s", name, err, out)
	}
	return nil
}
