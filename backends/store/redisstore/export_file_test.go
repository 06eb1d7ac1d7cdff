// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

func (o *ops) export() (string, redisstore.ExportCount) {
	o.Helper()
	var b bytes.Buffer
	n, err := o.Export(o.ctx, o.p, &b)
	require.NoError(o, err)
	return b.String(), n
}

func (o *ops) load(text string) *redisstore.Imported {
	o.Helper()
	im, err := o.Import(o.ctx, strings.NewReader(text), &redisstore.ImportOptions{Partition: &o.p})
	require.NoError(o, err)
	return im
}

// state is all that the interface tells of the partition.
type state struct {
	changes  *store.ChangeSet
	records  []store.Record
	history  map[string][]backends.Event
	sessions []store.Session
	pending  []store.Session
	messages map[string][]store.Entry
	blobs    map[string][]byte
	names    map[string]*store.BlobPage
	all      []backends.Partition
}

func (o *ops) state() *state {
	o.Helper()
	out := &state{history: map[string][]backends.Event{}, messages: map[string][]store.Entry{}, blobs: map[string][]byte{}, names: map[string]*store.BlobPage{}}
	var err error
	out.changes, err = o.Changes(o.ctx, o.p, "")
	require.NoError(o, err)
	out.changes.Cursor = ""
	ids := []string{"gone", "unknown"}
	for _, r := range out.changes.Records {
		ids = append(ids, r.ID)
	}
	out.records, err = o.Get(o.ctx, o.p, ids...)
	require.NoError(o, err)
	for _, id := range ids {
		out.history[id], err = o.History(o.ctx, o.p, id)
		require.NoError(o, err)
	}
	out.sessions, out.pending = o.listed(false), o.listed(true)
	for _, s := range append([]store.Session{{ID: "no session"}}, out.sessions...) {
		out.messages[s.ID], err = o.Read(o.ctx, o.p, s.ID, store.Range{})
		require.NoError(o, err)
		out.blobs[s.ID], err = o.GetBlob(o.ctx, o.p, s.ID, "blob")
		if !errors.Is(err, backends.ErrNotFound) {
			require.NoError(o, err)
		}
		out.names[s.ID], err = o.ListBlobs(o.ctx, o.p, s.ID, "", store.Page{})
		require.NoError(o, err)
	}
	page, err := o.Partitions(o.ctx, o.p.Namespace, store.Page{})
	require.NoError(o, err)
	out.all = page.Partitions
	return out
}

func (o *ops) listed(pending bool) []store.Session {
	o.Helper()
	page, err := o.List(o.ctx, store.SessionQuery{Partition: &o.p, Pending: pending, Page: store.Page{Limit: 1000}})
	require.NoError(o, err)
	return page.Sessions
}

func exportAndImport(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := newOps(t, open)
	text, count := o.export()
	require.Equal(t, redisstore.ExportCount{Records: 3, Deleted: 1, Histories: 4, Keys: 4, Sessions: 2 + 1, Messages: 5, Blobs: 3}, count)
	before, reader := o.state(), o.follow("")
	require.Equal(t, []store.BlobInfo{{Name: "blob", Size: 7}}, before.names["s"].Blobs)
	require.True(t, slices.ContainsFunc(before.sessions, func(s store.Session) bool { return s.Title == "Moving <house> 🎈" }))
	dumped := o.dump()

	dropped, err := o.Drop(o.ctx, o.p)
	require.NoError(t, err)
	require.Equal(t, count.Drop(), dropped)
	require.Equal(t, &redisstore.Imported{Partition: o.p, ExportCount: count}, o.load(text))

	require.Equal(t, before, o.state())
	again, _ := o.export()
	require.Equal(t, text, again)
	o.sameKeys(dumped)
	o.sound()
	require.Empty(t, o.allKeys(":import:"))
	require.Equal(t, o.follow("").records, reader.catchUp(o).records, "a cursor of before sees a reset")
	o.replays()
	o.endsStill()

	dropped, err = o.Drop(o.ctx, o.p)
	require.NoError(t, err)
	require.Equal(t, count.Drop(), dropped)
}

// sameKeys compares all keys of the server with those of before, but for what is new
// with every life of a partition.
func (o *ops) sameKeys(before map[string]any) {
	o.Helper()
	after := o.dump()
	for _, all := range []map[string]any{before, after} {
		delete(all, o.tag+":tips")
		meta, ok := all[o.tag+":meta"].(map[string]string)
		require.True(o, ok)
		delete(meta, "inc")
		delete(meta, "work")
	}
	require.Equal(o, before, after)
}

