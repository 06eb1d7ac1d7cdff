// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// began creates n sessions and returns their names in order.
func (e *env) began(n int) []string {
	e.Helper()
	var want []string
	for i := range n {
		id := fmt.Sprintf("s%03d", i)
		e.append(id, message("m1", "x"))
		e.clock.pass(time.Millisecond)
		want = append(want, id)
	}
	return want
}

var listBehaviours = []behaviour{
	{"every entry is listed exactly once in pages of any size", func(e *env) {
		many := *e
		many.p.Namespace += "-many"
		want := []string{}
		for i := range 120 {
			id := fmt.Sprintf("%03d", i)
			e.append(id, message("m1", "x"))
			e.clock.pass(time.Millisecond)
			e.apply(put(id, "x"), put("stays "+id, "x"))
			e.apply(store.Delete(id))
			e.putBlob(id, "000", []byte("x"))
			e.putBlob("000", id, []byte("x"))
			many.p.ID, many.p.Kind = id, kinds[i%3]
			many.append("", message("m1", "x"))
			want = append(want, id)
		}
		sessions := func(pending bool) func(int) []string {
			return func(limit int) []string {
				return names(e.list(store.SessionQuery{Pending: pending, Page: store.Page{Limit: limit}}))
			}
		}
		for name, list := range map[string]func(limit int) []string{
			"sessions": sessions(false), "pending sessions": sessions(true), "deleted memories": e.deleted, "sessions with blobs": e.blobSessions,
			"blobs": func(limit int) []string { return e.blobNames("000", "", limit) },
			"partitions": func(limit int) []string {
				return slices.Sorted(slices.Values(pluck(many.partitions(limit), func(p *backends.Partition) string { return p.ID })))
			},
		} {
			for _, limit := range []int{1, 7, 40, 119, 120, 121, 5000, 0} {
				require.Equal(e, want, list(limit), "%s, pages of %d", name, limit)
			}
		}
		require.Len(e, must(e.List(e.ctx, store.SessionQuery{Partition: &e.p}))(e).Sessions, 100, "the default")
		require.Len(e, must(e.List(e.ctx, store.SessionQuery{Partition: &e.p, Page: store.Page{Limit: 7}}))(e).Sessions, 7)
		require.Len(e, e.blobPage("000", "", store.Page{}).Blobs, 100, "the default")
		require.Empty(e, e.blobPage("000", "", store.Page{Limit: 120}).Next)
	}},
	{"a partition lists its own sessions, no partition all of them", func(e *env) {
		bob := e.user("bob")
		e.append("s", message("m1", "x"))
		bob.append("s", message("m1", "x"))
		bob.append("t", message("m1", "x"))
		require.Equal(e, []string{"s"}, names(e.list(store.SessionQuery{})))
		require.Equal(e, []string{"s", "t"}, names(bob.list(store.SessionQuery{})))
		require.Empty(e, e.user("eve").list(store.SessionQuery{}))

		found := map[string]int{}
		for _, s := range e.listing(store.SessionQuery{Page: store.Page{Limit: 2}}, nil) {
			if s.Partition.Namespace == e.p.Namespace { // the storage may hold others
				found[s.Partition.ID+"/"+s.ID]++
			}
		}
		require.Equal(e, map[string]int{"ann/s": 1, "bob/s": 1, "bob/t": 1}, found)
	}},
	{"a session that changes while it is listed is listed exactly once", func(e *env) {
		want := e.began(50)
		for _, pending := range []bool{true, false} {
			got := e.listing(store.SessionQuery{Partition: &e.p, Pending: pending, Page: store.Page{Limit: 7}}, func(page int) {
				e.clock.pass(time.Millisecond)
				for i := page % 3; i < len(want); i += 3 { // some of them were listed already
					e.append(want[i], message(fmt.Sprint(pending, page), "more"))
				}
				e.append(fmt.Sprint("new", pending, page), message("m1", "x"))
			})
			require.ElementsMatch(e, want, slices.DeleteFunc(names(got), func(id string) bool { return id[0] == 'n' }))
		}
	}},
	{"sessions that are deleted while they are listed are left out", func(e *env) {
		want := e.began(30)
		got := e.listing(store.SessionQuery{Partition: &e.p, Page: store.Page{Limit: 7}}, func(page int) {
			if page == 0 {
				for _, id := range want[10:20] {
					e.deleteSession(id)
				}
				e.append(want[10], message("m1", "another session of that name"))
			}
		})
		left := slices.DeleteFunc(names(got), func(id string) bool { return id == want[10] })
		require.Equal(e, append(slices.Clone(want[:10]), want[20:]...), left)
	}},
}

// blobPage reads one page of blobs.
func (e *env) blobPage(session, prefix string, page store.Page) *store.BlobPage {
	e.Helper()
	out := must(e.ListBlobs(e.ctx, e.p, session, prefix, page))(e)
	require.LessOrEqual(e, len(out.Blobs), page.Size())
	return out
}

