// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Quantiles sum durations up, in milliseconds.
type Quantiles struct{ P50, P95, P99 float64 }

// QuantilesOf sums durations up. It sorts them in place.
func QuantilesOf(times []time.Duration) Quantiles {
	if len(times) == 0 {
		return Quantiles{}
	}
	slices.Sort(times)
	at := func(q float64) float64 {
		return float64(times[int(q*float64(len(times)-1))].Nanoseconds()) / 1e6
	}
	return Quantiles{P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}

// Machine describes the machine of a benchmark.
func Machine() string {
	return fmt.Sprintf("%s, %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// Head prints the head of a table in Markdown. Rows follow.
func Head(out io.Writer, columns ...string) {
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

// Row prints a row of a table in Markdown, as soon as its figures are known.
func Row(out io.Writer, cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(out, "| %v ", c)
	}
	fmt.Fprintln(out, "|")
}
