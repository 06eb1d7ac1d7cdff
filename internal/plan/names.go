// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Names are those that begin with a prefix, page by page in the order of their bytes:
// those from Low on that come before High, as bytes compare.
type Names struct{ Low, High string }

// ParseNames returns the range of what is to come of the names with a prefix, after a
// cursor. what says in an error what the names are of. The error is ErrInvalid for
// a prefix that no name can have and for a cursor that is not one of the prefix.
func ParseNames(what, prefix, cursor string) (Names, error) {
	if prefix != "" {
		if err := store.ValidateID(what+" prefix", prefix); err != nil {
			return Names{}, err
		}
	}
	r := Names{Low: prefix, High: after(prefix)}
	if cursor == "" {
		return r, nil
	}
	last, err := base64.RawURLEncoding.DecodeString(cursor)
	name := string(last)
	if err != nil || store.ValidateID(what, name) != nil || !strings.HasPrefix(name, prefix) {
		return Names{}, fmt.Errorf("%ss with the prefix %q: cursor %q: %w: not one of this store and prefix", what, prefix, cursor, backends.ErrInvalid)
	}
	r.Low = name + "\x00" // the next string there is
	return r, nil
}

// NamesCursor returns the cursor of a page that ends with the name last.
func NamesCursor(last string) string { return base64.RawURLEncoding.EncodeToString([]byte(last)) }

// Holds reports whether a name is in the range.
func (r Names) Holds(name string) bool { return r.Low <= name && name < r.High }

// after returns the least string that comes after every name with the prefix. The
// last byte of UTF-8 is never 0xff, so that the sum does not overflow.
func after(prefix string) string {
	if prefix == "" {
		return "\xff"
	}
	last := len(prefix) - 1
	return prefix[:last] + string([]byte{prefix[last] + 1})
}
