// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Numbers are the entries of a listing that are still to come, by their numbers.
// As text they take some two bytes each when neighbours are near to each other,
// in whatever order.
type Numbers []int64

// String returns the numbers as text for a cursor, empty when there are none.
func (n Numbers) String() string {
	var b []byte
	last := int64(0)
	for _, x := range n {
		b = binary.AppendVarint(b, x-last)
		last = x
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseNumbers reads what String returned.
func ParseNumbers(text string) (Numbers, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var out Numbers
	for last := int64(0); len(b) > 0; {
		d, n := binary.Varint(b)
		if n <= 0 {
			return nil, errors.New("cut off")
		}
		last += d
		out, b = append(out, last), b[n:]
	}
	return out, nil
}

// MarshalText implements encoding.TextMarshaler.
func (n Numbers) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Numbers) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNumbers(string(text))
	return err
}
