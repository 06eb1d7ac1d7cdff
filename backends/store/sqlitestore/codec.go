// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// decode reads what plan.Encode wrote. Anything else means that the file was changed
// by somebody else.
func decode(what string, text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w: not as it was written: restore a backup: %w", what, backends.ErrUnavailable, err)
	}
	return nil
}
