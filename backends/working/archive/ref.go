// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

const (
	blobPrefix = "a-"
	blobFolder = "archive/" // what the names of our blobs begin with
	idLength   = 20         // of 5 bits each

	wholeLog = 1e15 - 1 // more than any log has
)

// ref names an archive: a range of the log, or a blob.
type ref struct {
	from, upto int64  // of the log, inclusive; 0 for a blob
	blob       string // the blob's id, without its prefix
}

func (r ref) isLog() bool { return r.blob == "" }

// String returns what [parseRef] reads.
func (r ref) String() string {
	switch {
	case !r.isLog():
		return blobPrefix + r.blob
	case r.upto == r.from:
		return fmt.Sprintf("log-%d", r.from)
	}
	return fmt.Sprintf("log-%d-%d", r.from, r.upto)
}

// legal is what a reference looks like, in the one usual way to write it. There is nothing
// else it may name: no path, no session, no user.
var legal = regexp.MustCompile(`^(?:log-([1-9]\d{0,14})(?:-([1-9]\d{0,14}))?|a-([a-z2-7]{20}))$`)

// parseRef reads a reference as models copy it.
func parseRef(s string) (ref, error) {
	r, ok := readRef(s)
	if !ok {
		return r, fmt.Errorf("archive %q: %w: an id is like log-12, log-12-40 or a-%s", text.Line(s, 100), backends.ErrInvalid, strings.Repeat("x", idLength))
	}
	return r, nil
}

func readRef(s string) (ref, bool) {
	m := legal.FindStringSubmatch(s)
	if m == nil || m[3] != "" {
		return ref{blob: strings.TrimPrefix(s, blobPrefix)}, m != nil
	}
	from, _ := strconv.ParseInt(m[1], 10, 64) // of 15 digits at most
	upto, _ := strconv.ParseInt(cmp.Or(m[2], m[1]), 10, 64)
	return ref{from: from, upto: upto}, from <= upto
}
