// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/store"
)

// turnsOf puts the entries of each turn together, in the order of their indexes,
// without those that say nothing. The turns are in the order of their first
// entries.
func turnsOf(entries []store.Entry) [][]store.Entry {
	at := make(map[string]int)
	var turns [][]store.Entry
	for i := range entries {
		if empty(&entries[i]) {
			continue
		}
		n, ok := at[entries[i].Turn]
		if !ok {
			n = len(turns)
			at[entries[i].Turn] = n
			turns = append(turns, nil)
		}
		turns[n] = append(turns[n], entries[i])
	}
	for _, t := range turns {
		inOrder(t)
	}
	return turns
}

// inOrder sorts the entries of a turn by their index: pieces of it may have been
// appended by several processes. Where one has none they stay as the log has them.
func inOrder(turn []store.Entry) {
	for i := range turn {
		if _, ok := indexOf(&turn[i]); !ok {
			return
		}
	}
	slices.SortStableFunc(turn, func(a, b store.Entry) int {
		x, _ := indexOf(&a)
		y, _ := indexOf(&b)
		return cmp.Compare(x, y)
	})
}

// indexOf returns the place of an entry in its turn, which ends its id.
func indexOf(e *store.Entry) (int, bool) {
	text, ok := strings.CutPrefix(e.ID, e.Turn+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func isUsers(e *store.Entry) bool {
	return e.Message.Message != nil && e.Role == schema.User
}
