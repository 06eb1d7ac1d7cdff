// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// encode returns v as JSON that is readable in the sqlite3 shell. What JSON
// cannot express (a function in a message's Extra, a year above 9999) is
// ErrInvalid.
func encode(what string, v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("%s: %w: %w", what, backends.ErrInvalid, err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// decode reads what encode wrote. Anything else means that the file was changed
// by somebody else.
func decode(what string, text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w: not as it was written: restore a backup: %w", what, backends.ErrUnavailable, err)
	}
	return nil
}
