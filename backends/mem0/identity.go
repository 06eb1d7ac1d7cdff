// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/einomem/einomem/backends"
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
	return hashID(p.String(), string(k.kind), k.role, k.text, strconv.Itoa(n))
}

// messageID returns the id of a message that came without one: a fact and the
// turn that taught it find each other by it.
func messageID(u *utterance) string { return hashID("message", u.role, u.text) }

// hash returns 16 bytes that follow from the parts.
func hash(parts ...string) (sum [16]byte) {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	copy(sum[:], h.Sum(nil))
	return sum
}

// hashID returns a UUID of version 8 (RFC 9562) that follows from the parts.
func hashID(parts ...string) string {
	id := uuid.UUID(hash(parts...))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
