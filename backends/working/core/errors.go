// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
)

// LimitError is returned for an edit whose result is too long. Nothing was changed.
// It is an [backends.ErrInvalid].
type LimitError struct {
	Block string
	Limit int // in runes
	Size  int // of what the block holds now, in runes
	Asked int // what the edit would have made of it, in runes
}

// Error says what to do now.
func (e *LimitError) Error() string {
	return fmt.Sprintf("block %q: %v: the edit would make it %d characters long, its limit is %d, and it holds %d now: shorten or replace what it holds first; nothing was changed",
		e.Block, backends.ErrInvalid, e.Asked, e.Limit, e.Size)
}

// Unwrap returns ErrInvalid.
func (e *LimitError) Unwrap() error { return backends.ErrInvalid }

// MatchError is returned by Replace when the old text does not occur exactly once.
// Nothing was changed. It is an [backends.ErrInvalid].
type MatchError struct {
	Block string
	Count int    // how often the old text occurs
	More  bool   // it occurs more often than was counted
	Text  string // what the block holds
}

// Error says what to do now.
func (e *MatchError) Error() string {
	what := "copy the text exactly as the block shows it now"
	if e.Count > 0 {
		what = "pass more of the text around it, so that it is the only one"
	}
	count := fmt.Sprint(e.Count)
	if e.More {
		count = "more than " + count
	}
	return fmt.Sprintf("block %q: %v: the old text occurs %s times in it, and has to occur once: %s; nothing was changed", e.Block, backends.ErrInvalid, count, what)
}

// Unwrap returns ErrInvalid.
func (e *MatchError) Unwrap() error { return backends.ErrInvalid }

// ReadOnlyError is returned for an edit of a block that only the program may
// change. It is an [backends.ErrInvalid].
type ReadOnlyError struct{ Block string }

// Error says what to do now.
func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("block %q: %v: it is read-only, and only the program changes it, with Set", e.Block, backends.ErrInvalid)
}

// Unwrap returns ErrInvalid.
func (e *ReadOnlyError) Unwrap() error { return backends.ErrInvalid }

// UnknownError is returned for the name of a block that is not configured. It is an
// [backends.ErrNotFound].
type UnknownError struct {
	Block string
	Known []string // the names that there are
}

// Error names the blocks that there are.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("block %q: %v: the blocks are %s", e.Block, backends.ErrNotFound, strings.Join(e.Known, ", "))
}

// Unwrap returns ErrNotFound.
func (e *UnknownError) Unwrap() error { return backends.ErrNotFound }
