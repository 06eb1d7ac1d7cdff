// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// maxLine is the longest line that is read, in bytes: more than the longest text
// takes with every byte of it escaped.
const maxLine = 8 * store.MaxText

// entry is a memory on its way into a workspace.
type entry struct {
	record   *store.Record
	line     int    // where it stands, from 1 on
	size     int    // of its line, in bytes
	foreign  bool   // it comes from ReMe, with an id of ReMe's
	given    string // the id of the line
	nameless bool   // its id follows from what it says
}

// source gives memories one after the other.
type source interface {
	// next returns the next one, or io.EOF after the last.
	next(ctx context.Context) (*entry, error)
	// space names the space of the vectors that come along, nil if none do.
	space() *store.Embedding
	// total is how many there are, 0 if that is not known.
	total() int
}

// reader reads the lines of a file.
type reader struct {
	scan   *bufio.Scanner
	in     *time.Location
	line   int
	read   int // memories
	lines  int // that the file has; 0: not known
	header *header
}

func newReader(r io.Reader, in *time.Location, lines int) *reader {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	return &reader{scan: s, in: in, lines: lines}
}

func (r *reader) space() *store.Embedding {
	if r.header == nil {
		return nil
	}
	return r.header.Embedding
}

func (r *reader) total() int {
	if r.header != nil {
		return r.header.Memories
	}
	return r.lines
}

// next implements source.
func (r *reader) next(ctx context.Context) (*entry, error) {
	for r.scan.Scan() {
		r.line++
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
		text := bytes.TrimSpace(r.scan.Bytes())
		if r.line == 1 {
			text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
		}
		if len(text) == 0 {
			continue
		}
		e, err := r.parse(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", r.line, backends.ErrInvalid, err)
		}
		if e != nil {
			return e, nil
		}
	}
	return nil, r.end()
}

// end returns io.EOF if the input was read to its end.
func (r *reader) end() error {
	switch err := r.scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: %w: longer than %d bytes", r.line+1, backends.ErrInvalid, maxLine)
	case err != nil:
		return fmt.Errorf("reading line %d: %w", r.line+1, err)
	case r.header != nil && r.read != r.header.Memories:
		return fmt.Errorf("%w: the dump ends after %d memories, its header tells of %d: it was cut off, or edited; write it anew, or correct the number in its first line",
			backends.ErrInvalid, r.read, r.header.Memories)
	}
	return io.EOF
}

// parse reads a line: nil for a header.
func (r *reader) parse(text []byte) (*entry, error) {
	o, err := parseObject(text)
	switch {
	case errors.Is(err, errNotObject):
		return nil, fmt.Errorf("%w: a library has one memory a line, each in {}", err)
	case err != nil:
		return nil, err
	case o.has("einomem_library"):
		if r.read > 0 || r.header != nil {
			return nil, errors.New("another dump begins here: load the files one by one")
		}
		r.header, err = readHeader(o)
		return nil, err
	}
	e := &entry{record: &store.Record{}, line: r.line, size: len(text)}
	m, err := r.memory(o, e)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(m.Text) == "" && strings.TrimSpace(m.WhenToUse) == "" && len(m.Metadata) == 0 {
		return nil, errors.New("it says nothing: remove the line")
	}
	e.record.Memory = *m
	r.read++
	return e, nil
}

// memory reads a memory in whichever format it is.
func (r *reader) memory(o object, e *entry) (m *backends.Memory, err error) {
	switch {
	case o.has("unique_id"):
		err = readNode(o)
	case o.has("experience_id", "experience_type"):
		err = readOlder(o)
	case o.has("memory_id", "memory_type"):
	case o.has("id") && o.has("kind"):
		m, e.record.Vector, err = readOwn(o)
		return m, err
	case !o.has("content", "when_to_use"):
		return nil, fmt.Errorf("it is of no known format, with the members %s: a line of ReMe has memory_id, when_to_use and content", o.names())
	}
	if err != nil {
		return nil, err
	}
	e.foreign = true
	return readReMe(o, r.in)
}