// replays says that a batch whose key came with the import is known.
func (o *ops) replays() {
	o.Helper()
	a, err := o.Apply(o.ctx, o.p, &store.Batch{Key: "turn-1", Mutations: []store.Mutation{store.Put(opsFact("other", "x"))}})
	require.NoError(o, err)
	require.True(o, a.Replayed)
	require.Len(o, a.Results, 3)
	require.Equal(o, int64(1), a.Version)
}

// endsStill says that the session with an end has it on the server.
func (o *ops) endsStill() {
	o.Helper()
	for _, key := range []string{":st", ":log", ":ids", ":blobs"} {
		require.InDelta(o, time.Hour, o.raw.PTTL(o.ctx, o.tag+":s:ttl"+key).Val(), float64(time.Minute), key)
		require.Equal(o, time.Duration(-1), o.raw.PTTL(o.ctx, o.tag+":s:s"+key).Val(), key)
	}
	for _, key := range []string{":meta", ":rec", ":vec", ":chg", ":del", ":his", ":idem", ":idemt", ":sess", ":pend", ":born"} {
		require.Equal(o, time.Duration(-1), o.raw.PTTL(o.ctx, o.tag+key).Val(), key)
	}
}

// From one server to every other, and into partitions with hostile names.
func importFromAnotherServer(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	from := newOps(t, quick(t))
	text, count := from.export()
	for n, id := range []string{"bob", "a:b}{c%", `\'"?[x]`, "é 🎈"} {
		o := emptyOps(t, open)
		*o.now = *from.now
		o.p = backends.Partition{Namespace: fmt.Sprintf("ns:%d}", n), Kind: backends.PartitionAgent, ID: id}
		require.Equal(t, &redisstore.Imported{Partition: o.p, ExportCount: count}, o.load(text))
		again, _ := o.export()
		require.Equal(t, lines(text)[1:], lines(again)[1:])
		o.sound()
		dropped, err := o.Drop(o.ctx, o.p)
		require.NoError(t, err)
		require.Equal(t, count.Drop(), dropped)
	}
}

func lines(text string) []string { return strings.SplitAfter(text, "\n") }

func TestExportIsReadable(t *testing.T) {
	o := newOps(t, imitated)
	text, _ := o.export()
	all := lines(strings.TrimSuffix(text, "\n"))
	for _, l := range all {
		require.True(t, json.Valid([]byte(l)), l)
	}
	require.True(t, strings.HasPrefix(all[0], `{"einomem":{"format":1,"partition":{"namespace":"n","kind":"user","id":"ann"},"version":3,"embedding":{"model":"m","dim":4}`), all[0])
	require.Contains(t, all[1], `{"record":{"id":"a","version":2,"memory":{"id":"a","kind":"fact","text":"lives in Beijing"`)
	require.Contains(t, all[1], `"vector":"AAH/AQ=="`)
	require.Contains(t, all[1], `"events":[{"version":1,"event":{"memory_id":"a","type":"added"`)
	require.Contains(t, text, `{"deleted":{"id":"gone","version":2`)
	require.Contains(t, text, `{"key":{"field":"k:turn-1","version":1`)
	require.Contains(t, text, `{"session":{"id":"s"`)
	require.Contains(t, text, `"content":"I said m1"`)
	require.Contains(t, text, `{"blob":{"name":"blob","data":"AGJ5dGVz/w=="}}`)
	require.Equal(t, `{"end":{"records":3,"deleted":1,"histories":4,"keys":4,"sessions":3,"messages":5,"blobs":3}}`, all[len(all)-1])
}

func TestExportLeavesOutWhatIsOver(t *testing.T) {
	o := newOps(t, imitated)
	*o.now = o.now.Add(2 * time.Hour)
	text, count := o.export()
	require.Equal(t, 2, count.Sessions)
	require.NotContains(t, text, `{"session":{"id":"ttl"`)
	other := emptyOps(t, imitated)
	*other.now = *o.now
	other.load(text)
	other.sound()
}

// What ends between export and import is left out too, with what belongs to it.
func TestImportLeavesOutWhatIsOver(t *testing.T) {
	o := newOps(t, imitated)
	text, count := o.export()
	other := emptyOps(t, imitated)
	*other.now = o.now.Add(2 * time.Hour)
	got := other.load(text)
	require.Equal(t, [3]int{count.Sessions - 1, count.Messages - 1, count.Blobs - 1}, [3]int{got.Sessions, got.Messages, got.Blobs})
	dropped, err := other.Drop(o.ctx, other.p)
	require.NoError(t, err)
	require.Equal(t, got.Drop(), dropped)
}

