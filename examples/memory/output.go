// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/einomem/einomem/backends"
)

// streams are where the program reads and writes.
type streams struct {
	in          io.Reader
	out, errout io.Writer
}

// answer is what a command prints: one value, or a table, which is values in JSON and cells
// for people.
type answer struct {
	value  any
	head   []string
	values []any
	lines  [][]string
}

// row adds a line to the table.
func (a *answer) row(value any, cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = line(fmt.Sprint(c))
	}
	a.values, a.lines = append(a.values, value), append(a.lines, texts)
}

// line is a text on one line.
func line(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// set has one value printed, unless it is nil.
func set[T any](a *answer, value *T, err error) error {
	if value != nil {
		a.value = value
	}
	return err
}

// clean removes what a terminal would carry out instead of showing it.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, s)
}

func (c *call) print() error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	switch {
	case c.value != nil && c.Bool("json"):
		return e.Encode(c.value)
	case c.value != nil:
		text, err := json.MarshalIndent(c.value, "", "  ")
		_, failed := fmt.Fprintln(c.out, clean(string(text)))
		return errors.Join(err, failed)
	case c.Bool("json"):
		for _, v := range c.values {
			if err := e.Encode(v); err != nil {
				return err
			}
		}
		return nil
	case len(c.lines) == 0:
		return nil
	}
	return c.table(append([][]string{c.head}, c.lines...))
}

// short is a text that may be long, in a table: as much as fits into 100 columns.
func short(text string) string { return runewidth.Truncate(line(text), 100, "…") }

// table prints lines whose columns are as wide as a terminal shows them.
func (c *call) table(lines [][]string) error {
	width := map[int]int{}
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], runewidth.StringWidth(cell))
		}
	}
	var out strings.Builder
	for _, line := range lines {
		text := ""
		for i, cell := range line {
			text += runewidth.FillRight(cell, width[i]+2)
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	_, err := io.WriteString(c.out, out.String())
	return err
}

// where is a partition in a table.
func where(p backends.Partition) string { return string(p.Kind) + " " + p.ID }

// at is a time in a table.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// bar shows on a terminal how far long work is.
func (c *call) bar(total int, more ...progressbar.Option) *progressbar.ProgressBar {
	f, ok := c.errout.(*os.File)
	return progressbar.NewOptions(total, append(more, progressbar.OptionSetWriter(c.errout), progressbar.OptionSetDescription(c.Name),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetVisibility(ok && term.IsTerminal(int(f.Fd()))))...)
}

// read has use read a file, or the input for "-" or no name.
func (c *call) read(name string, use func(io.Reader) error) error {
	if name == "" || name == "-" {
		return use(c.in)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	bar := c.bar(int(info.Size()), progressbar.OptionShowBytes(true))
	defer func() { _ = bar.Exit() }()
	return use(io.TeeReader(f, bar))
}

// write has use write a file that its owner alone can read, or the output for "-" or no name.
// After an error the file is as it was.
func (c *call) write(name string, use func(io.Writer) error) error {
	if name == "" || name == "-" {
		return use(c.out)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	if err = errors.Join(use(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
