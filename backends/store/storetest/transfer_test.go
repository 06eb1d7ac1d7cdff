// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
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

// paging is a store that counts the pages of changes that were read.
type paging struct {
	store.Store
	pages int
}

func (p *paging) Changes(ctx context.Context, of backends.Partition, cursor string) (*store.ChangeSet, error) {
	p.pages++
	return p.Store.Changes(ctx, of, cursor)
}

// writer is a function that gets what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// learning leaves what is to be learnt as it is.
var learning = &store.ImportOptions{Learn: true}

// unversioned returns an export without versions, which are each store's own.
func unversioned(text string) string {
	return regexp.MustCompile(`"version":\d+`).ReplaceAllString(text, "")
}

// settled returns the lines of an export, in any order, without when its sessions were
// written and how far their summaries reach.
func settled(text string) []string {
	return strings.Split(regexp.MustCompile(`"(created|updated)":"[^"]*"|"summary_upto":\d+,`).ReplaceAllString(text, ""), "\n")
}

func TestTransferOnEveryStore(t *testing.T) {
	onEachStore(t, []behaviour{
		{"a partition moves to another store and back, as an export", func(e *env) {
			e.live()
			must(e.EraseMessages(e.ctx, e.p, "learnt", 2))(e)
			text := e.exported()
			other, none := e.elsewhere(), store.TransferCount{Partitions: 1}
			count := must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), learning))(e)
			require.Equal(e, store.TransferCount{Partitions: 1, Records: 33, Deleted: 1, Sessions: 3, Messages: 5, Blobs: 2}, count)
			require.Equal(e, none, must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), learning))(e), "all is there")
			require.Equal(e, none, e.transfer(other), "what differed would be an error")
			e.drop()
			e.clock.pass(time.Hour)
			require.Equal(e, count, other.transfer(e))
			require.Equal(e, none, other.transfer(e))

			for _, cut := range []int{0, len(text) / 2, strings.LastIndex(text, "{\"end")} {
				third := e.elsewhere()
				_, err := store.Import(e.ctx, third.Store, e.p, strings.NewReader(text[:cut]), learning)
				require.ErrorIs(e, err, backends.ErrInvalid)
				must(store.Import(e.ctx, third.Store, e.p, strings.NewReader(text), learning))(e)
				require.Equal(e, none, e.transfer(third), "an import that was cut off goes on")
			}
			require.Equal(e, []string{"s", ""}, names(e.list(store.SessionQuery{Pending: true})))
			e.apply(put("r3", "new"))
			events := e.history("r3")
			require.Greater(e, events[len(events)-1].Version, events[len(events)-2].Version)
			require.Equal(e, "r3", e.index().page().Records[32].ID, "what changes next comes last")
			other.apply(put("a", "changed"))
			require.ErrorIs(e, errOf(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), learning)), backends.ErrConflict)
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
			must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), learning))(e)
			require.Equal(e, unversioned(text), unversioned(other.exported()))
			there := other.in(team.p)
			require.Equal(e, "of ann", there.one("kept of ann").Text)
			require.Len(e, there.history("deleted of ann"), 2)
			require.Equal(e, []string{"of ann"}, pluck(there.read("calls", store.Range{}), func(e *store.Entry) string { return e.Content }))
			require.Len(e, there.read("of ann", store.Range{}), 1)
		}},
		{"no number of a stream decides anything", func(e *env) {
			e.live()
			e.clock.pass(time.Second)
			text := e.exported()
			numbers := regexp.MustCompile(`("(?:version|seq|last_seq|tokens|watermark|summary_upto|attempts|upto|from|whole)":)\d+`)
			reference := e.elsewhere()
			must(store.Import(e.ctx, reference.Store, e.p, strings.NewReader(text), nil))(e)
			want := unversioned(reference.exported())
			for _, number := range []string{"-1", "0", "7", "4611686018427387904", "9223372036854775806", "9223372036854775807", "-9223372036854775808"} {
				forged := numbers.ReplaceAllString(text, "${1}"+number)
				e.drop()
				count := must(store.Import(e.ctx, e.Store, e.p, strings.NewReader(forged), nil))(e)
				require.Equal(e, 33, count.Records)
				require.Equal(e, store.TransferCount{Partitions: 1}, must(store.Import(e.ctx, e.Store, e.p, strings.NewReader(forged), nil))(e), "all is there")
				require.ElementsMatch(e, settled(want), settled(unversioned(e.exported())), number)
				x := e.index().follow()
				require.Less(e, x.version, int64(100))
				e.apply(put("new", "y"), store.Supersede("r3", record("r31", "x")), store.Delete("r7"))
				e.append("s", message("m99", "y"))
				require.Len(e, x.follow().records, 34)
				require.Empty(e, e.list(store.SessionQuery{Pending: true})[1:], "of what was imported nothing is to be learnt")
				other := e.elsewhere()
				must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(e.exported()), nil))(e)
			}
			for _, number := range []string{"1e30", "9223372036854775808", "1.5", `"1"`} {
				_, err := store.Import(e.ctx, e.elsewhere().Store, e.p, strings.NewReader(numbers.ReplaceAllString(text, "${1}"+number)), nil)
				require.ErrorIs(e, err, backends.ErrInvalid)
				require.ErrorContains(e, err, "line 2")
			}
		}},
		{"a line is bounded, and what stands in it is checked", func(e *env) {
			e.append("s", message("m1", "x"))
			e.apply(put("a", "x"))
			lines := strings.SplitAfter(e.exported(), "\n")
			for name, bad := range map[string]string{
				"too long":         `{"memory":{"id":"b","text":"` + strings.Repeat("x", 33<<20) + `"}}`,
				"not UTF-8":        "{\"memory\":{\"id\":\"b\",\"text\":\"\xff\"}}",
				"no id":            `{"memory":{"text":"x"}}`,
				"deep":             `{"memory":{"id":"b","metadata":` + strings.Repeat(`{"x":`, 2000) + "1" + strings.Repeat("}", 2000) + `}}`,
				"another's event":  `{"memory":{"id":"b"},"events":[{"memory_id":"c"}]}`,
				"a huge dimension": `{"partition":` + string(must(json.Marshal(e.of(backends.PartitionWorkspace, "w").p))(e)) + `,"share":true,"export_version":1,"embedding":{"model":"m","dim":1099511627776}}`,
				"a session's id":   `{"session":{"id":"a\u0000b"}}`,
				"a title":          `{"session":{"id":"t","title":"a\nb"}}`,
				"no message":       `{"session":{"id":"t"}}` + "\n" + `{"message":{"id":"m"}}`,
				"a message twice":  `{"session":{"id":"t"}}` + strings.Repeat("\n"+strings.TrimSpace(lines[3]), 2),
			} {
				_, err := store.Import(e.ctx, e.elsewhere().Store, e.p, strings.NewReader(lines[0]+bad+"\n"+lines[4]), nil)
				require.ErrorIs(e, err, backends.ErrInvalid, name)
				require.ErrorContains(e, err, "import, line ", name)
			}
		}},
		{"an export holds a page of the store at a time", func(e *env) {
			for i := range 25 {
				var some []store.Mutation
				for j := range 100 {
					some = append(some, put(fmt.Sprint(i, "-", j), strings.Repeat("x", 100)))
				}
				e.apply(some...)
			}
			db := &paging{Store: e.Store}
			lines := 0
			count := must(store.Export(e.ctx, db, e.p, writer(func(b []byte) {
				if lines += bytes.Count(b, []byte("\n")); lines < 900 {
					require.Equal(e, 1, db.pages)
				}
			})))(e)
			require.Equal(e, 2500, count.Records)
			require.GreaterOrEqual(e, db.pages, 3)
		}},
		{"who was forgotten is imported anew, and stays forgotten if that comes meanwhile", func(e *env) {
			e.append("s", message("m1", "x"))
			e.apply(put("a", "x"), put("b", "y"))
			text := e.exported()
			e.drop()
			must(store.Import(e.ctx, e.Store, e.p, strings.NewReader(text), nil))(e)
			e.drop()
			dropped := &store.ImportOptions{Memory: func(context.Context, backends.Partition, *store.Mutation, *store.Embedding) error {
				e.drop()
				return nil
			}}
			_, err := store.Import(e.ctx, e.Store, e.p, strings.NewReader(text), dropped)
			require.ErrorIs(e, err, backends.ErrForgotten)
			require.Empty(e, e.index().follow().records)
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
			must(store.Import(e.ctx, other.Store, e.p, strings.NewReader(text), learning))(e)
		}},
	})
}
