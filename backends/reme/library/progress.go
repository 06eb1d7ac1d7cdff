// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Bar returns a Progress that draws a bar on a terminal, such as os.Stderr. On
// anything else it draws nothing.
func Bar(w io.Writer) Progress {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return bar(w)
	}
	return func(int, int, string) {}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// barWidth is how many signs a full bar has.
const barWidth = 30

// bar draws each state over the one before, and none twice. A stage that is done
// ends its line.
func bar(w io.Writer) Progress {
	var mu sync.Mutex
	last := ""
	return func(done, total int, stage string) {
		mu.Lock()
		defer mu.Unlock()
		text := barText(done, total, stage)
		if text == last {
			return
		}
		last = text
		end := ""
		if total > 0 && done >= total {
			end = "\n"
		}
		_, _ = fmt.Fprintf(w, "\r%s\x1b[K%s", text, end)
	}
}

func barText(done, total int, stage string) string {
	if total <= 0 {
		return fmt.Sprintf("%-9s %d", stage, done)
	}
	done = min(max(done, 0), total)
	full := done * barWidth / total
	return fmt.Sprintf("%-9s [%s%s] %3d%% of %d", stage, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), done*100/total, total)
}
