// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/internal/test/testpostgres"
)

const secret = "Quetzalcoatlus"

// saysMuch writes a marker in ids, texts, vectors, keys, messages, states and blobs of one user,
// of every length, among the words of bob.
func saysMuch(t testing.TB, s *pgstore.Store) backends.Partition {
	t.Helper()
	ctx := t.Context()
	marked := backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: secret}
	for i := range 200 {
		p, word := marked, secret
		if i%2 == 0 {
			p, word = bob, "harmless"
		}
		size := rand.IntN(60)
		if i%20 == 1 {
			size = 3000 // overflows its page
		}
		b := put(fmt.Sprint(word, rand.IntN(80)), strings.Repeat(fmt.Sprintf("%s %x ", word, rand.Uint64()), 1+size))
		b.Key, b.Mutations[0].Record.Vector = fmt.Sprint(word, "key", i), []byte(strings.Repeat(word, rand.IntN(1200)))
		_, err := s.Apply(ctx, p, b)
		require.NoError(t, err)
		session := fmt.Sprint(word, i%7)
		_, err = s.Append(ctx, p, session, messages(fmt.Sprint(word, i)))
		require.NoError(t, err)
		_, err = s.Update(ctx, p, &store.SessionUpdate{Session: session, Title: &word, Summary: &b.Mutations[0].Record.Text})
		require.NoError(t, err)
		require.NoError(t, s.PutBlob(ctx, p, session, fmt.Sprint(word, rand.IntN(20)), []byte(strings.Repeat(word, rand.IntN(2000)))))
	}
	return marked
}

// markers counts the marker in all files of tables, indexes and overflow tables, of this schema and
// of the server's own.
func markers(t testing.TB, s *testpostgres.Server) (n int) {
	t.Helper()
	run(t, session(t, s.URL), "CHECKPOINT")
	err := filepath.WalkDir(filepath.Join(s.Data(), "base"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file that was removed meanwhile
		}
		data, err := os.ReadFile(path)
		n += bytes.Count(data, []byte(secret))
		return err
	})
	require.NoError(t, err)
	return n
}

func TestWhatWasDroppedIsInNoTableAfterCompact(t *testing.T) {
	server, schema := testpostgres.Start(t, "autovacuum=off"), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	marked := saysMuch(t, s)
	admin := session(t, server.URL)
	run(t, admin, "ANALYZE")
	require.Positive(t, markers(t, server), "the test finds what is there")
	bobs, err := s.Changes(t.Context(), bob, "")
	require.NoError(t, err)
	rows := 0
	require.NoError(t, admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stats WHERE schemaname = $1 AND CONCAT(most_common_vals, histogram_bounds) LIKE '%'||$2||'%'`, schema, secret).Scan(&rows))
	require.Zero(t, rows, "statistics have no samples")

	_, err = s.Drop(t.Context(), marked)
	require.NoError(t, err)
	run(t, admin, "VACUUM")
	t.Logf("after a plain VACUUM the marker is there %d times", markers(t, server))
	require.NoError(t, s.Compact(t.Context()))
	left := markers(t, server)
	var name string // the name of the partition stays as long as its life
	require.NoError(t, admin.QueryRow(t.Context(), `SELECT name FROM `+schema+`.lives`).Scan(&name))
	require.Contains(t, name, secret)
	require.LessOrEqual(t, left, 2, "its name, in a table and in an index")
	_, err = admin.Exec(t.Context(), `DELETE FROM `+schema+`.lives`)
	require.NoError(t, err)
	require.NoError(t, s.Compact(t.Context()))
	require.Zero(t, markers(t, server))

	again, err := s.Changes(t.Context(), bob, "")
	require.NoError(t, err)
	require.Equal(t, bobs, again)
	receipt := strings.Join(s.Outside(), "\n")
	for _, word := range []string{"VACUUM FULL", schema, "write-ahead log", "replicas", "backups"} {
		require.Contains(t, receipt, word)
	}
}

func TestErasedMessagesLeaveTheTables(t *testing.T) {
	server, schema := testpostgres.Start(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	a := messages("m1", "m2")
	a.Entries[0].Content = strings.Repeat(secret+" ", 5000)
	_, err := s.Append(t.Context(), ann, "s", a)
	require.NoError(t, err)
	require.Positive(t, markersAnyway(t, server, schema))
	n, err := s.EraseMessages(t.Context(), ann, "s", 1, 1, 9)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, s.Compact(t.Context()))
	require.Zero(t, markers(t, server))
	require.Zero(t, markersAnyway(t, server, schema))
}

// markersAnyway counts rows with the marker: overflow tables compress it.
func markersAnyway(t testing.TB, s *testpostgres.Server, schema string) (n int) {
	t.Helper()
	require.NoError(t, session(t, s.URL).QueryRow(t.Context(), `SELECT count(*) FROM `+schema+`.messages WHERE entry LIKE '%'||$1||'%'`, secret).Scan(&n))
	return n
}
