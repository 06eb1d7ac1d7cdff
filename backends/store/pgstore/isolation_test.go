// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/test/testpostgres"
)

var bob = backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: "bob"}

// asApp returns the URL of a role without rights over others, which may create schemas.
func asApp(t testing.TB, s *testpostgres.Server) string {
	t.Helper()
	name := newSchema()
	run(t, session(t, s.URL), `CREATE ROLE `+name+` LOGIN`, `GRANT CREATE ON DATABASE postgres TO `+name)
	return strings.Replace(s.URL, "postgres@", name+"@", 1)
}

// say gives a partition a record, a deleted one, a keyed batch, a session and a blob.
func say(t testing.TB, s store.Store, p backends.Partition) {
	t.Helper()
	b := put(p.ID+"-a", "of "+p.ID)
	b.Key = p.ID
	_, err := s.Apply(t.Context(), p, b)
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), p, put(p.ID+"-b", "of "+p.ID))
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Delete(p.ID + "-b")}})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), p, "s", messages("m1"))
	require.NoError(t, err)
	require.NoError(t, s.PutBlob(t.Context(), p, "s", "b", []byte(p.ID)))
}

// mistakes are statements without the condition on the partition: of each, how many rows a call
// on one of two like partitions may touch.
var mistakes = []struct {
	query string
	rows  int
}{
	{`SELECT memory FROM @records`, 1},
	{`SELECT name FROM @partitions`, 1},
	{`SELECT entry FROM @messages`, 1},
	{`SELECT event FROM @events`, 3},
	{`SELECT state FROM @sessions WHERE id = 's'`, 1},
	{`SELECT results FROM @batches`, 1},
	{`SELECT name::text FROM @blobs`, 1},
	{`SELECT id::text FROM @tombstones`, 1},
	{`SELECT r.memory FROM @records r JOIN @partitions p ON true WHERE p.id = 'bob'`, 0},
	{`UPDATE @messages SET entry = '{}' RETURNING id::text`, 1},
	{`UPDATE @records SET version = version + 7 RETURNING memory`, 1},
	{`DELETE FROM @events RETURNING event`, 3},
	{`DELETE FROM @records RETURNING memory`, 1},
	{`DELETE FROM @sessions RETURNING state`, 1},
	{`DELETE FROM @partitions RETURNING name`, 1},
}

func TestRowSecurityHoldsBelowAMistake(t *testing.T) {
	server := testpostgres.Need(t)
	app := asApp(t, server)
	for _, secure := range []bool{true, false} {
		s := open(t, app, &pgstore.Options{Schema: newSchema(), RowSecurity: secure})
		for _, m := range mistakes {
			say(t, s, ann)
			say(t, s, bob)
			got, err := pgstore.Planted(t.Context(), s, ann, m.query)
			require.NoError(t, err, m.query)
			if !secure {
				require.Greater(t, len(got), m.rows, "without it the mistake reaches others: %s", m.query)
			} else {
				require.Len(t, got, m.rows, m.query)
				require.NotContains(t, strings.Join(got, " "), "bob", m.query)
				found, err := s.Get(t.Context(), bob, "bob-a")
				require.NoError(t, err)
				require.Len(t, found, 1, m.query)
				require.Equal(t, "of bob", found[0].Text)
			}
			for _, p := range []backends.Partition{ann, bob} {
				_, err = s.Drop(t.Context(), p)
				require.NoError(t, err)
			}
		}
		if secure {
			say(t, s, bob)
			say(t, s, ann)
			_, err := pgstore.Planted(t.Context(), s, ann, `INSERT INTO @tombstones SELECT max(pk) - 1, 'x', 1 FROM @partitions RETURNING id::text`)
			require.ErrorContains(t, err, "row-level security", "nothing is written for others")
		}
	}
}

func TestAProgramThatNamesNoPartitionSeesNothing(t *testing.T) {
	server, schema := testpostgres.Need(t), newSchema()
	app := asApp(t, server)
	s := open(t, app, &pgstore.Options{Schema: schema, RowSecurity: true})
	say(t, s, ann)
	var n int
	require.NoError(t, session(t, app).QueryRow(t.Context(), `SELECT count(*) FROM `+schema+`.records`).Scan(&n))
	require.Zero(t, n)
	other := open(t, app, &pgstore.Options{Schema: schema}) // without the option it is on, too
	found, err := other.Get(t.Context(), ann, "ann-a")
	require.NoError(t, err)
	require.Len(t, found, 1)
	damage, err := s.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, damage)
}

func TestStoreWithRowSecurity(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract was tested without it")
	}
	app, schema := asApp(t, testpostgres.Need(t)), newSchema()
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		return open(t, app, &pgstore.Options{Schema: schema, Clock: o.Clock, RowSecurity: true})
	})
}
