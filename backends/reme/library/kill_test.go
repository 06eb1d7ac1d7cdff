// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

const (
	killPath = "EINOMEM_TEST_LIBRARY_PATH" // the store of the child
	killCall = "EINOMEM_TEST_LIBRARY_CALL" // the call of the store at which it is killed
)

// TestChild is the process that TestR21AKilledProcess kills.
func TestChild(t *testing.T) {
	path := os.Getenv(killPath)
	if path == "" {
		t.Skip("it is run by TestR21AKilledProcess")
	}
	n, err := strconv.Atoi(os.Getenv(killCall))
	require.NoError(t, err)
	st, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{Clock: func() time.Time { return start }})
	require.NoError(t, err)
	f := &faulty{Store: st, before: func(call int, _ string) error {
		if call == n {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // until it is dead
		}
		return nil
	}}
	w := open(t, options{store: f, config: library.Config{OneBatch: staging}})
	_, _ = w.Load(context.Background(), &library.LoadRequest{Scope: shop}, reader(after))
}

// A process that is killed leaves nothing that the next one does not put in order.
func TestR21AKilledProcess(t *testing.T) {
	calls := []int{12, 30}
	if os.Getenv("EINOMEM_LONG") == "1" {
		calls = nil
		for n := 1; n < 100; n++ {
			calls = append(calls, n)
		}
	}
	for _, n := range calls {
		path := filepath.Join(t.TempDir(), "memory.db")
		c := &clock{t: start}
		st, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{Clock: c.Now})
		require.NoError(t, err)
		w := open(t, options{store: st, clock: c})
		w.load(shop, before)
		was := w.all(shop)

		child := exec.Command(os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), killPath+"="+path, killCall+"="+strconv.Itoa(n))
		out, err := child.CombinedOutput()
		if n > 12 && err == nil {
			return // it is done after fewer calls
		}
		require.Error(t, err, "it is killed: %s", out)

		c.pass(library.LeaseFor)
		resumed, err := w.Resume(w.ctx, shop)
		require.NoError(t, err)
		require.True(t, whole(t, w, was) || resumed.Finished == 0, "call %d", n)
		w.nothingStaged(shop)
		require.Equal(t, 2, w.load(shop, many("c", 2)).Loaded)
		require.NoError(t, st.Close())
	}
}
