// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// howOften is a number of rounds: the second one when EINOMEM_LONG is set, few on
// the imitation, which is slow at scripts.
func howOften(t *testing.T, few, many int) int {
	switch {
	case strings.Contains(t.Name(), "miniredis"):
		return 1
	case long():
		return many
	}
	return few
}

// writers write to the partition, all kinds of things, until the returned function
// is called, which says how many writes there were.
func (o *ops) writers(n int) (stop func() int) {
	o.Helper()
	ctx, cancel := context.WithCancel(o.ctx)
	var all errgroup.Group
	var mu sync.Mutex
	total := 0
	for w := range n {
		all.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				if err := o.writeSomething(w, i); err != nil {
					return err
				}
				mu.Lock()
				total++
				mu.Unlock()
			}
			return nil
		})
	}
	return func() int {
		o.Helper()
		cancel()
		require.NoError(o, all.Wait())
		return total
	}
}

func (o *ops) writeSomething(w, i int) (err error) {
	id, session := fmt.Sprint("w", w, "-", i%20), fmt.Sprint("s", w, "-", i%3)
	switch i % 8 {
	case 0, 1:
		_, err = o.Apply(o.ctx, o.p, &store.Batch{Key: fmt.Sprint(w, "/", i), Mutations: []store.Mutation{store.Put(opsFact(id, fmt.Sprint(i)))}})
	case 2:
		_, err = o.Apply(o.ctx, o.p, &store.Batch{Mutations: []store.Mutation{store.Delete(id)}})
	case 3:
		_, err = o.Apply(o.ctx, o.p, &store.Batch{Mutations: []store.Mutation{store.Put(opsFact(id, "a")), store.Supersede(id, opsFact(id+"'", "b"))}})
	case 4, 5:
		_, err = o.Append(o.ctx, o.p, session, &store.Append{Entries: []store.Entry{spoke(fmt.Sprint("m", i), i%7)}, TTL: time.Hour * time.Duration(i%2), Learnt: i%16 > 8})
	case 6:
		upto := int64(i % 5)
		_, err = o.Update(o.ctx, o.p, &store.SessionUpdate{Session: session, Watermark: &upto})
	case 7:
		if err = o.PutBlob(o.ctx, o.p, session, "blob", []byte(id)); err == nil && i%24 == 7 {
			err = o.Delete(o.ctx, o.p, session)
		}
	}
	if errors.Is(err, backends.ErrNotFound) {
		return nil
	}
	return err
}

// A partition that many write to is found sound, and repairing it changes nothing:
// no false alarm in many rounds.
func busyPartition(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := newOps(t, open)
	stop := o.writers(4)
	rounds := howOften(t, 3, 12)
	for range rounds {
		r := o.verify()
		require.Empty(t, spoken(r))
		r = o.repair()
		require.Empty(t, spoken(r))
		require.Zero(t, r.Leftovers)
		reg, err := o.VerifyRegistry(o.ctx)
		require.NoError(t, err)
		require.Empty(t, ofPrefix(o, reg))
	}
	n := stop()
	o.sound()
	t.Logf("%d rounds of Verify, Repair and VerifyRegistry among %d writes", rounds, n)
	require.Greater(t, n, 10)
}

// ofPrefix are the problems with keys of the test's own prefix.
func ofPrefix(o *ops, r *redisstore.Report) string {
	var out []string
	prefix, _, _ := strings.Cut(o.tag[1:], ":")
	for _, p := range r.Problems {
		if strings.Contains(p.Key, prefix) {
			out = append(out, p.String())
		}
	}
	return strings.Join(out, "\n")
}

