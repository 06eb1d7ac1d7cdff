// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/einomem/einomem/backends"
)

// ImportOptions changes where an import goes.
type ImportOptions struct {
	// Partition is where to. The scopes that records and sessions carry stay as
	// they were. Optional. Defaults to the partition that was exported.
	Partition *backends.Partition
}

// Imported is what Import has stored.
type Imported struct {
	Partition backends.Partition
	ExportCount
}

// maxLine is the longest line of an import, in bytes.
const maxLine = 1 << 30

// Import stores what [Store.Export] wrote, from this or any other server, in a
// partition that holds nothing; else it is ErrConflict: drop it first. Versions,
// idempotency keys, leases and ends are as they were; sessions whose end has come
// are left out. Cursors of before see a Reset.
//
// It is stored under keys of its own (T:import:…), which become the partition with
// one write at the end: nobody sees a half, and if the import fails, the partition
// is as it was. Should this process die, those keys end by themselves in a day.
//
// A line that is not of an export is ErrInvalid with its number, a file without its
// last line too. Memory is needed for the longest line and the names of the sessions.
func (s *Store) Import(ctx context.Context, r io.Reader, opts *ImportOptions) (*Imported, error) {
	im := &importer{Store: s, lines: bufio.NewReaderSize(r, 1<<16)}
	if err := im.begin(ctx, opts); err != nil {
		return nil, im.named(err)
	}
	if err := im.run(ctx); err != nil {
		return nil, errors.Join(im.named(err), im.clean(ctx))
	}
	return &im.out, nil
}

// importer reads a file, line after line.
type importer struct {
	*Store
	lines  *bufio.Reader
	number int // of the line that was read last; 0 when it does not matter any more
	header headerLine
	file   ExportCount // what the file had so far
	out    Imported    // what is stored
	*stage
	session  *sessionLine // the one that messages and blobs belong to; nil: none, or left out
	got      int64        // its messages so far
	skip     bool         // its time is over
	lastBorn int64
}

// named says where an error occurred.
func (im *importer) named(err error) error {
	switch {
	case errors.Is(err, errLine):
		return fmt.Errorf("redisstore: import: line %d: %w", im.number, err)
	default:
		return fmt.Errorf("redisstore: import: %w", err)
	}
}

// errLine marks an error of the file.
var errLine = errors.New("not of an export")

func badLine(format string, args ...any) error {
	return fmt.Errorf("%w: %w: %w", backends.ErrInvalid, errLine, fmt.Errorf(format, args...))
}

// begin reads the first line and looks whether the partition is empty.
func (im *importer) begin(ctx context.Context, opts *ImportOptions) error {
	l, err := im.next()
	if err != nil {
		return err
	}
	if l.Header == nil || l.Header.Format != exportFormat {
		return badLine("it does not begin with a header of format %d", exportFormat)
	}
	im.header = *l.Header
	p := l.Header.Partition
	if opts != nil && opts.Partition != nil {
		p = *opts.Partition
	}
	if err := p.Validate(); err != nil {
		return badLine("%w", err)
	}
	h := l.Header
	if h.Version < 0 || h.Floor < 0 || h.Floor > h.Version || h.Moved < 0 || h.Born < 0 || h.Embedding != nil && (h.Embedding.Model == "" || h.Embedding.Dim <= 0) {
		return badLine("the header cannot be")
	}
	im.out.Partition = p
	im.stage = newStage(im.Store, p)
	return im.empty(ctx)
}

func (im *importer) run(ctx context.Context) error {
	for {
		l, err := im.next()
		if err != nil {
			return err
		}
		if l.End != nil {
			if err := im.end(l.End); err != nil {
				return err
			}
			return im.finish(ctx)
		}
		if err := im.take(l); err != nil {
			return err
		}
		im.file.add(l)
		if err := im.flushFull(ctx); err != nil {
			return err
		}
	}
}

// next reads a line.
func (im *importer) next() (*line, error) {
	im.number++
	text, err := im.text()
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	l := &line{}
	if err := dec.Decode(l); err != nil {
		return nil, badLine("%w", err)
	}
	if dec.More() || l.parts() != 1 {
		return nil, badLine("it has %d parts, not one", l.parts())
	}
	return l, nil
}

// parts is how many fields are set.
func (l *line) parts() (n int) {
	for _, set := range []bool{l.Header != nil, l.Record != nil, l.Deleted != nil, l.History != nil, l.Key != nil, l.Session != nil, l.Message != nil, l.Blob != nil, l.End != nil} {
		if set {
			n++
		}
	}
	return n
}

func (im *importer) text() ([]byte, error) {
	var out []byte
	for {
		part, err := im.lines.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case err == nil:
			return out, nil
		case len(out) > maxLine:
			return nil, badLine("it is longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(out) > 0:
			return out, nil // the last line may lack its end
		case errors.Is(err, io.EOF):
			return nil, badLine("the file is cut off: its last line would count the others")
		default:
			return nil, fmt.Errorf("read line %d: %w", im.number, err)
		}
	}
}

// end compares the last line with what came before.
func (im *importer) end(count *ExportCount) error {
	if err := im.complete(); err != nil {
		return err
	}
	if *count != im.file {
		return badLine("it counts %+v, before it are %+v", *count, im.file)
	}
	if rest, err := im.lines.Peek(1); err == nil {
		return badLine("after it comes %q", rest)
	}
	return nil
}
