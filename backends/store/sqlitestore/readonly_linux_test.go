// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

const nobody = 65534

// asNobody lets this thread touch files as an ordinary user does, because access
// rights do not stop root. The thread ends with its goroutine.
func asNobody() error {
	if os.Geteuid() != 0 {
		return nil
	}
	runtime.LockOSThread() // never unlocked: the thread is not used again
	return syscall.Setfsuid(nobody)
}

// publicDir is a folder that everybody may enter, unlike those of t.TempDir.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "einomem")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.RemoveAll(dir))
	})
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func TestWhatIsReadOnlyIsUnavailable(t *testing.T) {
	dir := publicDir(t)
	path := filepath.Join(dir, "mem.db")
	s, err := sqlitestore.Open(context.Background(), path, nil)
	require.NoError(t, err)
	apply(t, s, put("a", "1"))
	require.NoError(t, s.Close())
	require.NoError(t, os.Chmod(path, 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))

	for _, name := range []string{"mem.db", "new.db"} {
		skip, failed := make(chan error, 1), make(chan error, 1)
		go func() { // on a thread of its own
			if err := asNobody(); err != nil {
				skip <- err
				return
			}
			s, err := sqlitestore.Open(context.Background(), filepath.Join(dir, name), nil)
			if err == nil {
				s.Close()
			}
			failed <- err
		}()
		var err error
		select {
		case err := <-skip:
			t.Skipf("access rights do not stop root, and a thread of another user cannot be had: %v", err)
		case err = <-failed:
		}
		require.ErrorIs(t, err, backends.ErrUnavailable, name)
		require.ErrorContains(t, err, path[:len(path)-len("mem.db")], name)
	}
}
