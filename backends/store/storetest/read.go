// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
)

var readBehaviours = []behaviour{
	{"a range chooses by sequence number", readRanges},
	{"a range has a default and a largest size", readSizes},
}

func readRanges(e *env) {
	require.Empty(e, e.read("nobody", store.Range{}))
	for i := range 10 {
		e.append("s", message(fmt.Sprint(i+1), "x"))
	}
	for _, c := range []struct {
		r    store.Range
		want []int64
	}{
		{store.Range{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{store.Range{After: 7}, []int64{8, 9, 10}},
		{store.Range{After: 10}, []int64{}},
		{store.Range{After: 99}, []int64{}},
		{store.Range{Upto: 3}, []int64{1, 2, 3}},
		{store.Range{Upto: 99}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{store.Range{After: 3, Upto: 5}, []int64{4, 5}},
		{store.Range{After: 5, Upto: 5}, []int64{}},
		{store.Range{After: 6, Upto: 2}, []int64{}},
		{store.Range{Limit: 2}, []int64{1, 2}},
		{store.Range{After: 4, Limit: 3}, []int64{5, 6, 7}},
		{store.Range{Limit: 3, Last: true}, []int64{8, 9, 10}},
		{store.Range{Upto: 6, Limit: 2, Last: true}, []int64{5, 6}},
		{store.Range{After: 5, Upto: 6, Limit: 4, Last: true}, []int64{6}},
		{store.Range{After: 2, Limit: 100, Last: true}, []int64{3, 4, 5, 6, 7, 8, 9, 10}},
		{store.Range{Limit: 1, Last: true}, []int64{10}},
		{store.Range{Last: true}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{store.Range{After: 10, Limit: 2, Last: true}, []int64{}},
	} {
		require.Equal(e, c.want, seqs(e.read("s", c.r)), "%+v", c.r)
	}
}

func readSizes(e *env) {
	const n = 10_050
	a := &store.Append{}
	for i := range n {
		a.Entries = append(a.Entries, message(fmt.Sprint(i), "x"))
	}
	e.appendAll("s", a)
	got := e.read("s", store.Range{})
	require.Len(e, got, 1000)
	require.Equal(e, int64(1), got[0].Seq)
	got = e.read("s", store.Range{Last: true})
	require.Len(e, got, 1000)
	require.Equal(e, int64(n), got[999].Seq)
	require.Equal(e, int64(n-999), got[0].Seq)
	require.Len(e, e.read("s", store.Range{Limit: n}), 10_000)
}
