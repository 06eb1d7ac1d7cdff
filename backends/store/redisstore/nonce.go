// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

// newNonce returns a random number of 64 bits as 11 characters. It tells two
// commits, or two lives of a partition, apart; it is no secret.
func newNonce() string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
}

// isNonce reports whether text has the form of a nonce.
func isNonce(text string) bool {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(b) == 8
}
