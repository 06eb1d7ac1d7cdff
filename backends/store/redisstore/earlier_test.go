// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testredis"
)

// commandsOf reads an append-only file. The times to live are left out, which are over.
func commandsOf(t testing.TB, name string) (out [][]any) {
	t.Helper()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	rest := string(content)
	length := func(sign string) int {
		line, after, _ := strings.Cut(rest, "\r\n")
		n, err := strconv.Atoi(strings.TrimPrefix(line, sign))
		require.NoError(t, err)
		rest = after
		return n
	}
	for rest != "" {
		command := make([]any, length("*"))
		for i := range command {
			n := length("$")
			command[i], rest = rest[:n], rest[n+2:]
		}
		if command[0] != "PEXPIREAT" && command[0] != "SELECT" {
			out = append(out, command)
		}
	}
	return out
}

// What the builds wrote that kept messages and nonces in lists is read as it is. The first write to
// a session moves its log, and that to the partition the newest nonce.
func TestListsOfEarlierBuilds(t *testing.T) {
	all := commandsOf(t, "testdata/lists.aof") // by fill, then a turn
	last := len(all) - 1
	for all[last][0] != "MULTI" {
		last--
	}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, p, fresh, ctx := open(t), user("old"), user("new"), t.Context()
		s := newStore(t, c, &redisstore.Config{Clock: func() time.Time { return now }})
		fill(t, s, fresh)
		turn := messages("m4", "m5")
		appendTo := func(p backends.Partition, a *store.Append) {
			_, err := s.Append(ctx, p, "s", a)
			require.NoError(t, err)
		}
		appendTo(fresh, turn)
		play := func(commands [][]any) {
			for _, key := range keysOf(t, c, p) {
				require.NoError(t, c.Del(ctx, key).Err())
			}
			for _, command := range commands {
				if command[0] != "MULTI" && command[0] != "EXEC" && command[1] != "em:store" {
					require.NoError(t, c.Do(ctx, command...).Err(), "%q", command)
				}
			}
		}
		requireAlike := func(versions bool, what ...any) {
			t.Helper()
			want, got := everythingIn(t, s, fresh, versions), everythingIn(t, s, p, versions)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "n/user/old", "n/user/new")
			}
			require.Equal(t, want, got, what...)
		}
		requireMoved := func() {
			t.Helper()
			for _, key := range []string{"tips", "s:s:log", "s:s:ids"} {
				require.Zero(t, c.Exists(ctx, keyOf(p, key)).Val(), key)
			}
			found, err := s.Check(ctx, p)
			require.NoError(t, err)
			require.Empty(t, found)
		}
		play(all)
		require.Equal(t, "list", c.Type(ctx, keyOf(p, "s:s:log")).Val())
		requireAlike(true)
		for _, r := range []store.Range{{Last: true, Limit: 2}, {After: 1, Limit: 2}, {After: 2, Upto: 4, Last: true, Limit: 1}, {After: 9}} {
			want, err := s.Read(ctx, fresh, "s", r)
			require.NoError(t, err)
			got, err := s.Read(ctx, p, "s", r)
			require.NoError(t, err)
			require.Equal(t, want, got, "%+v", r)
		}
		found, err := s.Check(ctx, p)
		require.NoError(t, err)
		require.Empty(t, found)
		old := follow(t, s, p, &reader{})
		appendTo(p, turn)
		requireAlike(true, "it was there, and moves")
		for _, p := range []backends.Partition{p, fresh} {
			_, err = s.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{put("x", "x")}})
			require.NoError(t, err)
			_, err = s.EraseMessages(ctx, p, "s", 2)
			require.NoError(t, err)
		}
		requireAlike(true)
		require.Equal(t, follow(t, s, p, &reader{}).records, follow(t, s, p, old).records)
		requireMoved()

		_, err = s.Drop(ctx, fresh)
		require.NoError(t, err)
		require.NoError(t, c.Del(ctx, keyOf(fresh, "lives")).Err())
		fill(t, s, fresh)
		appendTo(fresh, turn)
		// Their half of the turn, with its repeat behind it, is there once in the end.
		for n := last + 1; n < len(all); n++ {
			for _, mend := range []func(){
				func() { appendTo(p, turn) },
				func() { _, err := s.Reindex(ctx, p); require.NoError(t, err) },
			} {
				play(slices.Concat(all[:n], all[last:]))
				mend()
				_, err := s.Reindex(ctx, p) // of what is derived in lists
				require.NoError(t, err)
				appendTo(p, turn)
				requireAlike(false, fmt.Sprint("after ", n-last))
				found, err := s.Check(ctx, p)
				require.NoError(t, err)
				require.Empty(t, found)
			}
		}
	})
}
