// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/test/testpostgres"
)

// behindPgBouncer starts a PgBouncer in transaction mode with few connections, and returns a URL
// that goes through it.
func behindPgBouncer(t testing.TB, s *testpostgres.Server) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			t.Skip("needs pgbouncer, which apt-get install pgbouncer brings")
		}
	}
	port := 31000 + rand.IntN(1000)
	folder := filepath.Join(s.Folder, fmt.Sprint("bouncer", port))
	require.NoError(t, os.Mkdir(folder, 0o755))
	config := filepath.Join(folder, "config")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
* = host=127.0.0.1 port=%d user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
server_reset_query_always = 0
`, s.Port, port), 0o644)) //nolint:gosec // another user reads it
	as, err := testpostgres.Account()
	require.NoError(t, err)
	cmd := exec.Command(program, config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := strings.Replace(s.URL, fmt.Sprint(":", s.Port), fmt.Sprint(":", port), 1)
	require.Eventually(t, func() bool {
		c, err := pgx.Connect(context.Background(), url)
		if err != nil {
			return false
		}
		return c.Close(context.Background()) == nil
	}, time.Minute, 10*time.Millisecond)
	return url
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestStoreBehindPgBouncer(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract was tested without it")
	}
	url, schema := behindPgBouncer(t, testpostgres.Need(t)), newSchema()
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		return open(t, url, &pgstore.Options{Schema: schema, Clock: o.Clock})
	})
}

// Each mode of pgx for queries passes the tests that write at the same time.
func TestModesOfQueries(t *testing.T) {
	url := testpostgres.Need(t).URL
	for _, mode := range []string{"cache_statement", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			s := open(t, url+"&default_query_exec_mode="+mode, &pgstore.Options{Schema: newSchema()})
			say(t, s, ann)
			say(t, s, bob)
			id := "\x00'é\\"
			r := &store.Record{Vector: []byte("\x00\xff'\\")}
			r.ID, r.Text = id, "it's \x00 \\ é"
			_, err := s.Apply(t.Context(), ann, &store.Batch{Key: id, Mutations: []store.Mutation{store.Put(r)}, Embedding: &store.Embedding{Model: id, Dim: 4}})
			require.NoError(t, err)
			set, err := s.Changes(t.Context(), ann, "")
			require.NoError(t, err)
			require.Equal(t, id, set.Embedding.Model)
			require.Len(t, set.Records, 2)
			require.Equal(t, r.Vector, set.Records[1].Vector)
			require.Equal(t, r.Text, set.Records[1].Text)
			found, err := s.Check(t.Context())
			require.NoError(t, err)
			require.Empty(t, found)
			n, err := s.Drop(t.Context(), ann)
			require.NoError(t, err)
			require.Equal(t, store.DropCount{Records: 3, Sessions: 1, Messages: 1, Blobs: 1}, n)
		})
	}
}
