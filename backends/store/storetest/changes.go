// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var changesBehaviours = []behaviour{
	{"an unknown partition is empty", changesOfNothing},
	{"only what changed since the cursor is told, oldest change first", changesAreIncremental},
	{"what is superseded or retracted is told, what is deleted is removed", changesTellAll},
	{"a record that changed often is told once, as it is", changesAreMerged},
	{"a record that came back is not removed", changesOfReturned},
	{"a page never splits a batch", pagesKeepBatches},
	{"pages read while the partition changes end with what there is", pagesWhileChanging},
	{"removals are paged", removalsArePaged},
	{"a dropped partition resets its readers", dropResets},
	{"a partition dropped while it is read resets the reader", dropBetweenPages},
	{"a session's turns are no change", sessionsAreNoChange},
}

func changesOfNothing(e *env) {
	x := e.index().follow()
	require.Empty(e, x.records)
	require.Zero(e, x.version)
	require.Zero(e, x.resets)
	require.Nil(e, x.space)
	e.apply(store.Put(record("a", "1")))
	require.Len(e, x.follow().records, 1)
	require.Equal(e, int64(1), x.version)
}

func changesAreIncremental(e *env) {
	for _, id := range []string{"z", "m", "a"} {
		e.apply(store.Put(record(id, "1")))
	}
	x := e.index()
	require.Equal(e, []string{"z", "m", "a"}, ids(x.page().Records))
	for range 3 {
		set := x.page()
		require.Empty(e, set.Records)
		require.Empty(e, set.Removed)
		require.False(e, set.More)
		require.False(e, set.Reset)
		require.Equal(e, int64(3), set.Version)
	}
	e.apply(store.Put(record("m", "2")))
	e.apply(store.Put(record("b", "1")), store.Increment("z", "n", 1))
	set := x.page()
	require.ElementsMatch(e, []string{"m", "b", "z"}, ids(set.Records))
	require.Equal(e, "m", set.Records[0].ID, "oldest change first")
	require.Equal(e, int64(5), set.Version)
	require.Equal(e, e.index().follow().sorted(), x.sorted())
}

func changesTellAll(e *env) {
	e.apply(store.Put(record("a", "1")), store.Put(record("b", "2")), store.Put(record("c", "3")), store.Put(record("d", "4")))
	x := e.index().follow()
	e.apply(store.Supersede("a", record("a2", "1b")), store.Retract("b", time.Time{}), store.Delete("c"))
	set := x.page()
	require.ElementsMatch(e, []string{"a", "a2", "b"}, ids(set.Records))
	require.Equal(e, []string{"c"}, set.Removed)
	require.Equal(e, "a2", x.records["a"].SupersededBy)
	require.Equal(e, []string{"a", "a2", "b", "d"}, ids(x.sorted()))
	require.Equal(e, e.get("a", "a2", "b", "d"), x.sorted())
}

func changesAreMerged(e *env) {
	x := e.index().follow()
	for i := range 10 {
		e.apply(store.Put(record("a", fmt.Sprint(i))))
	}
	set := x.page()
	require.Len(e, set.Records, 1)
	require.Equal(e, "9", set.Records[0].Text)
}

func changesOfReturned(e *env) {
	e.apply(store.Put(record("a", "1")), store.Put(record("b", "1")))
	x := e.index().follow()
	e.apply(store.Delete("a"), store.Delete("b"))
	e.apply(store.Put(record("a", "2")))
	set := x.page()
	require.Equal(e, []string{"a"}, ids(set.Records))
	require.Equal(e, []string{"b"}, set.Removed)
	require.Equal(e, []string{"a"}, ids(x.sorted()))
}

// many applies batches of size records each, whose texts are the batch's number.
func (e *env) many(batches, size int) {
	e.Helper()
	for i := range batches {
		var b store.Batch
		for j := range size {
			b.Mutations = append(b.Mutations, store.Put(record(fmt.Sprintf("%d-%d", i, j), fmt.Sprint(i))))
		}
		e.applyBatch(&b)
	}
}

func pagesKeepBatches(e *env) {
	const batches, size = 45, 70
	e.many(batches, size)
	x := e.index()
	for more := true; more; {
		set := x.page()
		more = set.More
		require.NotEmpty(e, set.Records)
		require.Len(e, x.records, int(x.version)*size, "the page reaches version %d", x.version)
		for _, r := range set.Records {
			require.LessOrEqual(e, r.Version, set.Version)
		}
	}
	require.Len(e, x.records, batches*size)
	require.Zero(e, x.resets)
}

func pagesWhileChanging(e *env) {
	const batches, size = 45, 70
	e.many(batches, size)
	x := e.index()
	for i, more := 0, true; more; i++ {
		more = x.page().More
		if i < 10 {
			e.apply(store.Put(record(fmt.Sprintf("%d-0", i), "late")), store.Delete(fmt.Sprintf("%d-1", i)), store.Delete(fmt.Sprintf("%d-1", batches-1-i)))
			more = true
		}
	}
	require.Equal(e, e.index().follow().sorted(), x.sorted())
	require.Len(e, x.records, batches*size-20)
}

func removalsArePaged(e *env) {
	const batches, size = 45, 70
	e.many(batches, size)
	x := e.index().follow()
	for i := range batches {
		var b store.Batch
		for j := range size - 1 {
			b.Mutations = append(b.Mutations, store.Delete(fmt.Sprintf("%d-%d", i, j)))
		}
		e.applyBatch(&b)
	}
	require.Len(e, x.follow().records, batches)
	require.Equal(e, int64(2*batches), x.version)
}

func dropResets(e *env) {
	e.apply(store.Put(record("a", "1")))
	e.apply(store.Put(record("b", "1")))
	x, y := e.index().follow(), e.index().follow()
	e.drop()
	require.Empty(e, x.follow().records)
	require.Equal(e, 1, x.resets)

	e.apply(store.Put(record("c", "new")))
	e.apply(store.Put(record("d", "new"))) // as many versions as before the drop
	require.Equal(e, []string{"c", "d"}, ids(x.follow().sorted()))
	require.Equal(e, []string{"c", "d"}, ids(y.follow().sorted()))
	require.Equal(e, 1, y.resets)
	pages := y.pages
	require.Empty(e, y.page().Records)
	require.Equal(e, pages+1, y.pages)
	require.Equal(e, 1, y.resets, "it is told once")
}

func dropBetweenPages(e *env) {
	e.many(45, 70)
	x := e.index()
	x.page()
	e.drop()
	e.apply(store.Put(record("new", "n")))
	require.Equal(e, []string{"new"}, ids(x.follow().sorted()))
	require.Equal(e, 1, x.resets)
}

func sessionsAreNoChange(e *env) {
	e.append("s", message("m1", "hi"))
	e.apply(store.Put(record("a", "1")))
	x := e.index().follow()
	e.append("s", message("m2", "ho"))
	e.update(&store.SessionUpdate{Session: "s", Watermark: ptr(int64(2))})
	require.NoError(e, e.PutBlob(e.ctx, e.p, "s", "b", []byte("x")))
	set := x.page()
	require.Empty(e, set.Records)
	require.Equal(e, int64(1), set.Version)
	require.Equal(e, backends.KindFact, x.records["a"].Kind)
}
