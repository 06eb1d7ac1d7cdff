// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// logPage is how many entries of the log are in memory at a time.
const logPage = 100

// entries goes through the entries from..upto of the session's log that say
// something. It ends where the log ends.
func (x *Archive) entries(ctx context.Context, from, upto int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for after := from - 1; after < upto; {
			end := min(upto, after+logPage)
			page, err := x.cfg.Sessions.Read(ctx, x.partition, x.session, store.Range{After: after, Upto: end, Limit: logPage})
			if err != nil {
				yield(nil, fmt.Errorf("reading messages %d to %d of %s: %w", after+1, end, x, err))
				return
			}
			for i := range page {
				if page[i].Message.Message != nil && !saysNothing(page[i].Message.Message) && !yield(&page[i], nil) {
					return
				}
			}
			if len(page) < int(end-after) { // sequence numbers have no gaps
				return
			}
			after = end
		}
	}
}

// wholeLog is the upto of all entries.
const wholeLog = math.MaxInt64 - logPage

// saysNothing reports whether m is only there to end a turn.
func saysNothing(m *schema.Message) bool {
	return m.Content == "" && m.ReasoningContent == "" && len(m.ToolCalls) == 0 && m.ToolCallID == "" && !einox.HasParts(m)
}

// messageOf returns the message of an entry with the marks that tell where it
// belongs.
func messageOf(e *store.Entry) *schema.Message {
	m := einox.MarkSeq(e.Message.Message, e.Seq)
	if e.Turn == "" {
		return m
	}
	m = einox.MarkTurn(m, e.Turn)
	if index, ok := strings.CutPrefix(e.ID, e.Turn+"-"); ok {
		if n, err := strconv.Atoi(index); err == nil && n >= 0 {
			m = einox.MarkIndex(m, n)
		}
	}
	return m
}
