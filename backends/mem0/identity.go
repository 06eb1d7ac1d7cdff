// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// identity is what makes two memories of a partition the same: kind, normalised
// text and, where words are kept as they were said, who said them.
type identity struct {
	kind backends.Kind
	role string // empty but for episodes: a fact is one fact, whoever states it
	text string
}

func identityOf(m *backends.Memory) identity {
	k := identity{kind: m.Kind, text: normalize(m.Text)}
	if m.Kind == backends.KindEpisode {
		k.role = m.Origin.Role
	}
	return k
}

// normalize brings texts that say the same letter by letter to one form:
// composed characters, single spaces, no full stop at the end. Case stays: "US"
// is not "us".
func normalize(s string) string {
	if !isPlain(s) {
		s = strings.Join(strings.Fields(norm.NFC.String(s)), " ")
	}
	if t := strings.TrimRight(s, ".。"); t != "" {
		return strings.TrimRight(t, " ")
	}
	return s
}

// isPlain reports whether s is ASCII with single spaces inside: most texts are,
// and need no rewriting.
func isPlain(s string) bool {
	space := true
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 || c < ' ' || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space || s == ""
}

// id returns the id of the nth memory of a partition with this identity: n
// counts those before it that hold no more. It is a UUID of version 8 (RFC
// 9562), so that two writers that store the same thing at the same time meet.
func (k identity) id(p backends.Partition, n int) string {
	return keeper.ContentID(p, k.kind, k.role, k.text, strconv.Itoa(n))
}

// messageID returns the id of a message that came without one: a fact and the
// turn that taught it find each other by it.
func messageID(u *utterance) string { return keeper.HashID("message", u.role, u.text) }
