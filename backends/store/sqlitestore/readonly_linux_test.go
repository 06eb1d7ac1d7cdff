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
	"github.com/einomem/einomem/backends/store"
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

func TestANewFileIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := sqlitestore.Open(t.Context(), path, nil)
	require.NoError(t, err)
	p := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}
	_, err = s.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "1", Kind: backends.KindFact, Text: "tea"}})}})
	require.NoError(t, err)
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 3, "the database, its log and the index of the log")
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
	require.NoError(t, s.Close())
}