func TestExportOfHistoriesWithoutTombstone(t *testing.T) {
	o := newOps(t, imitated)
	o.do("ZREM", o.tag+":del", "gone")
	text, count := o.export()
	require.Equal(t, 4, count.Histories)
	require.Contains(t, text, `{"history":{"id":"gone","events":[`)
	before := o.state()
	_, err := o.Drop(o.ctx, o.p)
	require.NoError(t, err)
	o.load(text)
	require.Equal(t, before, o.state())
}

func TestExportErrors(t *testing.T) {
	o := newOps(t, imitated)
	export := func(p backends.Partition) error {
		n, err := o.Export(o.ctx, p, failingWriter{t})
		require.Zero(t, n)
		return err
	}
	require.ErrorIs(t, export(backends.Partition{}), backends.ErrInvalid)
	require.ErrorIs(t, export(backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "nobody"}), backends.ErrNotFound)
	for _, d := range damages {
		if !strings.Contains(d.left, "cannot be read") || strings.Contains(d.name, "no embedding") {
			continue
		}
		broken := newOps(t, imitated)
		broken.damage(d.do)
		var b bytes.Buffer
		_, err := broken.Export(o.ctx, broken.p, &b)
		require.ErrorIs(t, err, backends.ErrUnavailable, d.name)
		require.Zero(t, b.Len(), d.name)
	}
	_, err := o.Export(o.ctx, o.p, brokenWriter{})
	require.ErrorContains(t, err, "disk full")
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	_, err = o.Export(o.ctx, o.p, failingWriter{t})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "TMPDIR")
}

// failingWriter must not be written to.
type failingWriter struct{ t *testing.T }

func (w failingWriter) Write(p []byte) (int, error) {
	w.t.Errorf("written: %q", p)
	return len(p), nil
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// interrupted calls a function before a command reaches the server.
type interrupted struct {
	redis.Hook
	on func(name string)
}

func (h interrupted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h interrupted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.on(cmd.Name())
		return next(ctx, cmd)
	}
}

func (h interrupted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func exportOfAPartitionThatChanges(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	for _, name := range []string{"record", "message", "blob", "key", "delete", "drop"} {
		for _, times := range []int{2, 1000} {
			o := newOps(t, open)
			n := 0
			change := func(command string) {
				if command != "hget" || n >= times { // that of a blob: the last thing that is read
					return
				}
				n++
				o.change(name, n)
			}
			raw := open(t)
			if c, ok := raw.(*redis.ClusterClient); ok {
				c.OnNewNode(func(node *redis.Client) { node.AddHook(interrupted{on: change}) })
			} else {
				raw.AddHook(interrupted{on: change})
			}
			exporting := newStore(t, raw, &redisstore.Config{Prefix: strings.Split(o.tag[1:], ":")[0], Clock: func() time.Time { return *o.now }})
			var b bytes.Buffer
			_, err := exporting.Export(o.ctx, o.p, &b)
			if name == "drop" {
				require.ErrorIs(t, err, backends.ErrNotFound)
				continue
			}
			if times > 5 {
				require.ErrorIs(t, err, backends.ErrConflict, name)
				require.Zero(t, b.Len(), name)
				continue
			}
			require.NoError(t, err, name)
			want, _ := o.export()
			require.Equal(t, want, b.String(), name)
		}
	}
}

func (o *ops) change(what string, n int) {
	o.Helper()
	switch what {
	case "record":
		o.apply(&store.Batch{Mutations: []store.Mutation{store.Put(opsFact("b", fmt.Sprint(n)))}})
	case "message":
		o.append("s", 0, spoke(fmt.Sprint("more", n), 1))
	case "blob":
		require.NoError(o, o.PutBlob(o.ctx, o.p, "s", "blob", []byte(fmt.Sprint(n))))
	case "key":
		o.apply(&store.Batch{Key: fmt.Sprint("nothing", n)})
	case "delete":
		if n == 1 {
			require.NoError(o, o.Delete(o.ctx, o.p, "s"))
			return
		}
		o.append(fmt.Sprint("s", n), 0, spoke("m", 1))
	case "drop":
		_, err := o.Drop(o.ctx, o.p)
		require.NoError(o, err)
	}
}

func TestExportLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	o := newOps(t, imitated)
	o.export()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
