// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// elsewhere returns the same test on another store, in memory.
func (e *env) elsewhere() *env {
	e.Helper()
	s := must(sqlitestore.Open(e.ctx, sqlitestore.Memory, &sqlitestore.Config{Clock: e.clock.Now}))(e)
	e.TB.(testing.TB).Cleanup(func() { require.NoError(e, s.Close()) })
	other := *e
	other.Store = s
	return &other
}

func (e *env) transfer(to *env) store.TransferCount {
	e.Helper()
	return must(store.Transfer(e.ctx, e.Store, to.Store, e.p))(e)
}

// live fills the partition with all that a store keeps of one.
func (e *env) live() {
	e.Helper()
	e.fill()
	for i := range 30 { // every record has a version of its own
		r := record(fmt.Sprint("r", (i*7)%30), "line\n\"two\" <&> \u2028 日本語 🎈")
		r.Metadata, r.Vector = map[string]any{"n": 1.5, "list": []any{"a", nil}}, []byte{byte(i), 0xff}
		r.Expires = e.clock.pass(time.Second).Add(time.Hour)
		e.apply(store.Put(r))
	}
	e.apply(store.Increment("r3", "n", 1), store.Retract("r4", time.Time{}), store.Supersede("r5", record("r6", "x")))
	at := e.clock.Now().Add(24 * time.Hour)
	e.appendAll("learnt", &store.Append{Entries: []store.Entry{message("m1", "x"), message("m2", "x")}, Learnt: true})
	e.update(&store.SessionUpdate{
		Session: "s", Watermark: ptr(int64(1)), Title: ptr("T"), Summary: ptr("x"), SummaryUpto: ptr(int64(1)), Expires: &at,
		Retry:    &store.Retry{Attempts: 1, After: at, Upto: 2, InDoubt: true},
		Failures: &[]store.Failure{{From: 1, Upto: 1, Reason: "no", Time: at}},
	})
}

func (e *env) exported() string {
	e.Helper()
	var out strings.Builder
	must(store.Export(e.ctx, e.Store, e.p, &out))(e)
	return out.String()
}

func TestTransferOnEveryStore(t *testing.T) {
	onEachStore(t, []behaviour{
		{"a partition moves to another store and back, as an export", func(e *env) {
			e.live()
			must(e.EraseMessages(e.ctx, e.p, "learnt", 2))(e)
			text := e.exported()
			other, none := e.elsewhere(), store.TransferCount{Partitions: 1}
			count := must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), nil))(e)
			require.Equal(e, store.TransferCount{Partitions: 1, Records: 33, Deleted: 1, Sessions: 3, Messages: 5, Blobs: 2}, count)
			require.Equal(e, none, must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), nil))(e), "all is there")
			require.Equal(e, none, e.transfer(other), "what differed would be an error")
			e.drop()
			e.clock.pass(time.Hour)
			require.Equal(e, count, other.transfer(e))
			require.Equal(e, none, other.transfer(e))

			for _, cut := range []int{0, len(text) / 2, strings.LastIndex(text, "{\"end")} {
				third := e.elsewhere()
				_, err := store.Import(e.ctx, third.Store, e.p, strings.NewReader(text[:cut]), nil)
				require.ErrorIs(e, err, backends.ErrInvalid)
				must(store.Import(e.ctx, third.Store, e.p, strings.NewReader(text), nil))(e)
				require.Equal(e, none, e.transfer(third), "an import that was cut off goes on")
			}
			require.Equal(e, []string{"s", ""}, names(e.list(store.SessionQuery{Pending: true})))
			e.apply(put("r3", "new"))
			events := e.history("r3")
			require.Greater(e, events[len(events)-1].Version, events[len(events)-2].Version)
			require.Equal(e, "r3", e.index().page().Records[32].ID, "what changes next comes last")
			other.apply(put("a", "changed"))
			require.ErrorIs(e, errOf(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), nil)), backends.ErrConflict)
		}},
		{"an export has what came from a user elsewhere, and nothing of others", func(e *env) {
			bob, team := e.user("bob"), e.of(backends.PartitionWorkspace, "team")
			for _, user := range []*env{bob, e} {
				user.append("s", message("m1", "of "+user.p.ID))
				team.share(user, "of "+user.p.ID)
			}
			team.apply(store.Delete("deleted of ann"), store.Delete("deleted of bob"))
			text := e.exported()
			require.NotContains(e, text, "of bob")
			other := e.elsewhere()
			must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), nil))(e)
			require.Equal(e, text, other.exported())
			there := other.in(team.p)
			require.Equal(e, "of ann", there.one("kept of ann").Text)
			require.Len(e, there.history("deleted of ann"), 2)
			require.Equal(e, []string{"of ann"}, pluck(there.read("calls", store.Range{}), func(e *store.Entry) string { return e.Content }))
			require.Len(e, there.read("of ann", store.Range{}), 1)
		}},
		{"a part of a workspace is the user's whose export it is, and opened first", func(e *env) {
			team := e.of(backends.PartitionWorkspace, "team")
			team.share(e, "of ann")
			text, other := e.exported(), e.elsewhere()
			denied := &store.ImportOptions{Open: func(_ context.Context, p backends.Partition) error {
				if p == team.p {
					return fmt.Errorf("%w: not this one", backends.ErrDenied)
				}
				return nil
			}}
			_, err := store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), denied)
			require.ErrorIs(e, err, backends.ErrDenied)
			require.ErrorContains(e, err, "line 2")
			require.Empty(e, must(other.Partitions(e.ctx, e.p.Namespace, store.Page{}))(e).Partitions)
			ann, eve, mentions := `"`+e.p.ID+`"`, `"eve"`, 0
			for from := strings.Index(text, "\n"); ; { // each mention of her in the workspace
				at := strings.Index(text[from:], ann)
				if at < 0 {
					break
				}
				forged := text[:from+at] + eve + text[from+at+len(ann):]
				from, mentions = from+at+len(ann), mentions+1
				_, err := store.Import(e.ctx, other.Store, e.p, strings.NewReader(forged), nil)
				require.ErrorIs(e, err, backends.ErrInvalid, forged)
			}
			require.Equal(e, 6, mentions)
			must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), nil))(e)
		}},
	})
}
