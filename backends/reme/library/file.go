// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/einomem/einomem/backends"
)

var errNoDir = fmt.Errorf("%w: Config.Dir is not set: OpenDir gives one", backends.ErrInvalid)

// LoadFile is Load from a file of Config.Dir. A file that is not there is
// ErrNotFound, and leaves the workspace as it was.
func (l *Library) LoadFile(ctx context.Context, r *LoadRequest) (*LoadResponse, error) {
	if r == nil {
		r = &LoadRequest{}
	}
	at, err := l.place(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	failed := func(err error) (*LoadResponse, error) {
		return nil, fmt.Errorf("library: loading workspace %s (it is as it was): %w", at.partition.ID, err)
	}
	if l.dir == nil {
		return failed(errNoDir)
	}
	f, err := l.dir.open(fileOf(at, r.File))
	if err != nil {
		return failed(err)
	}
	defer func() { _ = f.Close() }()
	lines, err := countLines(f)
	if err != nil {
		return failed(err)
	}
	return l.load(ctx, at, r, newReader(f, l.location, lines))
}

// DumpFile is Dump to a file of Config.Dir, which it replaces at once when the new
// one is complete: after an error, and for whoever reads it meanwhile, it is as it
// was. A workspace without memories is ErrNotFound, and the file stays.
func (l *Library) DumpFile(ctx context.Context, r *DumpRequest) (*DumpResponse, error) {
	d, err := l.dump(ctx, r)
	if err != nil {
		return nil, err
	}
	name := fileOf(d.at, d.request.File)
	switch {
	case l.dir == nil:
		return nil, d.failed(errNoDir)
	case len(d.memories) == 0:
		return nil, d.failed(fmt.Errorf("%w: it holds no memory, and the file %q was left as it is: remove it if that is meant", backends.ErrNotFound, name))
	}
	err = l.dir.replace(name, l.ids(), func(f *os.File) error { return d.write(ctx, f) })
	if err != nil {
		return nil, d.failed(err)
	}
	return &DumpResponse{Memories: len(d.memories), LeftOut: d.leftOut}, nil
}

func fileOf(at *place, name string) string {
	if name == "" {
		return FileName(at.partition.ID)
	}
	return name
}

// countLines counts the lines of a file, so that a Progress knows the total, and
// goes back to its beginning. Of what is no file nobody knows how many there are.
func countLines(f *os.File) (int, error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	lines, buffer := 0, make([]byte, 64<<10)
	for {
		n, err := f.Read(buffer)
		lines += bytes.Count(buffer[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("reading file %q: %w", f.Name(), err)
		}
	}
	_, err := f.Seek(0, io.SeekStart)
	return lines, err
}
