// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/einomem/einomem/backends"
)

// output is what a command prints: JSON, or a table and other values as indented JSON.
type output struct {
	json, bold bool
	dry        bool // the command says what it would do
	printed    bool
	heads      string // of the present table
	progress   *progressbar.ProgressBar

	out   *bufio.Writer // keeps the error of a write until the flush
	err   io.Writer
	cells *tabwriter.Writer
	table bytes.Buffer // what cells wrote
}

// begin begins the output of a command. The progress of one that may take long is for a terminal that
// gets no JSON.
func (o *output) begin(c *cli.Command, dry, long bool) {
	o.json, o.dry, o.out, o.err = c.Bool("json"), dry, bufio.NewWriter(c.Root().Writer), c.Root().ErrWriter
	o.bold, o.cells = coloured(c.Root().Writer), tabwriter.NewWriter(&o.table, 0, 0, 2, ' ', 0)
	o.progress = progressbar.NewOptions(-1, progressbar.OptionSetWriter(o.err), progressbar.OptionSetDescription(c.Name),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetVisibility(long && !o.json && isTerminal(o.err)))
}

// end prints what is left, and after a dry run how to do it.
func (o *output) end(failed error) error {
	o.flush()
	err := o.out.Flush()
	if o.dry && failed == nil {
		fmt.Fprintln(o.err, "nothing was changed: repeat the command with -yes")
	}
	return err
}

// flush ends the progress, and prints the table, its heads bold on a terminal.
func (o *output) flush() {
	_ = o.progress.Finish()
	_ = o.cells.Flush() // into memory
	if heads, rest, ok := bytes.Cut(o.table.Bytes(), []byte("\n")); o.bold && ok {
		fmt.Fprintf(o.out, "\x1b[1m%s\x1b[0m\n%s", heads, rest)
	} else {
		_, _ = o.out.Write(o.table.Bytes())
	}
	o.table.Reset()
}

// coloured reports whether a writer is a terminal that wants colours.
func coloured(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// print prints one value as JSON. An object of a dry run says so.
func (o *output) print(value any, err error) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err = errors.Join(err, e.Encode(value)); err != nil {
		return err
	}
	object := text.Bytes()
	if o.dry && bytes.HasPrefix(object, []byte(`{"`)) && !bytes.Contains(object, []byte(`"dry_run":true`)) {
		object = append([]byte(`{"dry_run":true,`), object[1:]...)
	}
	if !o.json {
		var indented bytes.Buffer
		err = json.Indent(&indented, object, "", "  ")
		object = indented.Bytes()
	}
	o.flush()
	_, _ = o.out.Write(object)
	o.printed = true
	return err
}

// row prints a line of a table: the value for JSON, else the cells, below the heads. Other heads begin
// another table.
func (o *output) row(heads string, value any, cells ...any) {
	if o.json {
		_ = o.print(value, nil) // out keeps the error
		return
	}
	if heads != o.heads {
		if o.heads != "" {
			o.flush()
			fmt.Fprintln(o.out)
		}
		fmt.Fprintln(o.cells, strings.ReplaceAll(heads, " ", "\t"))
		o.heads, o.printed = heads, true
	}
	texts := make([]string, len(cells))
	for i, cell := range cells {
		if t, ok := cell.(time.Time); ok {
			cell = t.UTC().Format(time.RFC3339)
		}
		texts[i] = line(fmt.Sprint(cell))
	}
	fmt.Fprintln(o.cells, strings.Join(texts, "\t"))
}

// line is a text on one line, free of characters that a terminal would carry out.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// where is a partition in a table.
func where(p backends.Partition) string { return string(p.Kind) + " " + p.ID }
