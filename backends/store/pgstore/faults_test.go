// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/internal/test/testpostgres"
	"github.com/einomem/einomem/internal/test/testredis"
)

// session is a connection of another program.
func session(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func run(t testing.TB, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, one := range statements {
		_, err := c.Exec(t.Context(), one)
		require.NoError(t, err, one)
	}
}

func messages(ids ...string) *store.Append {
	a := &store.Append{}
	for _, id := range ids {
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: id, Turn: "t", Message: schema.UserMessage(id)}})
	}
	return a
}

func TestCutConnections(t *testing.T) {
	url, schema := testpostgres.Need(t).URL, newSchema()
	var network testredis.Network
	cfg, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	cfg.ConnConfig.DialFunc = network.Dial
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := pgstore.New(t.Context(), pool, &pgstore.Options{Schema: schema, Retry: time.Minute})
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), ann, put("count", ""))
	require.NoError(t, err)

	network.CutRandomly(1, 6000)
	const writers, each = 4, 25
	var all sync.WaitGroup
	errs := make([]error, writers)
	doubts := make([]int, writers)
	for w := range writers {
		all.Go(func() {
			for i := 0; i < each && errs[w] == nil; i++ {
				id := fmt.Sprintf("%d-%d", w, i)
				for {
					_, err := s.Append(t.Context(), ann, "s", messages(id))
					if err == nil {
						_, err = s.Apply(t.Context(), ann, &store.Batch{Key: id, Mutations: []store.Mutation{store.Increment("count", "n", 1)}})
					}
					if !errors.Is(err, backends.ErrUnavailable) { // in doubt: it is repeated
						errs[w] = err
						break
					}
					doubts[w]++
				}
			}
		})
	}
	all.Wait()
	cuts := network.Cuts()
	network.CutRandomly(0, 0)
	require.NoError(t, errors.Join(errs...))
	require.Positive(t, cuts)
	t.Logf("%d cuts, calls in doubt: %v", cuts, doubts)
	got, err := s.Get(t.Context(), ann, "count")
	require.NoError(t, err)
	require.Equal(t, float64(writers*each), got[0].Metadata["n"])
	log, err := s.Session(t.Context(), ann, "s")
	require.NoError(t, err)
	require.Equal(t, int64(writers*each), log.LastSeq)
	found, err := s.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestDeadlocksAreRetried(t *testing.T) {
	server, schema := testpostgres.Need(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	_, err := s.Append(t.Context(), ann, "s", messages("m1"))
	require.NoError(t, err)
	other := session(t, server.URL)
	run(t, other, "BEGIN", "SELECT * FROM "+schema+".sessions FOR UPDATE")
	done := make(chan error, 1)
	go func() {
		_, err := s.Append(t.Context(), ann, "s", messages("m2"))
		done <- err
	}()
	waiting(t, server.URL, 1)
	_, err = other.Exec(t.Context(), "SELECT * FROM "+schema+".partitions FOR UPDATE") // the store has this lock and wants the first
	if err != nil {
		var e *pgconn.PgError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "40P01", e.Code)
	}
	run(t, other, "ROLLBACK")
	require.NoError(t, <-done)
	log, err := s.Session(t.Context(), ann, "s")
	require.NoError(t, err)
	require.Equal(t, int64(2), log.LastSeq)
}

