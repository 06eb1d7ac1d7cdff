// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"crypto/sha256"
	"strconv"

	"github.com/google/uuid"
)

// HashKey returns 16 bytes that follow from the parts. The first part names the kind of the
// others.
func HashKey(parts ...string) string {
	sum := hash(parts...)
	return string(sum[:])
}

// HashID returns a UUID of version 8 (RFC 9562) that follows from the parts.
func HashID(parts ...string) string {
	id := uuid.UUID(hash(parts...))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

func hash(parts ...string) [16]byte {
	all := make([]byte, 0, 128) // enough for most
	for _, part := range parts {
		all = append(append(strconv.AppendInt(all, int64(len(part)), 10), ':'), part...)
	}
	whole := sha256.Sum256(all)
	return [16]byte(whole[:16])
}
