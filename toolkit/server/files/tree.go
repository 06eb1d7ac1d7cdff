// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// File is a file of a [Files.Tree].
type File struct {
	Path, Text string
	Changed    time.Time // the last change; the zero time for a core block
}

// Tree returns the file at a path, or all files below a directory in the order of their paths: none
// if there is neither. An illegal path is ErrInvalid.
func (f *Files) Tree(ctx context.Context, s backends.Scope, at string) (out []File, err error) {
	err = f.carry(ctx, s, false, func(x *call) error {
		out = nil
		err := x.load(at)
		for path, held := range x.held {
			if within(path, at) {
				out = append(out, File{path, held.text, held.changed})
			}
		}
		return err
	})
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out, err
}

// Update gives the file at a path the text that change returns, and makes the file if it is missing.
// If another writer is faster, it calls change again with the text of that one. Texts are redacted
// as those of commands are; the store bounds their length. A path that is illegal, a directory,
// below a file, or a core block that is not configured is ErrInvalid. An error of change is
// returned, and nothing is written.
func (f *Files) Update(ctx context.Context, s backends.Scope, at string, change func(before string, exists bool) (string, error)) error {
	return f.carry(ctx, s, true, func(x *call) error {
		if err := x.load(at); err != nil {
			return err
		}
		held, exists := x.held[at]
		if !exists {
			if err := x.free(at); err != nil {
				return err
			}
		}
		after, err := change(held.text, exists)
		if after = x.clean(after); err != nil || exists && after == held.text {
			return err
		}
		return x.put(at, after)
	})
}