// beyondRepair is of damages that stop the writers, or that together with the one
// done to "apart" leave nothing by which it could be known that there was a record.
func beyondRepair(name string) bool {
	for _, part := range []string{"meta", "life", "fell", "no number", "lost", "ends by itself", "all records"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// Damage is repaired while others write, and nothing that they write is lost.
func repairAmongWriters(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := newOps(t, open)
	reader := o.follow("")
	stop := o.writers(3)
	rounds := howOften(t, 8, 40)
	repaired := 0
	for n := range rounds {
		o.apply(&store.Batch{Mutations: []store.Mutation{store.Put(opsFact("apart", fmt.Sprint(n)))}})
		o.damage([][]any{{"ZREM", "T:chg", "apart"}}) // no writer puts this right
		for {                                         // one that can be repaired, and that writers do not stumble over
			d := damages[(n*7+rand.IntN(len(damages)))%len(damages)]
			if d.left == "" && !beyondRepair(d.name) {
				o.damage(d.do)
				break
			}
		}
		r := o.repair()
		require.True(t, r.OK(), spoken(r))
		repaired += r.Fixed
		if n%3 == 0 {
			reader.catchUp(o)
		}
	}
	writes := stop()
	o.sound()
	require.Equal(t, o.follow("").records, reader.catchUp(o).records, "a reader that followed sees what a new one sees")
	t.Logf("%d problems repaired among %d writes", repaired, writes)
	require.GreaterOrEqual(t, repaired, rounds)
}

// quick opens a real server, if there is one: the imitation is slow at scripts.
func quick(t *testing.T) func(testing.TB) redis.UniversalClient {
	if len(testredis.Flavours()) == 0 {
		return imitated
	}
	c := testredis.Need(t).Start(t).Client(t)
	return func(testing.TB) redis.UniversalClient { return c }
}

// Whatever is done to the indexes, one Repair makes them whole: the records and the
// messages stay as they are.
func TestAnyDamageToIndexesIsRepaired(t *testing.T) {
	indexes := []string{"T:chg", "T:del", "T:idemt", "T:sess", "T:pend", "T:born"}
	open := quick(t)
	rapid.Check(t, func(rt *rapid.T) {
		o := newOps(t, open)
		before := o.state()
		for range rapid.IntRange(1, 6).Draw(rt, "damages") {
			key := rapid.SampledFrom(indexes).Draw(rt, "key")
			member := rapid.SampledFrom([]string{"a", "b", "c", "gone", "s", "ttl", "", "no session", "k:turn-1", "zzz"}).Draw(rt, "member")
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				o.damage([][]any{{"ZREM", key, member}})
			case 1:
				o.damage([][]any{{"ZADD", key, rapid.IntRange(0, 20).Draw(rt, "score"), member}})
			case 2:
				o.damage([][]any{{"DEL", key}})
			case 3:
				o.damage([][]any{{"HDEL", "T:meta", rapid.SampledFrom([]string{"inc", "ver", "moved", "born", "work"}).Draw(rt, "field")}})
			}
		}
		r, err := o.RepairRegistry(o.ctx) // some sessions may be in no index at all
		require.NoError(rt, err)
		require.True(rt, r.OK(), spoken(r))
		r = o.repair()
		require.True(rt, r.OK(), spoken(r))
		o.sound()
		after := o.state()
		require.Equal(rt, contents(before.records), contents(after.records))
		require.Equal(rt, before.messages, after.messages)
		require.Equal(rt, before.history, after.history)
		require.Equal(rt, before.blobs, after.blobs)
		require.ElementsMatch(rt, before.sessions, after.sessions)
		require.ElementsMatch(rt, before.pending, after.pending)
		o.works()
		require.Zero(rt, o.repair().Total)
	})
}

func contents(all []store.Record) []string {
	var out []string
	for _, r := range all {
		out = append(out, fmt.Sprintf("%s %s %v %q %q %x", r.ID, r.Text, r.Metadata, r.Supersedes, r.SupersededBy, r.Vector))
	}
	slices.Sort(out) // by id: a repair makes some the last that changed
	return out
}

func TestLeftoversOfExpiredSessions(t *testing.T) {
	o := newOps(t, imitated)
	*o.now = o.now.Add(2 * time.Hour)
	r := o.verify()
	require.Empty(t, r.Problems)
	require.Equal(t, 1, r.Leftovers, "the keys are there, the time is over")
	require.Equal(t, 1, o.repair().Leftovers)
	require.Empty(t, o.allKeys(":s:ttl:"))
	require.Zero(t, o.verify().Leftovers)

	o = newOps(t, imitated)
	o.do("DEL", o.tag+":s:ttl:st", o.tag+":s:ttl:log", o.tag+":s:ttl:ids", o.tag+":s:ttl:blobs") // as the server does
	require.Equal(t, 1, o.verify().Leftovers)
	require.Equal(t, 1, o.repair().Leftovers)
	for _, index := range []string{":sess", ":pend", ":born"} {
		require.Error(t, o.raw.ZScore(o.ctx, o.tag+index, "ttl").Err(), index)
	}
	o.sound()
	o.append("ttl", 0, spoke("again", 1))
	o.sound()
}

func TestAReportIsBounded(t *testing.T) {
	o := emptyOps(t, quick(t))
	b := &store.Batch{}
	for n := range 1500 {
		b.Mutations = append(b.Mutations, store.Put(opsFact(fmt.Sprint(n), "x")))
	}
	o.apply(b)
	o.do("DEL", o.tag+":chg")
	r := o.verify()
	require.Equal(t, 1500, r.Total)
	require.Len(t, r.Problems, 1000)
	require.False(t, r.OK())
	r = o.repair()
	require.Equal(t, [2]int{1500, 1500}, [2]int{r.Total, r.Fixed})
	require.Len(t, o.follow("").records, 1500)
	o.sound()
	version, err := o.raw.HGet(o.ctx, o.tag+":meta", "ver").Int()
	require.NoError(t, err)
	require.Less(t, version, 30, "one version for each page, not for each record")
}

func TestVerifyErrors(t *testing.T) {
	o := newOps(t, imitated)
	for _, inspect := range []func(context.Context, backends.Partition) (*redisstore.Report, error){o.Verify, o.Repair} {
		_, err := inspect(o.ctx, backends.Partition{})
		require.ErrorIs(t, err, backends.ErrInvalid)
		ctx, cancel := context.WithCancel(o.ctx)
		cancel()
		_, err = inspect(ctx, o.p)
		require.ErrorIs(t, err, context.Canceled)
		r, err := inspect(o.ctx, backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "nobody"})
		require.NoError(t, err)
		require.Zero(t, r.Looked)
		require.True(t, r.OK())
	}
	require.Empty(t, o.allKeys("nobody"))
	require.NoError(t, o.Close())
	for _, call := range []func(context.Context) (*redisstore.Report, error){o.VerifyRegistry, o.RepairRegistry} {
		_, err := call(o.ctx)
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
}

// A connection that breaks at any step of a repair makes it an error or repeats the
// step; the next repair does the rest.
func TestRepairOverABadConnection(t *testing.T) {
	s := testredis.Need(t).Start(t)
	for n := range 40 {
		raw := s.Client(t)
		o := newOps(t, func(testing.TB) redis.UniversalClient { return raw })
		o.damage([][]any{{"DEL", "T:chg"}, {"DEL", "T:tips"}, {"ZREM", "T:born", "s"}, {"HDEL", "T:meta", "moved"}, {"DEL", "T:s:s:ids"}})
		cut := &cutOnce{at: n}
		raw.AddHook(cut)
		r := o.repair()
		require.True(t, r.OK() || cut.done, spoken(r))
		require.Zero(t, o.repair().Total-o.repair().Fixed)
		o.sound()
		o.works()
	}
}

// cutOnce loses one answer.
type cutOnce struct {
	at, n int
	done  bool
}

func (h *cutOnce) lose(err error) bool {
	h.n++
	if err == nil && !h.done && h.n > h.at {
		h.done = true
		return true
	}
	return false
}

func (h *cutOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *cutOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if h.lose(err) {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

func (h *cutOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if h.lose(err) {
			for _, cmd := range cmds {
				cmd.SetErr(io.EOF)
			}
			return io.EOF
		}
		return err
	}
}

func registry(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := newOps(t, open)
	bob := backends.Partition{Namespace: "o:}t{her", Kind: backends.PartitionWorkspace, ID: "b:}ob%"}
	_, err := o.Apply(o.ctx, bob, &store.Batch{Mutations: []store.Mutation{store.Put(opsFact("x", "x"))}})
	require.NoError(t, err)
	report := func(f func(context.Context) (*redisstore.Report, error)) *redisstore.Report {
		t.Helper()
		r, err := f(o.ctx)
		require.NoError(t, err)
		return r
	}
	r := report(o.VerifyRegistry)
	require.Empty(t, ofPrefix(o, r))
	require.Equal(t, 2, r.Looked.Partitions)
	require.Zero(t, r.Leftovers)

	o.damage([][]any{{"DEL", "P:namespaces", "P:work"}, {"ZADD", "P:partitions:n", "0", "user:nobody", "0", "strange"}, {"ZREM", "P:partitions:o%3A%7Dt%7Bher", "workspace:b%3A%7Dob%25"},
		{"ZREM", "T:born", "s"}, {"ZREM", "T:sess", "s"}, {"ZREM", "T:pend", "s"}, {"ZREM", "T:born", "no session"}})
	require.True(t, o.verify().Total > 0) // its own entries; not the sessions
	r = report(o.VerifyRegistry)
	for _, want := range []string{
		`P:namespaces "n": the partition exists, and is missing here`,
		`P:namespaces "o%3A%7Dt%7Bher": the partition exists, and is missing here`,
		`P:partitions:o%3A%7Dt%7Bher "workspace:b%3A%7Dob%25": the partition exists`,
		`P:work "n:user:ann": the partition exists`,
		`T:born "s": there are keys of the session, and it is missing`,
		`T:born "no session": there are keys of the session`,
	} {
		require.Contains(t, spoken(r), o.named(want))
	}
	r = report(o.RepairRegistry)
	require.True(t, r.OK(), spoken(r))
	r = report(o.RepairRegistry)
	require.Equal(t, 1, r.Leftovers+report(o.VerifyRegistry).Leftovers+boolInt(!strings.Contains(spoken(r), "strange")), "found on the way, as the namespace was not listed")
	require.True(t, o.repair().OK())
	o.sound()
	page, err := o.Partitions(o.ctx, bob.Namespace, store.Page{})
	require.NoError(t, err)
	require.Equal(t, []backends.Partition{bob}, page.Partitions)
	page, err = o.Partitions(o.ctx, "n", store.Page{})
	require.NoError(t, err)
	require.Equal(t, []backends.Partition{o.p}, page.Partitions)
	require.Len(t, o.listed(false), 3)
	n, err := o.Drop(o.ctx, o.p)
	require.NoError(t, err)
	require.Equal(t, store.DropCount{Records: 4, Sessions: 3, Messages: 5, Blobs: 3}, n)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
