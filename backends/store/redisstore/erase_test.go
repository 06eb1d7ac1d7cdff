// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// A user is dropped: no key of the server has the name in it any more, and no entry
// of a list, whatever the name is; the counts are those of what was stored; everybody
// else is as before.
func erasure(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := emptyOps(t, open)
	var others []*ops
	for _, id := range append([]string{"user:ann", "ann:user", "annx", "xann", "Ann", "ann}"}, confusing...) {
		other := *o
		other.p.ID = id
		other.fill()
		others = append(others, &other)
	}
	for n, name := range confusing {
		user := *o
		user.p.ID = fmt.Sprintf("%s-%d-erased", name, n)
		user.fill()
		require.NoError(t, user.PutBlob(o.ctx, user.p, name, name, []byte("x"))) // session and blob of that name
		user.append(name+"'s", 0, spoke(name, 1))
		require.NotEmpty(t, user.mentions())
		count, err := user.Drop(o.ctx, user.p)
		require.NoError(t, err)
		require.Equal(t, store.DropCount{Records: 4, Sessions: 4, Messages: 6, Blobs: 4}, count, name)
		require.Empty(t, user.mentions(), name)
		count, err = user.Drop(o.ctx, user.p)
		require.NoError(t, err)
		require.Zero(t, count)
	}
	for _, other := range others {
		other.sound()
		count, err := other.Drop(o.ctx, other.p)
		require.NoError(t, err)
		require.Equal(t, store.DropCount{Records: 4, Sessions: 3, Messages: 5, Blobs: 3}, count, other.p.ID)
	}
	prefix, _, _ := strings.Cut(o.tag[1:], ":")
	require.Equal(t, []string{prefix + ":namespaces"}, o.allKeys(prefix), "the namespaces alone are left")
}

// confusing are what a careless pattern, join or tag would confuse.
var confusing = []string{"a", "a:b", "{a}", "}{", "a b", "%61", "%3A", "?", "[a-z]", `\`, `"'`, "é", "🎈", "..", "s:s:st", ":meta"}

// mentions are the keys of the server, and the entries of its lists, that name the
// partition, escaped or not.
func (o *ops) mentions() (out []string) {
	o.Helper()
	var prefix string
	prefix, _, _ = strings.Cut(o.tag[1:], ":")
	names := []string{o.p.ID, redisstore.MemberOf(o.p), strings.TrimPrefix(redisstore.MemberOf(o.p), "n:user:")}
	for _, key := range o.allKeys(prefix) {
		if containsAny(key, names) {
			out = append(out, key)
		}
	}
	for _, key := range o.RegistryKeys(o.p.Namespace) {
		for _, entry := range o.raw.ZRange(o.ctx, key, 0, -1).Val() {
			if containsAny(entry, names) {
				out = append(out, key+" "+entry)
			}
		}
	}
	return out
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// A user asks for what is known about them, and to be forgotten. The export is
// theirs; what Drop counts is what it held.
func ExampleStore_Export_eraseAUser() {
	server, err := miniredis.Run() // or a server of your own
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	s, err := redisstore.Open(ctx, "redis://"+server.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ann := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	_, err = s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "1", Kind: backends.KindFact, Text: "lives in Beijing"}}),
		store.Put(&store.Record{Memory: backends.Memory{ID: "2", Kind: backends.KindFact, Text: "likes tea"}})}})
	if err != nil {
		log.Fatal(err)
	}

	var file strings.Builder
	exported, err := s.Export(ctx, ann, &file)
	if err != nil {
		log.Fatal(err)
	}
	dropped, err := s.Drop(ctx, ann)
	fmt.Println(dropped.Records, "records erased, as exported:", dropped == exported.Drop(), err)
	found, err := s.RepairRegistry(ctx) // nothing of the user is anywhere
	fmt.Println(found.Looked.Partitions, "partitions left,", found.Total, "problems", err)
	// Output:
	// 2 records erased, as exported: true <nil>
	// 0 partitions left, 0 problems <nil>
}