func (e *env) blobs(session, prefix string, limit int, between func(page int)) []store.BlobInfo {
	e.Helper()
	return pages(e, store.Page{Limit: limit}, between, func(at store.Page) ([]store.BlobInfo, string) {
		page := e.blobPage(session, prefix, at)
		return page.Blobs, page.Next
	})
}

// blobNames returns the names of a session's blobs, read in pages of limit.
func (e *env) blobNames(session, prefix string, limit int) []string {
	e.Helper()
	return namesOf(e.blobs(session, prefix, limit, nil))
}

// putBlobs stores n blobs and returns their names in order.
func (e *env) putBlobs(session, prefix string, n int) []string {
	e.Helper()
	var out []string
	for i := range n {
		name := fmt.Sprintf("%s%03d", prefix, i)
		e.putBlob(session, name, []byte(name))
		out = append(out, name)
	}
	return out
}

// hostileBlobs are legal as names of blobs, though not as names of sessions.
var hostileBlobs = append([]string{"\x00", "a\x00", "a\x00b", "*", "a*", "a[b]", " ", "\n", "\x7f", "\U0010ffff",
	strings.Repeat("x", store.MaxID), "ß", "Z", "z"}, hostile...)

var blobBehaviours = []behaviour{
	{"a blob comes back as it was put", func(e *env) {
		for name, data := range map[string][]byte{
			"empty": {}, "text": []byte("x"), "bytes": {0, 0xff, 0, '\'', '"'}, "large": bytes.Repeat([]byte("0123456789abcdef"), 1<<16),
		} {
			e.noBlob("s", name)
			e.putBlob("s", name, data)
			got := e.blob("s", name)
			require.NotNil(e, got, name)
			require.True(e, bytes.Equal(data, got), name)
		}
	}},
	{"names come in the order of their bytes, and a prefix is a text, not a pattern", func(e *env) {
		for _, name := range hostileBlobs {
			e.putBlob("s", name, []byte(name))
		}
		for _, name := range hostileBlobs {
			require.Equal(e, name, string(e.blob("s", name)))
		}
		sorted := slices.Sorted(slices.Values(hostileBlobs))
		for _, prefix := range append([]string{"", "a", "{", "[", "e", "b", "xx", `\`, "é", "\U0010ffff\U0010ffff"}, hostileBlobs...) {
			want := slices.DeleteFunc(slices.Clone(sorted), func(name string) bool { return !strings.HasPrefix(name, prefix) })
			for _, limit := range []int{2, 0} {
				require.Equal(e, append([]string{}, want...), e.blobNames("s", prefix, limit), "%q, pages of %d", prefix, limit)
			}
		}
	}},
	{"blobs that stay are listed once while others come and go", func(e *env) {
		stay := e.putBlobs("s", "a/1", 30)
		go1 := e.putBlobs("s", "a/0", 30)
		go2 := e.putBlobs("s", "a/2", 30)
		got := namesOf(e.blobs("s", "a/", 7, func(page int) {
			e.putBlob("s", go1[page%30], nil)
			e.putBlob("s", go2[29-page%30], nil)
			e.putBlob("s", fmt.Sprintf("a/0x%03d", page), []byte("before the listing's place"))
			e.putBlob("s", fmt.Sprintf("a/3x%03d", page%3), []byte("after it"))
			e.putBlob("s", stay[page%30], []byte("written again"))
		}))
		require.True(e, slices.IsSorted(got))
		require.Equal(e, slices.Compact(slices.Clone(got)), got, "none comes twice")
		require.Equal(e, stay, slices.DeleteFunc(slices.Clone(got), func(name string) bool { return !strings.HasPrefix(name, "a/1") }))
		require.NotContains(e, got, go2[29], "it was removed before its page")
		require.Contains(e, got, "a/3x000", "it came before its page")
	}},
	{"blobs are listed in their session and partition alone, and so are their sessions", func(e *env) {
		sessions := append([]string{""}, hostile...)
		users := []*env{e, e.user("?"), e.user("[a]"), e.user("ann:s")}
		for _, in := range users {
			for i, session := range sessions {
				in.putBlob(session, in.p.ID+"|"+session, make([]byte, i))
			}
		}
		e.putBlob("removed", "b", []byte("x"))
		e.putBlob("removed", "b", nil)
		for _, in := range users {
			for i, session := range sessions {
				want := []store.BlobInfo{{Name: in.p.ID + "|" + session, Size: int64(i)}}
				require.Equal(e, want, in.blobs(session, "", 0, nil), "%q of %v", session, in.p)
			}
			for _, limit := range []int{1, 7, 0} {
				require.Equal(e, slices.Sorted(slices.Values(sessions)), in.blobSessions(limit))
			}
		}
		e.user("?").drop()
		require.Empty(e, e.user("?").blobNames("a", "", 0))
		require.Empty(e, e.user("?").blobSessions(0))
		require.Len(e, e.user("[a]").blobNames("a", "", 0), 1)
	}},
}
