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

// NeedRedis returns a Redis (not Valkey) of at least that major version, as for
// vector sets, which came with Redis 8, and skips the test when there is none.
func NeedRedis(t testing.TB, major int) Flavour {
	t.Helper()
	for _, f := range Flavours() {
		if r := f.Release(t); r.Product == Redis && r.Major >= major {
			return f
		}
	}
	t.Skip(howToGet(fmt.Sprintf("Redis %d or later", major)))
	return Flavour{}
}
