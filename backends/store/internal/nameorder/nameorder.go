// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package nameorder reads names that begin with a prefix page by page, in the
// order of their bytes. The cursor is the last name met, so that what comes and
// goes between two pages shifts nothing.
package nameorder

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Range holds the names from Low on that come before High, as bytes compare.
type Range struct{ Low, High string }

// Parse returns the range of what is to come of the names with a prefix, after a
// cursor. what says in an error what the names are of. The error is ErrInvalid for
// a prefix that no name can have and for a cursor that is not one of the prefix.
func Parse(what, prefix, cursor string) (Range, error) {
	if prefix != "" {
		if err := store.ValidateID(what+" prefix", prefix); err != nil {
			return Range{}, err
		}
	}
	r := Range{Low: prefix, High: after(prefix)}
	if cursor == "" {
		return r, nil
	}
	last, err := base64.RawURLEncoding.DecodeString(cursor)
	name := string(last)
	if err != nil || store.ValidateID(what, name) != nil || !strings.HasPrefix(name, prefix) {
		return Range{}, fmt.Errorf("%ss with the prefix %q: cursor %q: %w: not one of this store and prefix", what, prefix, cursor, backends.ErrInvalid)
	}
	r.Low = name + "\x00" // the next string there is
	return r, nil
}

// Cursor returns the cursor of a page that ends with the name last.
func Cursor(last string) string { return base64.RawURLEncoding.EncodeToString([]byte(last)) }

// Holds reports whether a name is in the range.
func (r Range) Holds(name string) bool { return r.Low <= name && name < r.High }

// after returns the least string that comes after every name with the prefix. The
// last byte of UTF-8 is never 0xff, so that the sum does not overflow.
func after(prefix string) string {
	if prefix == "" {
		return "\xff"
	}
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}
