// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

// Eight bytes are classified at once: they are the lanes of a word of 64 bits, and
// a class is the highest bit of the lanes that are in it.
const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// from returns the lanes whose value is c or more, of lanes of 7 bits.
func from(low, c uint64) uint64 { return low + (0x80-c)*ones }

// zero returns the lanes that are 0.
func zero(x uint64) uint64 { return ^((x&^tops + ^uint64(tops)) | x) & tops }

// gather returns the class as eight bits, the first lane's lowest.
func gather(class uint64) uint64 { return class * 0x0002040810204081 >> 56 }

// load returns the first eight bytes of s, the first lowest.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// loadTail returns the bytes of s, of which there are fewer than eight.
func loadTail(s string) uint64 {
	x := uint64(0)
	for i := len(s) - 1; i >= 0; i-- {
		x = x<<8 | uint64(s[i])
	}
	return x
}
