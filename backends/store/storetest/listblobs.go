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

var blobListBehaviours = []behaviour{
	{"a session lists its blobs by name, with their sizes", listBlobs},
	{"names come in the order of their bytes", listBlobsOrder},
	{"a prefix is a text, not a pattern", listBlobsPrefix},
	{"every blob is met exactly once in pages", listBlobPages},
	{"blobs that stay are met once while others come and go", listBlobsWhileChanging},
	{"a cursor whose blob was removed still holds", listBlobsFromRemoved},
	{"blobs are listed in their session and partition alone", listBlobsApart},
	{"blobs are listed before their session begins, and not after it ends", listBlobsLife},
	{"a prefix or a cursor that is not legal is refused", listBlobsInvalid},
}

// blobPage reads one page.
func (e *env) blobPage(session, prefix string, page store.Page) *store.BlobPage {
	e.Helper()
	out, err := e.ListBlobs(e.ctx, e.p, session, prefix, page)
	require.NoError(e, err)
	require.NotNil(e, out)
	require.LessOrEqual(e, len(out.Blobs), page.Size())
	return out
}

// listBlobs reads all pages and calls between after each but the last.
func (e *env) listBlobs(session, prefix string, limit int, between func(page int)) []store.BlobInfo {
	e.Helper()
	out, at := []store.BlobInfo{}, store.Page{Limit: limit}
	for i := 0; ; i++ {
		page := e.blobPage(session, prefix, at)
		out = append(out, page.Blobs...)
		if at.Cursor = page.Next; page.Next == "" {
			return out
		}
		require.Less(e, i, 1000, "a listing without an end")
		if between != nil {
			between(i)
		}
	}
}

func (e *env) blobNames(session, prefix string) []string {
	e.Helper()
	return namesOf(e.listBlobs(session, prefix, 0, nil))
}

func namesOf(blobs []store.BlobInfo) []string {
	out := []string{}
	for _, b := range blobs {
		out = append(out, b.Name)
	}
	return out
}

func listBlobs(e *env) {
	require.Empty(e, e.blobPage("s", "", store.Page{}).Blobs)
	e.putBlob("s", "text", []byte("four"))
	e.putBlob("s", "empty", []byte{})
	e.putBlob("s", "bytes", []byte{0, 0xff, 0})
	e.putBlob("s", "large", bytes.Repeat([]byte("0123456789abcdef"), 1<<14))
	e.putBlob("s", "wide", []byte("é🎈"))
	require.Equal(e, []store.BlobInfo{{Name: "bytes", Size: 3}, {Name: "empty"}, {Name: "large", Size: 1 << 18}, {Name: "text", Size: 4}, {Name: "wide", Size: 6}},
		e.listBlobs("s", "", 0, nil))
	e.putBlob("s", "text", []byte("now seven"[2:]))
	e.putBlob("s", "large", nil)
	require.Equal(e, []store.BlobInfo{{Name: "text", Size: 7}}, e.listBlobs("s", "t", 0, nil))
	require.Equal(e, []string{"bytes", "empty", "text", "wide"}, e.blobNames("s", ""))
}

// hostileBlobs are legal as names of blobs, though not as names of sessions.
var hostileBlobs = append([]string{"\x00", "a\x00", "a\x00b", "*", "a*", "a[b]", " ", "\n", "\x7f", "\U0010ffff", strings.Repeat("x", store.MaxID), "ß", "Z", "z"}, hostile...)

func listBlobsOrder(e *env) {
	for _, name := range hostileBlobs {
		e.putBlob("s", name, []byte(name))
	}
	want := slices.Sorted(slices.Values(hostileBlobs))
	for _, limit := range []int{1, 7, 0} {
		got := e.listBlobs("s", "", limit, nil)
		require.Equal(e, want, namesOf(got), "pages of %d", limit)
		for _, b := range got {
			require.Equal(e, int64(len(b.Name)), b.Size, "%q", b.Name)
		}
	}
}

