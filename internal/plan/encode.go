// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// Encode is how stores write values: as JSON on one line that a person can read with
// the shell of the storage, with <, > and & as they are. What JSON
// cannot express (a function in a message's Extra, a year above 9999) is
// ErrInvalid; what names it in the error.
func Encode(what string, v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("%s: %w: %w", what, backends.ErrInvalid, err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
