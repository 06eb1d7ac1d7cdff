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
	m := &trial.Comparison{Sizes: [][2]int{{60, 1}, {20, 5}}, Clients: []int{1, 4}, Dim: 96, Queries: 20, Writes: 40}
	var out bytes.Buffer
	if err := m.Print(t.Context(), &out, peers); err != nil {
		t.Fatal(err)
	}
	for _, p := range peers {
		if n := strings.Count(out.String(), "| "+p.Name+" |"); n != 2+2 {
			t.Errorf("%d rows of %s, not two of searches and two of writes", n, p.Name)
		}
	}
	if !strings.Contains(out.String(), "| 1.000 |") {
		t.Errorf("all vectors are compared, but not all of the nearest are found:\n%s", out.String())
	}
}
