// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
)

// The crash tests run this test binary as a child process that appends and
// consolidates, and kills itself with SIGKILL right before or after its n-th step.
const (
	childFile    = "EINOMEM_TEST_CHILD_FILE"    // the database; makes this process the child
	childStep    = "EINOMEM_TEST_CHILD_STEP"    // at which step it dies
	childBackend = "EINOMEM_TEST_CHILD_BACKEND" // what learns: see backendNamed
)

const childTurns = 3

// runChild is the child process. It does nothing in the parent.
func runChild() {
	path := os.Getenv(childFile)
	if path == "" {
		return
	}
	fatal := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(3)
		}
	}
	last, err := strconv.Atoi(os.Getenv(childStep))
	fatal(err)
	step := 0
	dieAt := func() {
		if step++; step == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	db, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{Clock: func() time.Time { return epoch }, Synchronous: sqlitestore.Normal})
	fatal(err)
	log := &sessions{Sessions: db, before: func(string, any) error { dieAt(); return nil }, after: func(string, any) error { dieAt(); return nil }}
	back, err := backendNamed(os.Getenv(childBackend), db)
	fatal(err)
	back = &dying{back, dieAt}
	mem, err := working.New(context.Background(), &working.Config{Sessions: log, Backend: back, Sweep: -1, Idle: time.Hour, Clock: func() time.Time { return epoch }})
	fatal(err)
	for i := range childTurns {
		fatal(mem.Append(context.Background(), say(fmt.Sprint("t", i), ann)))
		fmt.Println("appended", i)
		if i > 0 {
			_, err := mem.Consolidate(context.Background(), ann)
			fatal(err)
		}
	}
	fatal(mem.Close(context.Background()))
	os.Exit(0)
}

// backendNamed returns a backend that keeps its memories with the session, in
// another partition, or as mem0 does.
func backendNamed(name string, db *sqlitestore.Store) (backends.Backend, error) {
	switch name {
	case "mem0":
		return mem0.New(context.Background(), &mem0.Config{Store: db, Mode: mem0.Verbatim})
	case "elsewhere":
		return &learner{records: db, ids: backends.NewID, workspace: "team"}, nil
	}
	return &learner{records: db, ids: backends.NewID}, nil
}

// dying takes a step before and after each Add.
type dying struct {
	backends.Backend
	step func()
}

func (d *dying) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	d.step()
	defer d.step()
	return d.Backend.Add(ctx, r)
}

// crash runs the child until it dies at a step, and returns how many turns it
// said were appended, and whether it died at all.
func crash(t *testing.T, path, backend string, step int) (appended int, died bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path, childStep+"="+strconv.Itoa(step), childBackend+"="+backend)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	for i := range childTurns {
		var n int
		if k, _ := fmt.Sscanf(string(out), "appended %d\n", &n); k == 1 {
			appended, out = i+1, out[len("appended 0\n"):]
		}
	}
	if err == nil {
		return appended, false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled(), "the child failed: %v", err)
	return appended, true
}

func TestKilledAtAnyStepNothingIsLostOrLearntTwice(t *testing.T) {
	for _, backend := range []string{"beside the session", "elsewhere", "mem0"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			steps := 1
			for recoverFrom(t, backend, steps) {
				steps += stride
			}
			assert.Greater(t, steps, 30, "every call of the log and the backend, before and after")
		})
	}
}

// recoverFrom lets a child die at a step and goes on in this process, with one
// turn more. It reports whether the child died.
func recoverFrom(t *testing.T, backend string, step int) bool {
	path := t.TempDir() + "/memory.db"
	appended, died := crash(t, path, backend, step)
	c := newClock()
	w := joinWorld(t, openStore(t, path, c.Now), c, func(w *world) {
		b, err := backendNamed(backend, w.db)
		require.NoError(t, err)
		w.cfg.Backend = b
	})
	w.append(say("more", ann)) // must not change the stretch that the dead one had begun
	c.Advance(time.Hour)       // past the lease
	w.consolidate(ann)

	entries := w.entries(ann)
	require.GreaterOrEqual(t, len(entries), 2*(appended+1), "step %d: what was appended is there", step)
	want := make(map[string]int)
	for _, e := range entries {
		if backend == "mem0" {
			want[e.Content] = 1
		} else {
			want[e.ID] = 1
		}
	}
	require.Equal(t, want, learntBy(t, w), "step %d", step)
	s := w.session(ann)
	require.Equal(t, s.LastSeq, s.Watermark, "step %d", step)
	require.NoError(t, w.mem.Close(context.Background()))
	require.NoError(t, w.cfg.Backend.Close(context.Background()))
	require.NoError(t, w.db.Close())
	return died
}

// learntBy counts how often each message was learnt from.
func learntBy(t *testing.T, w *world) map[string]int {
	t.Helper()
	if b, ok := w.cfg.Backend.(*mem0.Backend); ok {
		return texts(t, b, ann)
	}
	p, err := w.cfg.Backend.(*learner).partition(ann)
	require.NoError(t, err)
	return learnt(t, w.db, p)
}
