// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// Keys returns the keys by which [Keeper.Lookup] finds a memory: those of
// [ChainKeys], and [TextKey] of what it says. It is made for the Keys of a
// recall.Config.
func Keys(m *backends.Memory) []string {
	return append(ChainKeys(m), TextKey(m.Kind, m.WhenToUse, m.Text))
}

// ChainKeys returns the keys by which [Keeper.History] finds the links of a chain:
// the ids of a link itself and of those beside it. A memory that is no link has none.
func ChainKeys(m *backends.Memory) []string {
	var keys []string
	for _, id := range []string{m.Supersedes, m.SupersededBy} {
		if id != "" {
			keys = append(keys, chainKey(id), chainKey(m.ID))
		}
	}
	return keys
}

// TextKey returns the key of the same words: memories of one kind whose WhenToUse
// and Text differ in nothing but width, case, spaces between words and the sentence's
// final mark have the same. Numbers always count, and so does a question mark. The
// keywords by which a personal memory is found do not.
func TextKey(kind backends.Kind, whenToUse, content string) string {
	if kind == backends.KindPersonal {
		whenToUse = ""
	}
	return Key("text", string(kind), text.Fold(whenToUse), text.Fold(content))
}

// Key returns a short key that follows from the parts, the first of which says what
// they are. It is for keys of a backend's own beside those of [Keys].
func Key(what string, parts ...string) string {
	sum := hash(append([]string{what}, parts...)...)
	return string(sum[:])
}

func chainKey(id string) string { return Key("chain", id) }
