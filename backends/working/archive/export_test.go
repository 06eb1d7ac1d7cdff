// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Decode is decode.
func Decode(data []byte) ([]*schema.Message, error) { return decode(data) }

// Encode is what Put writes, and its id.
func Encode(x *Archive, messages []*schema.Message) ([]byte, string, error) {
	data, err := x.encode(messages)
	return data, idOf(data), err
}

// FindAll returns where a text has a pattern, from the end of each match on.
func FindAll(ctx context.Context, req *GrepRequest, text string) ([][2]int, error) {
	find, err := compile(req)
	if err != nil {
		return nil, err
	}
	var out [][2]int
	next := find(ctx, text)
	for from := 0; from <= len(text); {
		start, end, ok := next(from)
		if !ok {
			break
		}
		out, from = append(out, [2]int{start, end}), end
	}
	return out, nil
}

// RunesRead returns how many characters a long line gives until ctx is done.
func RunesRead(ctx context.Context, s string) int {
	r := &runes{ctx: ctx, Reader: strings.NewReader(s)}
	for n := 0; ; n++ {
		if _, _, err := r.ReadRune(); err != nil {
			return n
		}
	}
}
