// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"crypto/sha256"
	"strconv"

	"github.com/google/uuid"

	"github.com/einomem/einomem/backends"
)

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
