// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/internal/test/testredis"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// onEachStore runs tests of what package store does with any store.
func onEachStore(t *testing.T, all []behaviour) {
	t.Run("sqlite", func(t *testing.T) {
		runAll(t, all, func(t *testing.T, o Options) []store.Store {
			return []store.Store{testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = o.Clock })}
		})
	})
	testredis.Each(t, func(t *testing.T, client func(testing.TB) redis.UniversalClient) {
		runAll(t, all, func(t *testing.T, o Options) []store.Store {
			return []store.Store{testkit.Redis(t, client(t), func(c *redisstore.Config) { c.Clock = o.Clock })}
		})
	})
}

// of returns the handle for another partition of the namespace.
func (e *env) of(kind backends.PartitionKind, id string) *env {
	return e.in(backends.Partition{Namespace: e.p.Namespace, Kind: kind, ID: id})
}

// share writes what comes from a user into a partition of others.
func (e *env) share(from *env, text string) {
	e.Helper()
	user := from.p.ID
	for _, id := range []string{"kept of ", "deleted of "} {
		r := record(id+user, text)
		r.Scope.UserID = user
		e.apply(store.Put(r))
	}
	call := message("call of "+user, text)
	call.UserID = user
	e.append("calls", call)
	e.appendAll("of "+user, &store.Append{Scope: backends.Scope{UserID: user}, Entries: []store.Entry{message("m", text)}})
}

// withoutPlaces returns states without what writes of others change: versions, and where
// erased messages were.
func withoutPlaces(all []any) []any {
	for i := range all {
		s := all[i].(state)
		s.Version, s.Sessions = 0, nil
		for j := range s.Records {
			s.Records[j].Version = 0
		}
		for id, entries := range s.Entries {
			s.Entries[id] = slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Erased })
		}
		all[i] = s
	}
	return all
}

// counted is what was erased without its ids.
func counted(e backends.Erased) backends.Erased {
	e.IDs = nil
	return e
}

// shares are those of a receipt, without ids.
func shares(r *backends.Receipt) []backends.Share {
	out := slices.Clone(r.Elsewhere)
	for i := range out {
		out[i].Erased = counted(out[i].Erased)
	}
	return out
}

func TestForgetOnEveryStore(t *testing.T) {
	onEachStore(t, []behaviour{
		{"a user is forgotten with what came from them elsewhere, and others are as before", func(e *env) {
			bob, team, agent := e.user("bob"), e.of(backends.PartitionWorkspace, "team"), e.of(backends.PartitionAgent, "bot")
			e.fill()
			bob.fill()
			team.share(bob, "bob's")
			agent.share(bob, "bob's")
			others := func() []any { return []any{bob.state(), team.state(), agent.state()} }
			before := others()
			team.share(e, "ann's")
			agent.share(e, "ann's")
			team.apply(store.Delete("deleted of ann"))

			got := must(store.Forget(e.ctx, e.Store, e.p, nil))(e)
			require.Equal(e, backends.Erased{Memories: 4, Sessions: 2, Messages: 3, Blobs: 2}, counted(got.Erased))
			require.ElementsMatch(e, []backends.Share{
				{Partition: team.p, Erased: backends.Erased{Memories: 2, Sessions: 1, Messages: 2}},
				{Partition: agent.p, Erased: backends.Erased{Memories: 2, Sessions: 1, Messages: 2}},
			}, shares(got))
			require.NotEmpty(e, got.Checked)
			require.Equal(e, withoutPlaces(before), withoutPlaces(others()))
			require.Empty(e, team.history("deleted of ann"))
			again := must(store.Forget(e.ctx, e.Store, e.p, nil))(e)
			require.Zero(e, again.Erased)
			require.Empty(e, again.Elsewhere)
		}},
		{"a session is forgotten with what it taught, and what it replaced holds again", func(e *env) {
			taught := func(id, session, message, text string) *store.Record {
				r := record(id, text)
				r.Scope.UserID, r.Origin = e.p.ID, backends.Origin{Session: session, MessageIDs: []string{message}}
				return r
			}
			e.append("old", message("m1", "I live in Beijing"))
			e.append("secret", message("m1", "I moved to Shanghai"))
			e.putBlob("secret", "archive", []byte("Shanghai"))
			e.apply(store.Put(taught("beijing", "old", "m1", "Beijing")), store.Put(taught("other", "old", "m1", "other")))
			history := e.history("beijing")
			e.apply(store.Supersede("beijing", taught("shanghai", "secret", "m1", "Shanghai")), store.Put(taught("gone", "secret", "m1", "Shanghai")))
			e.apply(store.Delete("gone"))

			got := must(store.Forget(e.ctx, e.Store, e.p, &backends.Part{Session: ptr("secret")}))(e)
			require.Equal(e, backends.Erased{Memories: 2, Sessions: 1, Messages: 1}, counted(got.Erased))
			require.Equal(e, []string{"beijing", "other"}, ids(e.index().follow().sorted()))
			require.True(e, ptr(e.one("beijing").Memory).Active())
			require.Equal(e, history, e.history("beijing"))
			require.Empty(e, append(e.history("shanghai"), e.history("gone")...))
			e.noSession("secret")
			e.noBlob("secret", "archive")
			require.Len(e, e.read("old", store.Range{}), 1)
		}},
		{"a message and a range of time are forgotten", func(e *env) {
			said := func(id string, at time.Time) store.Entry {
				m := message(id, id)
				m.Time, m.Turn = at, "t "+id
				return m
			}
			now := e.clock.Now()
			e.append("s", said("m1", now), said("m2", now.Add(time.Hour)), said("m3", now.Add(2*time.Hour)))
			e.putBlob("s", "archive", []byte("m2"))
			for _, id := range []string{"m1", "m2", "m3"} {
				r := record("of "+id, id)
				r.Origin = backends.Origin{Session: "s", MessageIDs: []string{id}}
				e.apply(store.Put(r))
			}
			left := func() []string {
				return append(pluck(e.read("s", store.Range{}), func(m *store.Entry) string { return m.Content }), ids(e.index().follow().sorted())...)
			}
			forget := func(part backends.Part) { e.Helper(); must(store.Forget(e.ctx, e.Store, e.p, &part))(e) }
			forget(backends.Part{Session: ptr("s"), Messages: []string{"m2", "unknown"}})
			require.Equal(e, []string{"m1", "", "m3", "of m1", "of m3"}, left())
			e.noBlob("s", "archive")
			forget(backends.Part{Session: ptr("s"), Messages: []string{"t m3"}})
			require.Equal(e, []string{"m1", "", "", "of m1"}, left(), "a turn")
			forget(backends.Part{From: now.Add(time.Minute)})
			require.Equal(e, []string{"m1", "", "", "of m1"}, left())
			forget(backends.Part{To: now})
			require.Equal(e, []string{"m1", "", "", "of m1"}, left())
			for _, part := range []backends.Part{{}, {Messages: []string{"m1"}}} {
				require.ErrorIs(e, errOf(store.Forget(e.ctx, e.Store, e.p, &part)), backends.ErrInvalid)
			}
		}},
	})
}
