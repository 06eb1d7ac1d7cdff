// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
)

// maxShown is how many characters one view shows.
const maxShown = 32_000

func (x *call) do(c *Command) (string, error) {
	switch c.Command {
	case "view":
		return x.view(strings.TrimSuffix(c.Path, "/"), c.ViewRange)
	case "create":
		return "File created: " + c.Path, x.create(c.Path, x.clean(c.FileText))
	case "str_replace":
		return x.edit(c.Path, func(before string) (string, int, error) { return replace(before, c.OldStr, x.clean(c.NewStr)) })
	case "insert":
		return x.edit(c.Path, func(before string) (string, int, error) { return insert(before, c.InsertLine, x.clean(c.InsertText)) })
	case "delete":
		return "Deleted: " + c.Path, x.remove(c.Path)
	case "rename":
		return "Renamed: " + c.OldPath + " is now " + c.NewPath, x.rename(c.OldPath, c.NewPath)
	}
	return "", invalid("the command is %.50q: use view, create, str_replace, insert, delete or rename", c.Command)
}

// view shows a file, or a directory.
func (x *call) view(at string, lines []int) (string, error) {
	if err := x.load(at); err != nil {
		return "", err
	}
	f, ok := x.held[at]
	if !ok {
		return x.list(at)
	}
	n := lineAt(f.text, len(strings.TrimSuffix(f.text, "\n")))
	first, last := 1, -1
	if len(lines) == 2 {
		first, last = lines[0], lines[1]
	}
	if len(lines)%2 != 0 || first < 1 || first > n || last != -1 && last < first {
		return "", invalid("view_range is %v, and the file has %d lines: name the first and the last line to show", lines, n)
	}
	return "The file " + at + " with line numbers:\n" + numbered(f.text, first, last), nil
}

// list shows a directory two levels deep.
func (x *call) list(dir string) (string, error) {
	sizes := map[string]int{}
	for at, f := range x.held {
		for ; within(at, dir); at = path.Dir(at) {
			sizes[at] += len(f.text)
		}
	}
	if len(sizes) == 0 && dir != Root {
		return "", notFound(dir)
	}
	sizes[dir] += 0
	out := "The files and directories in " + dir + ", two levels deep, with their sizes:"
	for _, at := range slices.Sorted(maps.Keys(sizes)) {
		if strings.Count(at[len(dir):], "/") <= 2 {
			out += fmt.Sprintf("\n%.1fK\t%s", math.Ceil(float64(sizes[at])/102.4)/10, at)
		}
	}
	return text.Truncate(out, maxShown), nil
}

// numbered shows the lines of a text from the first to the last, as far as they fit; -1 is the end
// of the text.
func numbered(s string, first, last int) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	var out strings.Builder
	for n := max(first, 1); n <= len(lines) && (last < 0 || n <= last); n++ {
		if out.Len() > 0 && out.Len()+len(lines[n-1]) > maxShown {
			fmt.Fprintf(&out, "(there is more: view it with view_range [%d, -1])\n", n)
			break
		}
		fmt.Fprintf(&out, "%6d\t%s\n", n, text.Truncate(lines[n-1], maxShown))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// edit replaces the text of a file by change, and shows the lines around the change.
func (x *call) edit(path string, change func(before string) (after string, at int, err error)) (string, error) {
	if err := x.load(path); err != nil {
		return "", err
	}
	f, ok := x.held[path]
	if !ok {
		return "", notFound(path)
	}
	after, at, err := change(f.text)
	if err != nil {
		return "", err
	}
	line := lineAt(after, min(at, len(after)))
	return "Edited: " + path + ". Around the change it has now:\n" + numbered(after, line-3, line+3), x.put(path, after)
}

// lineAt returns the number of the line at an offset in a text.
func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// replace returns a text with its one occurrence of old replaced, and the offset.
func replace(before, old, text string) (after string, at int, err error) {
	old = strings.ReplaceAll(old, "\r\n", "\n")
	at = strings.Index(before, old)
	switch last := strings.LastIndex(before, old); {
	case old == "":
		return "", 0, invalid("old_str is empty: copy the text to replace from the file")
	case at < 0:
		return "", 0, invalid("old_str does not occur in the file: view it, and copy the text exactly, without line numbers")
	case at != last:
		return "", 0, invalid("old_str occurs more than once, in line %d and in line %d: copy more of the text around the one that is meant",
			lineAt(before, at), lineAt(before, last))
	}
	return before[:at] + text + before[at+len(old):], at, nil
}

// insert returns a text with another one behind a line, on lines of its own, and its offset.
func insert(before string, line int, text string) (after string, at int, err error) {
	lines := slices.Collect(strings.Lines(before))
	if line < 0 || line > len(lines) {
		return "", 0, invalid("insert_line is %d, and the file has %d lines: 0 is its beginning", line, len(lines))
	}
	head, tail := strings.Join(lines[:line], ""), strings.Join(lines[line:], "")
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if tail != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return head + text + tail, len(head), nil
}

// owned returns an error for a path that commands leave as it is.
func (x *call) owned(at string) error {
	switch {
	case at == Root:
		return invalid("%s itself stays as it is: name a file or a directory in it", Root)
	case within(at, coreDir):
		return invalid("the files in %s are the program's: str_replace and insert edit them, and they cannot be created, deleted or renamed", coreDir)
	case x.clean(at) != at:
		return invalid("the path has a secret or personal data: choose another one")
	}
	return nil
}

// free returns an error if a new file at a path would collide with a loaded one: at it, above it or
// below it.
func (x *call) free(at string) error {
	if err := x.owned(at); err != nil {
		return err
	}
	for other := range x.held {
		if within(other, at) || within(at, other) {
			return invalid("%s exists already: edit it, or choose another path", other)
		}
	}
	return nil
}

func (x *call) create(at, text string) error {
	if err := cmp.Or(x.load(at), x.free(at)); err != nil {
		return err
	}
	return x.put(at, text)
}

// remove deletes a file, or a directory with all below it.
func (x *call) remove(at string) error {
	if err := cmp.Or(x.load(at), x.owned(at)); err != nil {
		return err
	}
	for path, f := range x.held {
		if within(path, at) {
			x.change(store.Delete(idOf(path)), f.version)
		}
	}
	if len(x.changes) == 0 {
		return notFound(at)
	}
	return nil
}

// rename gives a file or a directory another path.
func (x *call) rename(from, to string) error {
	if err := cmp.Or(x.load(to), x.free(to)); err != nil {
		return err
	}
	err := x.remove(from)
	for path, f := range x.held {
		if err == nil && within(path, from) {
			err = x.put(to+strings.TrimPrefix(path, from), f.text)
		}
	}
	return err
}
