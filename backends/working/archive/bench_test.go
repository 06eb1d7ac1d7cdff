// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/archive"
)

const paragraph = "The quick brown fox reads log lines, finds error 42 at 10:00, and writes \"数据库\" down.\n"

func longText(size int) string { return strings.Repeat(paragraph, size/len(paragraph)+1)[:size] }

// A tool's output of 50,000 tokens: encoded, hashed, written.
func BenchmarkPut200KB(b *testing.B) {
	w := newWorld(b)
	x := w.of(ann)
	m := []*schema.Message{schema.ToolMessage(longText(200<<10), "c")}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(200 << 10)
		for b.Loop() {
			if _, _, err := archive.Encode(x, m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sqlite in memory", func(b *testing.B) {
		b.SetBytes(200 << 10)
		for i := 0; b.Loop(); i++ {
			m[0] = schema.ToolMessage(m[0].Content, fmt.Sprint("c", i%100))
			if _, err := x.Put(b.Context(), m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A session of 1,000 messages of 1 KB and 100 blobs of 20 KB: 3 MB.
func BenchmarkGrepSession(b *testing.B) {
	w := newWorld(b)
	for range 10 {
		var turn []*schema.Message
		for range 100 {
			turn = append(turn, schema.UserMessage(longText(1000)))
		}
		w.log(ann, turn...)
	}
	for i := range 100 {
		w.put(ann, schema.ToolMessage(longText(20_000), fmt.Sprint("c", i)))
	}
	for name, req := range map[string]*archive.GrepRequest{
		"absent":        {Pattern: "nowhere to be found"},
		"absent, exact": {Pattern: "nowhere to be found", CaseSensitive: true},
		"absent, regex": {Pattern: `no\w+ to be`, Regexp: true},
		"50 matches":    {Pattern: "error 42", Context: 2},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.of(ann).Grep(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One line of 10 MB.
func BenchmarkOneLineOf10MB(b *testing.B) {
	w := newWorld(b)
	line := strings.ReplaceAll(longText(10<<20), "\n", " ")
	ref := w.put(ann, schema.ToolMessage(line, "c"))
	x := w.of(ann)
	for _, at := range []int{0, 5 << 20, 10<<20 - 5000} {
		b.Run(fmt.Sprint("page at ", at), func(b *testing.B) {
			for b.Loop() {
				p, err := x.Read(b.Context(), &archive.ReadRequest{Ref: ref, Byte: at, Bytes: 6000})
				require.NoError(b, err)
				require.NotEmpty(b, p.Text)
			}
		})
	}
	for name, req := range map[string]*archive.GrepRequest{"literal": {Pattern: "no such thing"}, "regex": {Pattern: `no such \w+`, Regexp: true}, "50 matches": {Pattern: "error"}} {
		b.Run("grep "+name, func(b *testing.B) {
			for b.Loop() {
				_, err := x.Grep(b.Context(), req)
				require.NoError(b, err)
			}
		})
	}
}
