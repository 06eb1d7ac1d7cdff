// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// several returns the larger number when EINOMEM_LONG allows tests to take minutes.
func several(short, full int) int {
	if os.Getenv("EINOMEM_LONG") == "1" {
		return full
	}
	return short
}

// newStore opens a store that logs nothing unless cfg says where to.
func newStore(t testing.TB, client redis.UniversalClient, cfg *redisstore.Config) *redisstore.Store {
	t.Helper()
	if cfg == nil {
		cfg = &redisstore.Config{}
	}
	quiet := *cfg
	quiet.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s, err := redisstore.New(t.Context(), client, &quiet)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// clientOf returns a client that does not retry by itself.
func clientOf(t testing.TB, addr string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, DialerRetryTimeout: time.Millisecond, ContextTimeoutEnabled: true}
	for _, c := range change {
		c(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// user is the partition of one user, whose name needs no escaping.
func user(id string) backends.Partition {
	return backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: id}
}

var ann = user("ann")

// keyOf names a key of a partition whose names need no escaping.
func keyOf(p backends.Partition, name string) string {
	return fmt.Sprintf("{em:%s:%s:%s}:%s", p.Namespace, p.Kind, p.ID, name)
}

// messages are of one token each.
func messages(ids ...string) *store.Append {
	a := &store.Append{Scope: backends.Scope{UserID: "ann"}}
	for _, id := range ids {
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: id, Turn: "t", Message: schema.UserMessage("text of " + id)}, Tokens: 1})
	}
	return a
}

func put(id, text string) store.Mutation {
	return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}})
}

func batch(mutations ...store.Mutation) *store.Batch { return &store.Batch{Mutations: mutations} }

func pointer[T any](v T) *T { return &v }

// begin gives a partition a session "s" and a record "counter".
func begin(t testing.TB, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	_, err := s.Apply(t.Context(), p, batch(put("counter", "")))
	require.NoError(t, err)
	_, err = s.Append(t.Context(), p, "s", messages("first"))
	require.NoError(t, err)
}

// count returns the number n that Increment keeps in a record.
func count(t testing.TB, s *redisstore.Store, id string) int {
	t.Helper()
	got, err := s.Get(t.Context(), ann, id)
	require.NoError(t, err)
	require.Len(t, got, 1)
	n, _ := got[0].Metadata["n"].(float64)
	return int(n)
}

// everything makes one call of each kind on a partition that was begun, and returns
// the errors.
func everything(ctx context.Context, s *redisstore.Store, p backends.Partition) map[string]error {
	out := map[string]error{}
	_, out["append"] = s.Append(ctx, p, "s", messages("2"))
	_, out["apply"] = s.Apply(ctx, p, batch(put("b", "text of b")))
	_, out["get"] = s.Get(ctx, p, "counter")
	_, out["changes"] = s.Changes(ctx, p, "")
	_, out["read"] = s.Read(ctx, p, "s", store.Range{})
	_, out["session"] = s.Session(ctx, p, "s")
	_, out["history"] = s.History(ctx, p, "counter")
	_, out["list"] = s.List(ctx, store.SessionQuery{Partition: &p})
	_, out["update"] = s.Update(ctx, p, &store.SessionUpdate{Session: "s", Summary: new(string)})
	out["put blob"] = s.PutBlob(ctx, p, "s", "b", []byte("x"))
	_, out["get blob"] = s.GetBlob(ctx, p, "s", "b")
	_, out["list blobs"] = s.ListBlobs(ctx, p, "s", "", store.Page{})
	return out
}

// requireConsistent reads the keys of a partition whose names need no escaping as the
// package comment describes them, and requires that they agree; what Check compares it
// leaves to Check. Each message must have one token.
func requireConsistent(t testing.TB, c redis.UniversalClient, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	ctx := t.Context()
	hash := func(name string) map[string]string { return c.HGetAll(ctx, keyOf(p, name)).Val() }
	number := func(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
	meta := hash("meta")
	if len(meta) == 0 {
		require.Empty(t, c.Keys(ctx, keyOf(p, "*")).Val(), "keys of a partition that does not exist")
		return
	}
	drift, err := s.Check(ctx, p)
	require.NoError(t, err)
	require.Empty(t, drift)
	records, histories := hash("rec"), hash("his")
	require.Equal(t, len(records), int(c.ZCard(ctx, keyOf(p, "chg")).Val()))
	for id, text := range records {
		require.Contains(t, histories, id)
		stamp, _, _ := strings.Cut(text, " ")
		require.LessOrEqual(t, number(stamp), number(meta["ver"]), id)
	}
	for id := range hash("vec") {
		require.Contains(t, records, id)
	}
	nonces := map[string]bool{}
	for _, nonce := range c.LRange(ctx, keyOf(p, "tips"), 0, -1).Val() {
		require.False(t, nonces[nonce], "a batch was committed twice")
		nonces[nonce] = true
	}
	require.Len(t, nonces, int(min(number(meta["ver"]), 1000)))
	require.Equal(t, len(hash("idem")), int(c.ZCard(ctx, keyOf(p, "idemt")).Val()))
	for _, id := range c.ZRange(ctx, keyOf(p, "sess"), 0, -1).Val() {
		state, n := hash("s:"+id+":st"), c.LLen(ctx, keyOf(p, "s:"+id+":log")).Val()
		require.Equal(t, n, c.SCard(ctx, keyOf(p, "s:"+id+":ids")).Val())
		require.Equal(t, n, number(state["seq"]))
		require.Equal(t, n, number(state["tokens"]), "each message has one")
		require.LessOrEqual(t, number(state["watermark"]), n)
	}
}
