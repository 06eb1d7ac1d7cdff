// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Tokens compares compaction.Estimate with what vocabularies of OpenAI count, over the
// texts of the test of the calibration, and the conversations of LoCoMo when
// EINOMEM_LOCOMO names its file:
//
//	cd examples/bench/peers
//	go run ./tokens
//
// The vocabularies come with a module; nothing is fetched.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
)

const texts = "../../../internal/text/testdata/*.txt"

func main() {
	if err := run(os.Stdout, texts, os.Getenv("EINOMEM_LOCOMO")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, pattern, locomo string) error {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	var counters []*tiktoken.Tiktoken
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		c, err := tiktoken.GetEncoding(name)
		if err != nil {
			return fmt.Errorf("vocabulary %s: %w", name, err)
		}
		counters = append(counters, c)
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no texts at %s: run this in examples/bench/peers", pattern)
	}
	trial.Head(out, "text", "bytes", "estimate", "o200k_base", "cl100k_base")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		compare(out, strings.TrimSuffix(filepath.Base(f), ".txt"), string(text), counters)
	}
	if locomo == "" {
		return nil
	}
	conversations, err := trial.Conversations(locomo)
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, c := range conversations {
		for _, t := range c.Turns {
			fmt.Fprintf(&all, "%s: %s\n", t.Speaker, t.Text)
		}
	}
	compare(out, "LoCoMo", all.String(), counters)
	return nil
}

// compare prints a row: how many tokens each counts, and by how many percent the estimate
// is off.
func compare(out io.Writer, name, text string, counters []*tiktoken.Tiktoken) {
	estimate := compaction.Estimate(text)
	row := []any{name, len(text), estimate}
	for _, c := range counters {
		n := len(c.EncodeOrdinary(text))
		row = append(row, fmt.Sprintf("%d, %+.1f %%", n, 100*(float64(estimate)/float64(n)-1)))
	}
	trial.Row(out, row...)
}
