// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
)

// many applies batches of size records each, more than a page of changes has, and
// returns how many.
func (e *env) many() (batches, size int) {
	e.Helper()
	batches, size = 45, 70
	for i := range batches {
		b := batch()
		for j := range size {
			b.Mutations = append(b.Mutations, put(fmt.Sprintf("%d-%d", i, j), fmt.Sprint(i)))
		}
		e.applyBatch(b)
	}
	return batches, size
}

var changesBehaviours = []behaviour{
	{"a page never splits a batch", func(e *env) {
		batches, size := e.many()
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
	}},
	{"pages read while the partition changes end with what there is", func(e *env) {
		batches, size := e.many()
		x := e.index()
		for i, more := 0, true; more; i++ {
			more = x.page().More
			if i < 10 {
				e.apply(put(fmt.Sprintf("%d-0", i), "late"), store.Delete(fmt.Sprintf("%d-1", i)), store.Delete(fmt.Sprintf("%d-1", batches-1-i)))
				more = true
			}
		}
		require.Equal(e, e.index().follow().sorted(), x.sorted())
		require.Len(e, x.records, batches*size-20)
	}},
	{"removals are paged", func(e *env) {
		batches, size := e.many()
		x := e.index().follow()
		for i := range batches {
			b := batch()
			for j := range size - 1 {
				b.Mutations = append(b.Mutations, store.Delete(fmt.Sprintf("%d-%d", i, j)))
			}
			e.applyBatch(b)
		}
		require.Len(e, x.follow().records, batches)
		require.Equal(e, int64(2*batches), x.version)
	}},
	{"a dropped partition resets its readers", func(e *env) {
		e.apply(put("a", "1"))
		e.apply(put("b", "1"))
		x, y := e.index().follow(), e.index().follow()
		e.drop()
		require.Empty(e, x.follow().records)
		require.Equal(e, 1, x.resets)

		e.apply(put("c", "new"))
		e.apply(put("d", "new")) // as many versions as before the drop
		for _, reader := range []*index{x, y, y} {
			require.Equal(e, []string{"c", "d"}, ids(reader.follow().sorted()))
		}
		require.Equal(e, 1, y.resets, "once")
		require.Empty(e, y.page().Records)
	}},
	{"a partition dropped while it is read resets the reader", func(e *env) {
		e.many()
		x := e.index()
		x.page()
		e.drop()
		e.apply(put("new", "n"))
		require.Equal(e, []string{"new"}, ids(x.follow().sorted()))
		require.Equal(e, 1, x.resets)
	}},
}
