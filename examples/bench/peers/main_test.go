// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/einomem/einomem/examples/internal/trial"
)

func TestPeers(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-json", "-sizes", "60,300", "-users", "5", "-each", "20", "-dim", "96", "-queries", "20", "-clients", "1,4", "-writes", "40"}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Tables []struct{ Rows json.RawMessage }
	}
	var searches []trial.Search
	var writes []trial.Write
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Tables[0].Rows, &searches); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Tables[1].Rows, &writes); err != nil {
		t.Fatal(err)
	}
	if len(searches) != 3*len(peers) || len(writes) != 2*len(peers) {
		t.Fatalf("%d searches, %d writes", len(searches), len(writes))
	}
	for _, s := range searches {
		if s.Warm.P50 <= 0 || s.Warm.P50 > s.Warm.P99 {
			t.Errorf("%s: %+v", s.Where, s.Warm)
		}
		if s.Recall10 != nil && *s.Recall10 != 1 {
			t.Errorf("%s compares all vectors and finds %v of the nearest", s.Where, *s.Recall10)
		}
	}
	if err := run(t.Context(), []string{"-sizes", "0"}, io.Discard, io.Discard); err == nil {
		t.Fatal("no error for a size of 0")
	}
}
