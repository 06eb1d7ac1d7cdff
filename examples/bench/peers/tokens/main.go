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
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/einomem/einomem/backends/working/compaction"
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
	fmt.Fprintf(out, "%-12s %8s", "text", "bytes")
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		c, err := tiktoken.GetEncoding(name)
		if err != nil {
			return fmt.Errorf("vocabulary %s: %w", name, err)
		}
		counters = append(counters, c)
		fmt.Fprintf(out, " %12s", name)
	}
	fmt.Fprintf(out, " %8s %8s %8s\n", "estimate", "o200k", "cl100k")

	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no texts at %s: run this in examples/bench/peers", pattern)
	}
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
	text, err := said(locomo)
	if err != nil {
		return err
	}
	compare(out, "LoCoMo", text, counters)
	return nil
}

// compare prints one line: how many tokens each counts, and by how many percent
// the estimate is off.
func compare(out io.Writer, name, text string, counters []*tiktoken.Tiktoken) {
	fmt.Fprintf(out, "%-12s %8d", name, len(text))
	estimate := compaction.Estimate.Text(text)
	off := ""
	for _, c := range counters {
		n := len(c.EncodeOrdinary(text))
		fmt.Fprintf(out, " %12d", n)
		off += fmt.Sprintf(" %+7.1f%%", 100*(float64(estimate)/float64(n)-1))
	}
	fmt.Fprintf(out, " %8d%s\n", estimate, off)
}

// said returns what people said in the conversations of a file of LoCoMo.
func said(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var all []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return "", fmt.Errorf("LoCoMo in %s: %w", file, err)
	}
	var b strings.Builder
	for _, c := range all {
		for i := 1; i <= len(c.Conversation); i++ {
			var turns []struct{ Speaker, Text string }
			if json.Unmarshal(c.Conversation[fmt.Sprintf("session_%d", i)], &turns) != nil {
				continue
			}
			for _, t := range turns {
				fmt.Fprintf(&b, "%s: %s\n", t.Speaker, t.Text)
			}
		}
	}
	return b.String(), nil
}