func listBlobsPrefix(e *env) {
	for _, name := range hostileBlobs {
		e.putBlob("s", name, []byte("x"))
	}
	for _, prefix := range append([]string{"a", "{", "[", "e", "b", "xx", `\`, "é", "\U0010ffff\U0010ffff"}, hostileBlobs...) {
		want := slices.DeleteFunc(slices.Sorted(slices.Values(hostileBlobs)), func(name string) bool { return !strings.HasPrefix(name, prefix) })
		for _, limit := range []int{2, 0} {
			require.Equal(e, append([]string{}, want...), namesOf(e.listBlobs("s", prefix, limit, nil)), "%q, pages of %d", prefix, limit)
		}
	}
}

// put stores n blobs and returns their names in order.
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

func listBlobPages(e *env) {
	want := e.putBlobs("s", "archive/", 120)
	e.putBlobs("s", "archive.", 3)
	e.putBlobs("s", "archived", 3)
	for _, limit := range []int{1, 7, 40, 119, 120, 121, 5000, 0} {
		require.Equal(e, want, namesOf(e.listBlobs("s", "archive/", limit, nil)), "pages of %d", limit)
	}
	require.Len(e, e.blobPage("s", "archive/", store.Page{}).Blobs, 100, "the default")
	require.Len(e, e.blobPage("s", "archive/", store.Page{Limit: 7}).Blobs, 7)
	require.Empty(e, e.blobPage("s", "archive/", store.Page{Limit: 120}).Next, "nothing follows")
}

func listBlobsWhileChanging(e *env) {
	stay := e.putBlobs("s", "a/1", 30)
	go1 := e.putBlobs("s", "a/0", 30)
	go2 := e.putBlobs("s", "a/2", 30)
	got := namesOf(e.listBlobs("s", "a/", 7, func(page int) {
		for _, name := range []string{go1[page%30], go2[29-page%30]} {
			e.putBlob("s", name, nil)
		}
		e.putBlob("s", fmt.Sprintf("a/0x%03d", page), []byte("comes where the listing was"))
		e.putBlob("s", fmt.Sprintf("a/3x%03d", page%3), []byte("comes where it will be"))
		e.putBlob("s", stay[page%30], []byte("is written anew"))
	}))
	require.True(e, slices.IsSorted(got))
	require.Equal(e, slices.Compact(slices.Clone(got)), got, "none is met twice")
	require.Equal(e, stay, slices.DeleteFunc(slices.Clone(got), func(name string) bool { return !strings.HasPrefix(name, "a/1") }))
	require.NotContains(e, got, go2[29], "it was removed before its page")
	require.Contains(e, got, "a/3x000", "it came before its page")
}

func listBlobsFromRemoved(e *env) {
	names := e.putBlobs("s", "", 10)
	page := e.blobPage("s", "", store.Page{Limit: 4})
	for _, name := range names[:6] {
		e.putBlob("s", name, nil)
	}
	require.Equal(e, names[6:], namesOf(e.blobPage("s", "", store.Page{Cursor: page.Next}).Blobs))
	for _, name := range names[6:] {
		e.putBlob("s", name, nil)
	}
	last := e.blobPage("s", "", store.Page{Cursor: page.Next})
	require.Empty(e, last.Blobs)
	require.Empty(e, last.Next)
}

func listBlobsApart(e *env) {
	sessions := append([]string{""}, hostile...)
	for _, in := range []*env{e, e.user("?"), e.user("[a]"), e.user("ann:s")} {
		for i, session := range sessions {
			in.putBlob(session, in.p.ID+"|"+session, make([]byte, i))
		}
	}
	for _, in := range []*env{e, e.user("?"), e.user("[a]"), e.user("ann:s")} {
		for i, session := range sessions {
			require.Equal(e, []store.BlobInfo{{Name: in.p.ID + "|" + session, Size: int64(i)}}, in.listBlobs(session, "", 0, nil), "%q of %v", session, in.p)
		}
	}
	require.Empty(e, e.blobNames("another", ""))
	require.Empty(e, e.user("bob").blobNames("a", ""))
	e.user("?").drop()
	require.Empty(e, e.user("?").blobNames("a", ""))
	require.Len(e, e.user("[a]").blobNames("a", ""), 1)
}

func listBlobsLife(e *env) {
	e.putBlob("s", "before", []byte("x"))
	require.Equal(e, []string{"before"}, e.blobNames("s", ""))
	e.clock.pass(1000 * time.Hour)
	require.Equal(e, []string{"before"}, e.blobNames("s", ""), "what is of no session yet has no end")
	e.appendFor(time.Hour, "m1")
	e.putBlob("s", "within", []byte("x"))
	e.clock.pass(time.Hour - time.Microsecond)
	require.Equal(e, []string{"before", "within"}, e.blobNames("s", ""))
	e.clock.pass(time.Microsecond)
	require.Empty(e, e.blobNames("s", ""), "they end with the session")
	e.noBlob("s", "before")
	e.append("s", message("m1", "again"))
	require.Empty(e, e.blobNames("s", ""))
	e.putBlob("s", "anew", []byte("x"))
	e.append("t", message("m1", "another"))
	e.putBlob("t", "b", []byte("x"))
	require.NoError(e, e.Delete(e.ctx, e.p, "s"))
	require.Empty(e, e.blobNames("s", ""))
	require.Equal(e, []string{"b"}, e.blobNames("t", ""))
}

func listBlobsInvalid(e *env) {
	e.putBlobs("s", "a", 3)
	e.putBlobs("s", "b", 3)
	ofA := e.blobPage("s", "a", store.Page{Limit: 1}).Next
	require.NotEmpty(e, ofA)
	for _, bad := range []struct{ prefix, cursor string }{
		{"\xff", ""}, {strings.Repeat("x", store.MaxID+1), ""},
		{"", "?"}, {"", "not a cursor"}, {"", "\x00"}, {"", "🎈"}, {"", "_w"}, {"b", ofA},
	} {
		_, err := e.ListBlobs(e.ctx, e.p, "s", bad.prefix, store.Page{Cursor: bad.cursor})
		require.ErrorIs(e, err, backends.ErrInvalid, "%+q", bad)
	}
	require.Len(e, e.blobPage("s", "", store.Page{Cursor: ofA}).Blobs, 5, "a wider prefix holds the name that it ends with")
}
