// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/einomem/einomem/examples/internal/trial"
)

func TestPeers(t *testing.T) {
	m := &measurement{sizes: [][2]int{{60, 1}, {20, 5}}, clients: []int{1, 4}, dim: 96, queries: 20, writes: 40}
	var out bytes.Buffer
	if err := m.print(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, p := range peers {
		if n := strings.Count(out.String(), "| "+p.name+" |"); n != 2+2 {
			t.Errorf("%d rows of %s, not two of searches and two of writes", n, p.name)
		}
		row, err := p.search(t.Context(), trial.NewCorpus(300, 20, 96), 1, 300)
		if err != nil {
			t.Fatal(err)
		}
		if row.Warm.P50 <= 0 || row.Warm.P50 > row.Warm.P99 {
			t.Errorf("%s: %+v", p.name, row.Warm)
		}
		if row.Recall10 != nil && *row.Recall10 != 1 {
			t.Errorf("%s compares all vectors and finds %v of the nearest", p.name, *row.Recall10)
		}
	}
}
