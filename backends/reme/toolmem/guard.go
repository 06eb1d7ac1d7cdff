// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import "github.com/einomem/einomem/internal/work"

// guarded runs work of a goroutine of ours and makes an error of a panic, as of
// Config.Redact: whoever called could not recover it there.
func guarded(f func() error) error { return work.Catch("toolmem", f) }
