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

// launch starts cmd, and closes what it returns when it has ended. Linux kills the program
// when the thread that started it ends, which bounds its life by ours however we end; hence
// a thread that stays.
func launch(cmd *exec.Cmd) (done chan struct{}, err error) {
	dieWithParent(cmd)
	done = make(chan struct{})
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
		close(done)
	}()
	return done, <-started
}
