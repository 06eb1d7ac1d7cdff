// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

// cursor says how far a reader of a partition's changes is, and by what it knows
// that the server's past is still its own.
type cursor struct {
	inc     string // which life of the partition
	version int64  // the version up to which it has read
	seen    int64  // the partition's version when it read
	tip     string // the nonce of that version; empty for version 0
}

func (c cursor) String() string {
	if c.inc == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d.%s", c.inc, c.version, c.seen, c.tip)
}

func parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	var c cursor
	parts := strings.Split(text, ".")
	if len(parts) == 4 {
		c.inc, c.tip = parts[0], parts[3]
		var errs [2]error
		c.version, errs[0] = strconv.ParseInt(parts[1], 10, 64)
		c.seen, errs[1] = strconv.ParseInt(parts[2], 10, 64)
		if errs == [2]error{} && c.version >= 0 && c.version <= c.seen && isNonce(c.inc) && (isNonce(c.tip) || c.seen == 0 && c.tip == "") && c.String() == text {
			return c, nil
		}
	}
	return cursor{}, fmt.Errorf("redisstore: changes: cursor %q: %w: not one of this store", text, backends.ErrInvalid)
}
