// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

const (
	logPrefix  = "log-"
	blobPrefix = "a-"
	itemSign   = "#"

	blobFolder = "archive/" // what the names of our blobs begin with
	idLength   = 20         // of 5 bits each

	maxSeq  = 1 << 53 // more than any log has, and exact in every store
	maxItem = 1 << 30
)

// ref names an archive: a stretch of the log, or a blob; or one message of it.
type ref struct {
	from, upto int64  // of the log, inclusive; 0 for a blob
	blob       string // the blob's id, without its prefix
	item       int    // a message of it, from 0 on; -1: all
}

func logRef(from, upto int64) ref { return ref{from: from, upto: upto, item: -1} }

func (r ref) isLog() bool { return r.blob == "" }

// String returns what [parseRef] reads.
func (r ref) String() string {
	var s string
	switch {
	case !r.isLog():
		s = blobPrefix + r.blob
	case r.from == r.upto:
		s = logPrefix + strconv.FormatInt(r.from, 10)
	default:
		s = logPrefix + strconv.FormatInt(r.from, 10) + "-" + strconv.FormatInt(r.upto, 10)
	}
	if r.item >= 0 {
		s += itemSign + strconv.Itoa(r.item)
	}
	return s
}

// parseRef reads a reference as models copy it. There is nothing else it may
// name: no path, no session, no user.
func parseRef(s string) (ref, error) {
	r, ok := readRef(s)
	if !ok {
		return r, fmt.Errorf("archive %s: %w: an id is like log-12, log-12-40 or a-%s, with or without %s0 for the first message of it", quote(s), backends.ErrInvalid, strings.Repeat("x", idLength), itemSign)
	}
	return r, nil
}

func readRef(s string) (ref, bool) {
	s, item, hasItem := strings.Cut(s, itemSign)
	r := ref{item: -1}
	if hasItem {
		n, ok := number(item, maxItem)
		if !ok {
			return r, false
		}
		r.item = int(n)
	}
	if id, ok := strings.CutPrefix(s, blobPrefix); ok {
		r.blob = id
		return r, isID(id)
	}
	seqs, ok := strings.CutPrefix(s, logPrefix)
	if !ok {
		return r, false
	}
	from, upto, ranged := strings.Cut(seqs, "-")
	r.from, ok = number(from, maxSeq)
	if r.upto = r.from; ok && ranged {
		r.upto, ok = number(upto, maxSeq)
	}
	return r, ok && 1 <= r.from && r.from <= r.upto
}

// number reads a decimal number that is written in the one usual way.
func number(s string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && 0 <= n && n <= most && strconv.FormatInt(n, 10) == s
}

func isID(s string) bool {
	return len(s) == idLength && strings.Trim(s, idAlphabet) == ""
}

// quote shows a text of a model's in an error: legal and not endless.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}
