// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import "github.com/einomem/einomem/internal/guard"

// guarded runs work of a goroutine of ours and makes an error of a panic, as of
// Config.Redact: whoever called could not recover it there.
func guarded(work func() error) error { return guard.Call("toolmem", work) }
