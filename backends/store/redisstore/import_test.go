// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// imitated is a server in this process, of one's own.
func imitated(t testing.TB) redis.UniversalClient {
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func importNeedsAnEmptyPartition(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	from := newOps(t, open)
	text, _ := from.export()
	for name, fill := range map[string]func(*ops){
		"a record": func(o *ops) { o.apply(&store.Batch{Mutations: []store.Mutation{store.Put(opsFact("x", "x"))}}) },
		"a history": func(o *ops) {
			o.change("record", 1)
			o.apply(&store.Batch{Mutations: []store.Mutation{store.Delete("b")}})
		},
		"a session":  func(o *ops) { o.append("s", 0, spoke("m", 1)) },
		"a blob":     func(o *ops) { require.NoError(o, o.PutBlob(o.ctx, o.p, "s", "b", []byte{1})) },
		"a key":      func(o *ops) { o.apply(&store.Batch{Key: "k"}) },
		"everything": func(o *ops) { o.fill() },
	} {
		o := emptyOps(t, open)
		fill(o)
		before := o.dump()
		_, err := o.Import(o.ctx, strings.NewReader(text), nil)
		require.ErrorIs(t, err, backends.ErrConflict, name)
		require.Equal(t, before, o.dump(), name)
	}
	o := emptyOps(t, open) // one that held something
	o.append("s", 0, spoke("m", 1))
	require.NoError(t, o.Delete(o.ctx, o.p, "s"))
	o.load(text)
	o.sound()
}

// Somebody writes to the partition while it is imported: what is there stays alone.
func importWhileSomebodyWrites(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	from := newOps(t, open)
	text, _ := from.export()
	o := emptyOps(t, open)
	r := &pausing{Reader: strings.NewReader(text), at: len(text) - 10, then: func() { o.append("s", 0, spoke("m", 1)) }}
	_, err := o.Import(o.ctx, r, nil)
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Empty(t, o.allKeys(":import:"))
	require.Len(t, o.listed(false), 1)
	require.Empty(t, o.follow("").records)
	o.sound()
}

// pausing calls a function before it gives the last bytes.
type pausing struct {
	*strings.Reader
	at   int
	then func()
}

func (r *pausing) Read(p []byte) (int, error) {
	if r.at > 0 {
		n, err := r.Reader.Read(p[:min(len(p), r.at)])
		r.at -= n
		return n, err
	}
	if r.then != nil {
		r.then()
		r.then = nil
	}
	return r.Reader.Read(p)
}

func TestImportRefusesWhatIsNoExport(t *testing.T) {
	from := newOps(t, imitated)
	good, _ := from.export()
	all := lines(strings.TrimSuffix(good, "\n"))
	find := func(part string) int {
		for n, l := range all {
			if strings.Contains(l, part) {
				return n
			}
		}
		require.Fail(t, part)
		return 0
	}
	with := func(n int, l string) string {
		changed := append([]string(nil), all...)
		changed[n] = l
		return strings.Join(changed, "")
	}
	swap := func(part, old, repl string) (string, int) {
		n := find(part)
		require.Contains(t, all[n], old)
		return with(n, strings.Replace(all[n], old, repl, 1)), n + 1
	}
	type c struct {
		name, text string
		line       int // 0: the error names none
	}
	cases := []c{
		{"nothing", "", 1}, {"no JSON", "x", 1}, {"an empty line", "\n", 1}, {"another JSON", `{"a":1}`, 1}, {"no header", all[1], 1},
		{"two parts", `{"einomem":{"format":1,"partition":{"namespace":"n","kind":"user","id":"a"},"version":0},"end":{}}`, 1},
		{"two values", strings.TrimSuffix(all[0], "\n") + `{}`, 1},
		{"the header alone", all[0], 2}, {"cut off", strings.Join(all[:len(all)-1], ""), len(all)},
		{"cut off in a line", good[:len(good)-20], len(all)}, {"a line is missing", strings.Join(append(append([]string(nil), all[:2]...), all[3:]...), ""), len(all) - 1},
		{"more after the end", good + "x", len(all)}, {"two headers", with(1, all[0]), 2},
		{"a message of no session", with(1, all[find(`{"message"`)]), 2}, {"a blob of no session", with(1, all[find(`{"blob"`)]), 2},
		{"a record twice", strings.Replace(with(2, all[1]), `"x"`, `"y"`, 1), 0},
	}
	for _, s := range []struct{ name, part, old, repl string }{
		{"another format", `{"einomem"`, `"format":1`, `"format":2`},
		{"no partition", `{"einomem"`, `"kind":"user"`, `"kind":"x"`},
		{"a floor above the version", `{"einomem"`, `"version":3`, `"version":3,"floor":4`},
		{"no model", `{"einomem"`, `"model":"m"`, `"model":""`},
		{"an unknown field", `{"record"`, `"id"`, `"size":1,"id"`},
		{"another id", `{"record"`, `"id":"a","version"`, `"id":"z","version"`},
		{"no id", `{"record"`, `"id":"a","version":2,"memory":{"id":"a"`, `"id":"","version":2,"memory":{"id":""`},
		{"a version too high", `{"record"`, `"version":2`, `"version":9`},
		{"no version", `{"deleted"`, `"version":2`, `"version":0`},
		{"no memory", `{"record"`, `"memory":{`, `"memory":7,"vector":{`},
		{"a vector that is no base64", `{"record"`, `AAH/`, `?`},
		{"an event of another", `{"record"`, `"memory_id":"a"`, `"memory_id":"b"`},
		{"an event without a version", `{"record"`, `"events":[{"version":1`, `"events":[{"version":-1`},
		{"a key of another kind", `{"key"`, `"field":"`, `"field":"x`},
		{"a key without a nonce", `{"key"`, `"nonce":"`, `"nonce":"?`},
		{"a key without results", `"field":"k:turn-1"`, `"results":[`, `"results":7,"x":[`},
		{"a session that is none", `{"session":{"id":"s"`, `"id":"s"`, `"id":"*"`},
		{"a session without a state", `{"session":{"id":"s"`, `"state":{`, `"state":7,"x":{`},
		{"a title of two lines", `{"session":{"id":"s"`, `"title":"Moving `, `"title":"Moving\n`},
		{"a session born too late", `{"session":{"id":"s"`, `"born":1`, `"born":99`},
		{"a session that moved too far", `{"session":{"id":"s"`, `"moved":`, `"moved":9`},
		{"a session with too many messages", `{"session":{"id":"s"`, `"messages":3`, `"messages":4`},
		{"a session with too few messages", `{"session":{"id":"s"`, `"messages":3,"tokens":12,"watermark":2`, `"messages":2,"tokens":12,"watermark":2`},
		{"a watermark beyond", `{"session":{"id":"s"`, `"watermark":2`, `"watermark":4`},
		{"half an end", `{"session":{"id":"ttl"`, `"exp":"`, `"nonce":"`},
		{"a message without an id", `{"message"`, `"id":"m1"`, `"id":""`},
		{"a blob without a name", `{"blob"`, `"name":"blob"`, `"name":""`},
		{"another count", `{"end"`, `"messages":5`, `"messages":6`},
	} {
		text, n := swap(s.part, s.old, s.repl)
		if strings.Contains(s.name, "messages") {
			n = 0
		}
		cases = append(cases, c{s.name, text, n})
	}
	text, _ := swap(`"id":"m2"`, `"id":"m2"`, `"id":"m1"`)
	cases = append(cases, c{"a message twice", text, 0})
	for _, c := range cases {
		o := emptyOps(t, imitated)
		im, err := o.Import(o.ctx, strings.NewReader(c.text), nil)
		require.ErrorIs(t, err, backends.ErrInvalid, c.name)
		require.Nil(t, im, c.name)
		if c.line > 0 {
			require.ErrorContains(t, err, fmt.Sprintf("line %d:", c.line), c.name)
		}
		require.Empty(t, o.allKeys("{"), "%s: nothing is left", c.name)
		page, err := o.Partitions(o.ctx, "n", store.Page{})
		require.NoError(t, err)
		require.Empty(t, page.Partitions, c.name)
	}
}

func TestImportOfAReaderThatFails(t *testing.T) {
	from := newOps(t, imitated)
	text, _ := from.export()
	for at := 0; at < len(text); at += 97 {
		o := emptyOps(t, imitated)
		_, err := o.Import(o.ctx, io.MultiReader(strings.NewReader(text[:at]), brokenReader{}), nil)
		require.ErrorContains(t, err, "disk gone")
		require.NotErrorIs(t, err, backends.ErrInvalid)
		require.Empty(t, o.allKeys("{"))
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

// A cancelled import is cleaned up all the same.
func TestImportIsCancelled(t *testing.T) {
	from := newOps(t, imitated)
	text, _ := from.export()
	o := emptyOps(t, imitated)
	ctx, cancel := context.WithCancel(o.ctx)
	_, err := o.Import(ctx, &pausing{Reader: strings.NewReader(text), at: len(text) - 10, then: cancel}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, o.allKeys("{"))
}

// A large partition goes in parts: 3,000 messages, and texts of more than what is
// sent together.
func importOfMuch(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := emptyOps(t, open)
	for s := range 3 {
		a := &store.Append{}
		for n := range 1000 {
			a.Entries = append(a.Entries, spoke(fmt.Sprint("m", n), 1))
		}
		_, err := o.Append(o.ctx, o.p, fmt.Sprint("s", s), a)
		require.NoError(t, err)
	}
	b := &store.Batch{}
	for n := range 500 {
		b.Mutations = append(b.Mutations, store.Put(opsFact(fmt.Sprint("r", n), strings.Repeat("long ", 1000))))
	}
	o.apply(b)
	require.NoError(t, o.PutBlob(o.ctx, o.p, "s1", "blob", make([]byte, 3<<20)))
	text, count := o.export()
	before := o.state()
	dropped, err := o.Drop(o.ctx, o.p)
	require.NoError(t, err)
	require.Equal(t, count.Drop(), dropped)
	require.Equal(t, count, o.load(text).ExportCount)
	require.Equal(t, before, o.state())
	again, _ := o.export()
	require.True(t, text == again)
	o.sound()
}

// Commands that reach the server while its answers do not are sent again: nothing
// is stored twice.
func TestImportOverABadConnection(t *testing.T) {
	from := newOps(t, imitated)
	text, count := from.export()
	o := emptyOps(t, imitated)
	raw, ok := o.raw.(*redis.Client)
	require.True(t, ok)
	bad := &lossy{}
	raw.AddHook(bad)
	require.Equal(t, count, o.load(text).ExportCount)
	bad.off = true
	again, _ := o.export()
	require.Equal(t, text, again)
	o.sound()
}

// lossy loses the answer to every second pipeline and script.
type lossy struct {
	n   int
	off bool
}

func (h *lossy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if h.n++; err == nil && cmd.Name() == "evalsha" && h.n%2 == 1 && !h.off {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

func (h *lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if h.n++; err == nil && h.n%2 == 1 && !h.off {
			for _, cmd := range cmds {
				cmd.SetErr(io.EOF)
			}
			return io.EOF
		}
		return err
	}
}

func TestImportOfAnEmptyPartition(t *testing.T) {
	o := emptyOps(t, imitated)
	im, err := o.Import(o.ctx, strings.NewReader(`{"einomem":{"format":1,"partition":{"namespace":"n","kind":"user","id":"ann"},"version":0}}`+"\n"+
		`{"end":{"records":0,"deleted":0,"histories":0,"keys":0,"sessions":0,"messages":0,"blobs":0}}`), nil)
	require.NoError(t, err)
	require.Equal(t, &redisstore.Imported{Partition: o.p}, im)
	require.Empty(t, o.allKeys("{"))
}
