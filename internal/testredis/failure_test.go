// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/internal/testredis"
)

// failing is a test whose failure is what is tested: it keeps what is said instead.
type failing struct {
	testing.TB
	failed   bool
	said     []string
	cleanups []func()
}

func (f *failing) Helper()                   {}
func (f *failing) Failed() bool              { return f.failed }
func (f *failing) Cleanup(c func())          { f.cleanups = append(f.cleanups, c) }
func (f *failing) Logf(s string, a ...any)   { f.said = append(f.said, fmt.Sprintf(s, a...)) }
func (f *failing) Fatalf(s string, a ...any) { f.Logf(s, a...); f.failed = true; runtime.Goexit() }

// run runs body as a test of its own, and returns what it said.
func (f *failing) run(body func()) string {
	done := make(chan struct{})
	go func() { defer close(done); body() }()
	<-done
	for _, c := range f.cleanups {
		c()
	}
	return strings.Join(f.said, "\n")
}

func TestStartSaysWhyItFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		flavour testredis.Flavour
		want    []string
	}{
		{"no such program", testredis.Flavour{Name: "none", Program: "/no/such/program"}, []string{"start none", "/no/such/program"}},
		{"it ends", testredis.Flavour{Name: "broken", Program: imitate(t, "broken", "out of order")}, []string{"ended at once", "out of order"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &failing{TB: t}
			said := f.run(func() { c.flavour.Start(f) })
			assert.True(t, f.failed)
			for _, want := range c.want {
				assert.Contains(t, said, want)
			}
		})
	}
}

func TestLogIsPrintedWhenTheTestFails(t *testing.T) {
	flavour := testredis.Need(t)
	for _, fails := range []bool{false, true} {
		f := &failing{TB: t}
		said := f.run(func() {
			flavour.Start(f)
			f.failed = fails
		})
		assert.Equal(t, fails, strings.Contains(said, "Ready to accept connections"), said)
	}
}
