// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// integrity reads the keys of a partition as the package comment describes them, and
// proves that they agree with each other and with the registry.
type integrity struct {
	t    *testing.T
	c    redis.UniversalClient
	p    backends.Partition // its parts need no encoding
	meta map[string]string
}

func checkIntegrity(t *testing.T, c redis.UniversalClient, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	i := &integrity{t: t, c: c, p: p}
	i.meta = i.hash("meta")
	i.records()
	i.commits()
	for _, id := range i.sessions() {
		i.session(id)
	}
	i.registry(s)
	checkReport(t, func() (*redisstore.Report, error) { return s.Verify(t.Context(), p) })
}

// checkReport proves that a look at the server finds nothing wrong.
func checkReport(t *testing.T, look func() (*redisstore.Report, error)) {
	t.Helper()
	r, err := look()
	require.NoError(t, err)
	require.True(t, r.OK(), "%+v", r.Problems)
}

func (i *integrity) key(name string) string {
	return fmt.Sprintf("{em:%s:%s:%s}:%s", i.p.Namespace, i.p.Kind, i.p.ID, name)
}

func (i *integrity) hash(name string) map[string]string {
	i.t.Helper()
	out, err := i.c.HGetAll(i.t.Context(), i.key(name)).Result()
	require.NoError(i.t, err)
	return out
}

func (i *integrity) sorted(name string) map[string]int64 {
	i.t.Helper()
	all, err := i.c.ZRangeWithScores(i.t.Context(), i.key(name), 0, -1).Result()
	require.NoError(i.t, err)
	out := map[string]int64{}
	for _, z := range all {
		out[z.Member.(string)] = int64(z.Score)
	}
	return out
}

func (i *integrity) int(text string) int64 {
	i.t.Helper()
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(i.t, err)
	return n
}

// records: each is indexed by its version, each and each deleted one has a history.
func (i *integrity) records() {
	i.t.Helper()
	records, changed, deleted, histories := i.hash("rec"), i.sorted("chg"), i.sorted("del"), i.hash("his")
	require.Len(i.t, changed, len(records))
	for id, r := range records {
		stamp, _, _ := strings.Cut(r, " ")
		require.Equal(i.t, i.int(stamp), changed[id], id)
		require.LessOrEqual(i.t, changed[id], i.int(i.meta["ver"]), id)
		require.Contains(i.t, histories, id)
		require.NotContains(i.t, deleted, id)
	}
	for id := range deleted {
		require.Contains(i.t, histories, id)
	}
	for id := range i.hash("vec") {
		require.Contains(i.t, records, id)
	}
}

// commits: each version has a nonce, each known batch a time to forget it.
func (i *integrity) commits() {
	i.t.Helper()
	tips, err := i.c.LRange(i.t.Context(), i.key("tips"), 0, -1).Result()
	require.NoError(i.t, err)
	require.Len(i.t, tips, int(min(i.int(i.meta["ver"]), 1000)))
	once := map[string]bool{}
	for _, nonce := range tips {
		require.False(i.t, once[nonce], "a batch was committed twice")
		once[nonce] = true
	}
	known, at := i.hash("idem"), i.sorted("idemt")
	require.Len(i.t, at, len(known))
	for field := range at {
		require.Contains(i.t, known, field)
	}
}

// sessions: those that exist are in their indexes.
func (i *integrity) sessions() []string {
	i.t.Helper()
	changed, born, pending := i.sorted("sess"), i.sorted("born"), i.sorted("pend")
	var out []string
	for id := range changed {
		require.Contains(i.t, born, id)
		out = append(out, id)
	}
	for id := range pending {
		require.Contains(i.t, changed, id)
		require.Contains(i.t, i.meta, "work")
	}
	return out
}

// session: its numbers are those of its log.
func (i *integrity) session(id string) {
	i.t.Helper()
	st := i.hash("s:" + id + ":st")
	require.NotEmpty(i.t, st)
	n, err := i.c.LLen(i.t.Context(), i.key("s:"+id+":log")).Result()
	require.NoError(i.t, err)
	ids, err := i.c.SCard(i.t.Context(), i.key("s:"+id+":ids")).Result()
	require.NoError(i.t, err)
	require.Equal(i.t, n, ids)
	require.Equal(i.t, n, i.int(st["seq"]))
	require.Equal(i.t, n, i.int(st["tokens"]), "each message has one")
	require.LessOrEqual(i.t, i.int(st["watermark"]), n)
	_, pending := i.sorted("pend")[id]
	require.Equal(i.t, n > i.int(st["watermark"]), pending)
}

// registry: what exists is found.
func (i *integrity) registry(s *redisstore.Store) {
	i.t.Helper()
	if len(i.meta) == 0 {
		left, err := i.c.Keys(i.t.Context(), i.key("*")).Result()
		require.NoError(i.t, err)
		require.Empty(i.t, left, "of a partition that does not exist")
		return
	}
	local := fmt.Sprintf("%s:%s", i.p.Kind, i.p.ID)
	_, err := i.c.ZScore(i.t.Context(), "em:partitions:"+i.p.Namespace, local).Result()
	require.NoError(i.t, err)
	_, err = i.c.ZScore(i.t.Context(), "em:namespaces", i.p.Namespace).Result()
	require.NoError(i.t, err)
	if len(i.sorted("pend")) > 0 {
		_, err = i.c.ZScore(i.t.Context(), "em:work", i.p.Namespace+":"+local).Result()
		require.NoError(i.t, err)
	}
}