// waiting waits until the server has so many backends that wait for a lock.
func waiting(t testing.TB, url string, n int) {
	t.Helper()
	c := session(t, url)
	require.Eventually(t, func() bool {
		var found int
		err := c.QueryRow(context.Background(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`).Scan(&found)
		return err == nil && found == n
	}, time.Minute, 5*time.Millisecond)
}

func TestACallThatWaitsForALockEnds(t *testing.T) {
	server, schema := testpostgres.Start(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	_, err := s.Apply(t.Context(), ann, put("a", "before"))
	require.NoError(t, err)
	other := session(t, server.URL)
	run(t, other, "BEGIN", "SELECT * FROM "+schema+".partitions FOR UPDATE")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Apply(ctx, ann, put("a", "after"))
		done <- err
	}()
	waiting(t, server.URL, 1)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	waiting(t, server.URL, 0) // its statement is gone from the server, too

	hasty := open(t, server.URL, &pgstore.Options{Schema: schema, Timeout: 50 * time.Millisecond})
	_, err = hasty.Apply(t.Context(), ann, put("a", "after"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "Options.Timeout")
	found, err := hasty.Get(t.Context(), ann, "a")
	require.NoError(t, err, "reads wait for nobody")
	require.Equal(t, "before", found[0].Text)
	run(t, other, "ROLLBACK")
	_, err = s.Apply(t.Context(), ann, put("a", "after"))
	require.NoError(t, err)
}

func TestAServerThatIsAway(t *testing.T) {
	server, schema := testpostgres.Start(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema, Retry: time.Millisecond})
	_, err := s.Apply(t.Context(), ann, put("a", "1"))
	require.NoError(t, err)
	set, err := s.Changes(t.Context(), ann, "")
	require.NoError(t, err)
	server.Stop()
	_, err = s.Get(t.Context(), ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = pgstore.Open(t.Context(), server.URL, &pgstore.Options{Schema: schema, Retry: -1})
	require.ErrorIs(t, err, backends.ErrUnavailable)

	require.NoError(t, server.Start())
	patient := open(t, server.URL, &pgstore.Options{Schema: schema})
	again, err := patient.Changes(t.Context(), ann, set.Cursor)
	require.NoError(t, err)
	require.True(t, again.Reset, "a restarted server may have lost what readers know")
	require.Len(t, again.Records, 1)
	next, err := patient.Changes(t.Context(), ann, again.Cursor)
	require.NoError(t, err)
	require.False(t, next.Reset)
	require.Equal(t, again.Cursor, next.Cursor)
}

func TestOpenRefuses(t *testing.T) {
	server := testpostgres.Need(t)
	ctx := t.Context()
	admin := session(t, server.URL)
	base := strings.TrimSuffix(server.URL, "/postgres?sslmode=disable")
	latin := newSchema()
	run(t, admin, `CREATE DATABASE `+latin+` ENCODING 'LATIN1' TEMPLATE template0`)
	for name, c := range map[string]struct {
		url  string
		o    *pgstore.Options
		want error
		says string
	}{
		"no URL":           {"postgres://:a:b", nil, backends.ErrInvalid, "want a URL"},
		"no database":      {base + "/nowhere?sslmode=disable", nil, backends.ErrUnavailable, "create it"},
		"another encoding": {base + "/" + latin + "?sslmode=disable", nil, backends.ErrInvalid, "UTF8"},
		"a bad schema":     {server.URL, &pgstore.Options{Schema: `x"; DROP`}, backends.ErrInvalid, "small letters"},
		"no time":          {server.URL, &pgstore.Options{Timeout: -1}, backends.ErrInvalid, "millisecond"},
		"a superuser":      {server.URL, &pgstore.Options{Schema: newSchema(), RowSecurity: true}, backends.ErrInvalid, "BYPASSRLS"},
	} {
		_, err := pgstore.Open(ctx, c.url, c.o)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, c.says, name)
	}
	_, err := pgstore.New(ctx, nil, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)

	schema := newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	run(t, admin, `UPDATE `+schema+`.identity SET version = 99`)
	_, err = pgstore.Open(ctx, server.URL, &pgstore.Options{Schema: schema})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "update the code")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Get(ctx, ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorIs(t, s.Compact(ctx), backends.ErrUnavailable)
}

func TestCheckFindsContradictions(t *testing.T) {
	server, schema := testpostgres.Need(t), newSchema()
	s := open(t, server.URL, &pgstore.Options{Schema: schema})
	_, err := s.Apply(t.Context(), ann, put("a\x00b", "1"))
	require.NoError(t, err)
	_, err = s.Append(t.Context(), ann, "s", messages("m1", "m2", "m3"))
	require.NoError(t, err)
	found, err := s.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)

	admin := session(t, server.URL)
	run(t, admin, `SET search_path = `+schema, `DELETE FROM messages WHERE seq = 2`,
		`INSERT INTO messages SELECT part, 77, 1, 'x', '{}' FROM sessions`, `INSERT INTO events (part, id, event) VALUES (78, 'x', '{}')`,
		`UPDATE records SET id = 'c', version = 9`, `INSERT INTO records SELECT part, 'd', 1, memory, vector FROM records`, `INSERT INTO tombstones SELECT part, 'd', 1 FROM partitions JOIN records ON part = pk WHERE records.id = 'd'`)
	found, err = s.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"partition test/user/ann: 2 of 1 records are there",
		"partition test/user/ann: a record is newer than the partition",
		"partition test/user/ann: a record 'd' is deleted, too",
		"partition test/user/ann, session 's': 2 of 3 messages are there",
		"partition number 78 is missing, and has rows",
		"session number 77 is missing, and has messages",
	}, found)
	_, err = s.Read(t.Context(), ann, "s", store.Range{})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "message 2 is missing")
}
