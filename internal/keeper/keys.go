// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"crypto/sha256"
	"strconv"

	"github.com/google/uuid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// Keys returns the key by which [Keeper.Lookup] finds a memory, the [TextKey] of what it says.
// It is made for the Keys of a recall.Config.
func Keys(m *backends.Memory) []string {
	return []string{TextKey(m.Kind, m.WhenToUse, m.Text)}
}

// TextKey returns the key of the same words: memories of one kind whose WhenToUse
// and Text differ in nothing but width, case, spaces between words and the sentence's
// final mark have the same. Numbers always count, and so does a question mark. The
// keywords by which a personal memory is found do not.
func TextKey(kind backends.Kind, whenToUse, content string) string {
	if kind.Traits().Keywords {
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

// ContentID returns the id of a memory that follows from what it is: a UUID of
// version 8 (RFC 9562) made of the partition, the kind and the parts in their order.
// Two processes that learn the same thing at the same time meet: the second Put that
// expects [store.MustNotExist] is ErrConflict, and its writer looks again.
func ContentID(p backends.Partition, kind backends.Kind, parts ...string) string {
	return HashID(append([]string{p.String(), string(kind)}, parts...)...)
}

// HashID returns a UUID of version 8 (RFC 9562) that follows from the parts.
func HashID(parts ...string) string {
	id := uuid.UUID(hash(parts...))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// hash returns 16 bytes that follow from the parts.
func hash(parts ...string) (sum [16]byte) {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	copy(sum[:], h.Sum(nil))
	return sum
}
