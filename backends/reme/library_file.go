// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/einomem/einomem/backends"
)

// DumpRequest asks for a dump.
type DumpRequest struct {
	// Scope names what is dumped: see [Library]. Required. Defaults to that of the context.
	Scope backends.Scope
	// File is the name of the file in LibraryConfig.Dir, for DumpFile. Optional. Defaults
	// to that of LoadRequest.
	File string
}

// DumpResponse says what a dump wrote.
type DumpResponse struct {
	Memories int
	LeftOut  int // those that were superseded, retracted or expired
}

// Dump writes the memories that hold, as they are at one moment, in the order in which they
// were stored, one a line, with what ReMe's format has. [Backend.Dump] writes all that a
// memory has, of one partition.
func (l *Library) Dump(ctx context.Context, r *DumpRequest, w io.Writer) (*DumpResponse, error) {
	d, err := l.dump(ctx, r)
	if err == nil {
		err = d.write(ctx, w)
	}
	if err != nil {
		return nil, err
	}
	return &d.out, nil
}

// dump is one call of Dump or DumpFile.
type dump struct {
	*Library
	*collection
	request  *DumpRequest
	memories []*backends.Memory // the index's: not to be changed
	out      DumpResponse
}

func (l *Library) dump(ctx context.Context, r *DumpRequest) (*dump, error) {
	if r == nil {
		r = &DumpRequest{}
	}
	c, err := l.collection(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	d := &dump{Library: l, collection: c, request: r}
	all, err := l.keep.All(ctx, c.partition)
	if err != nil {
		return nil, err
	}
	now := l.keep.Now()
	for _, m := range all {
		switch {
		case !slices.Contains(c.kinds, m.Kind):
		case !m.Active() || m.Expired(now):
			d.out.LeftOut++
		default:
			d.memories = append(d.memories, m)
		}
	}
	d.out.Memories = len(d.memories)
	return d, nil
}

func (d *dump) write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, m := range d.memories {
		if err := ctx.Err(); err != nil {
			return d.failed(err)
		}
		line, err := formatLine(m, d.partition.ID, d.config.Location)
		if err != nil {
			return d.failed(fmt.Errorf("memory %s: %w", m.ID, err))
		}
		if _, err := out.Write(line); err != nil {
			return d.failed(err)
		}
	}
	if err := out.Flush(); err != nil {
		return d.failed(err)
	}
	return nil
}

func (d *dump) failed(err error) error {
	return fmt.Errorf("reme: dumping %s: %w", d.partition, err)
}

// DumpFile is [Library.Dump] into a file of LibraryConfig.Dir. It takes the place of a file of
// that name once it is complete; after an error the old one is as it was. If there is nothing
// to write, it returns ErrNotFound, and the file stays.
func (l *Library) DumpFile(ctx context.Context, r *DumpRequest) (*DumpResponse, error) {
	d, err := l.dump(ctx, r)
	if err != nil {
		return nil, err
	}
	name := fileName(d.request.File, d.partition)
	if len(d.memories) == 0 {
		return nil, d.failed(fmt.Errorf("%w: no memory to write; the file %q was left as it is", backends.ErrNotFound, name))
	}
	if l.config.Dir != "" {
		if err := os.MkdirAll(l.config.Dir, 0o700); err != nil {
			return nil, d.failed(err)
		}
	}
	dir, err := l.openDir()
	if err != nil {
		return nil, d.failed(err)
	}
	defer func() { _ = dir.Close() }()
	if err := replaceFile(dir, name, func(f *os.File) error { return d.write(ctx, f) }); err != nil {
		return nil, d.failed(err)
	}
	return &d.out, nil
}

// LoadFile is [Library.Load] from a file of LibraryConfig.Dir. If the file does not exist, it
// returns ErrNotFound, and nothing was changed.
func (l *Library) LoadFile(ctx context.Context, r *LoadRequest) (*LoadResponse, error) {
	if r == nil {
		r = &LoadRequest{}
	}
	c, err := l.collection(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	failed := func(err error) (*LoadResponse, error) {
		return nil, fmt.Errorf("reme: loading into %s (nothing was changed): %w", c.partition, err)
	}
	dir, err := l.openDir()
	if err != nil {
		return failed(err)
	}
	defer func() { _ = dir.Close() }()
	f, err := dir.Open(fileName(r.File, c.partition))
	if errors.Is(err, fs.ErrNotExist) {
		return failed(fmt.Errorf("%w: no file in %s: %w", backends.ErrNotFound, l.config.Dir, err))
	}
	if err != nil {
		return failed(err)
	}
	defer func() { _ = f.Close() }()
	return l.Load(ctx, r, f)
}

func (l *Library) openDir() (*os.Root, error) {
	if l.config.Dir == "" {
		return nil, fmt.Errorf("%w: Config.Library.Dir is not set", backends.ErrInvalid)
	}
	return os.OpenRoot(l.config.Dir)
}

// fileName returns the name asked for, else that of a partition: see LoadRequest.File. Two
// partitions of a kind have different names, which some file systems distinguish by case
// alone.
func fileName(asked string, p backends.Partition) string {
	if asked != "" {
		return asked
	}
	var name strings.Builder
	for i, r := range p.ID {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.' && i > 0 {
			name.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&name, "%%%02X", c)
		}
	}
	return name.String() + ".jsonl"
}

// replaceFile writes a file beside the one of that name, and renames it once it is on disk.
func replaceFile(dir *os.Root, name string, write func(*os.File) error) error {
	temporary := backends.NewID() + ".tmp"
	f, err := dir.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary)
	}
	return err
}
