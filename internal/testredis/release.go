// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"fmt"
	"os/exec"
	"testing"
)

// The products that [Release] distinguishes.
const (
	Redis  = "Redis"
	Valkey = "Valkey"
)

// Release is what a server program reports that it is.
type Release struct {
	Product      string // Redis or Valkey
	Major, Minor int
}

// String returns such as "Redis 7.0".
func (r Release) String() string { return fmt.Sprintf("%s %d.%d", r.Product, r.Major, r.Minor) }

// Release asks the program for its version. A program that cannot be asked fails the test.
func (f Flavour) Release(t testing.TB) Release {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), f.Program, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s --version: %v: %s", f.Name, f.Program, err, out)
	}
	var r Release
	if _, err := fmt.Sscanf(string(out), "%s server v=%d.%d", &r.Product, &r.Major, &r.Minor); err != nil {
		t.Fatalf("%s: %s --version printed %q: %v", f.Name, f.Program, out, err)
	}
	return r
}
