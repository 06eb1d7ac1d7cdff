// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
)

// progress prints how full each context is. An agent makes one call at a time.
type progress struct {
	out     io.Writer
	verbose bool
	calls   int
	largest int
}

// begin prints what the user said.
func (t *progress) begin(said string) {
	t.calls = 0
	fmt.Fprintf(t.out, "\nUser:  %s\n", said)
}

// fitted is the window's OnFit.
func (t *progress) fitted(_ context.Context, _ backends.Scope, r *compaction.Result) {
	t.calls++
	t.largest = max(t.largest, r.After.Tokens)
	var done []string
	for _, s := range r.Steps {
		if s.Replaced > 0 {
			done = append(done, fmt.Sprintf("%s %d", s.Step, s.Replaced))
		}
	}
	if len(done) == 0 && !t.verbose {
		return
	}
	fmt.Fprintf(t.out, "  call %3d: %6d tokens", t.calls, r.Before.Tokens)
	if len(done) > 0 {
		fmt.Fprintf(t.out, " → %5d", r.After.Tokens)
	}
	fmt.Fprintf(t.out, "  %5.1f %%  %s\n", r.After.Percent(), strings.Join(done, ", "))
}
