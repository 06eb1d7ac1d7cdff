// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
)

// invalid is an error of the caller's own making. The text says what to do.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s; nothing was changed", backends.ErrInvalid, fmt.Sprintf(format, args...))
}

func notFound(path string) error {
	return fmt.Errorf("%w: there is no file %s: view %s to see what there is", backends.ErrNotFound, path, Root)
}

// open returns the text of a file, and what gives it another one.
func (x *call) open(path string) (text string, write func(text string) error, err error) {
	name, err := parse(path)
	if err != nil {
		return "", nil, err
	}
	blocks, err := x.blocks()
	for i := range blocks {
		if v := &blocks[i]; name == coreDir+"/"+v.Block.Name {
			return v.Text, func(text string) error { return x.setBlock(v, text) }, nil
		}
	}
	if err != nil {
		return "", nil, err
	}
	records, err := x.Records.Get(x.ctx, x.p, idPrefix+name)
	if err == nil && len(records) == 0 {
		err = notFound(path)
	}
	if err != nil {
		return "", nil, err
	}
	r := records[0]
	return r.Text, func(text string) error { return x.apply(x.put(name, text, &r)) }, nil
}

// setBlock gives a core block another text, as the agent.
func (x *call) setBlock(v *core.Value, text string) (err error) {
	e := &core.Edit{Scope: x.scope, Block: v.Block.Name, Old: v.Text, Text: text, IdempotencyKey: x.key}
	if v.Text == "" {
		_, err = x.Blocks.Append(x.ctx, e)
	} else {
		_, err = x.Blocks.Replace(x.ctx, e)
	}
	return err
}

// put returns what writes a file, over old or as a new one.
func (x *call) put(name, text string, old *store.Record) store.Mutation {
	m := store.Put(&store.Record{Memory: backends.Memory{
		ID: idPrefix + name, Kind: backends.KindCore, Text: text, Scope: x.scope,
		Origin: backends.Origin{Session: x.scope.SessionID, Role: "assistant", Author: backends.AuthorAgent},
	}})
	if m.Expect = store.MustNotExist; old != nil {
		m.Expect = old.Version
	}
	return m
}

// apply carries out changes, all or none.
func (x *call) apply(ms ...store.Mutation) error {
	for i := range ms {
		m := &ms[i]
		if m.Record != nil && utf8.RuneCountInString(m.Record.Text) > MaxRunes {
			return invalid("the file would have more than %d characters: use several", MaxRunes)
		}
		m.Actor, m.Role = cmp.Or(x.scope.AgentID, backends.AuthorAgent), "assistant"
	}
	_, err := x.Records.Apply(x.ctx, x.p, &store.Batch{Mutations: ms, Key: x.key})
	return err
}

// own returns the name of a path that may be created, deleted or renamed, and the files that
// there are. If it is to be free, no file may be at it, above it or below it.
func (x *call) own(path string, free bool) (name string, sizes map[string]int, err error) {
	if name, err = parse(path); err == nil {
		sizes, err = x.names()
	}
	switch {
	case err != nil:
	case name == "":
		err = invalid("%s itself stays as it is: name a file or a directory in it", Root)
	case within(name, coreDir):
		err = invalid("the files in %s are the program's: str_replace and insert edit them, and they cannot be created, deleted or renamed", pathOf(coreDir))
	case x.clean(name) != name:
		err = invalid("the path has a secret or personal data, which is not stored here: choose another one")
	}
	for other := range sizes {
		if free && err == nil && (within(other, name) || within(name, other)) {
			err = invalid("%s exists already: edit it, or choose another path", pathOf(other))
		}
	}
	return name, sizes, err
}

// create writes a new file.
func (x *call) create(path, text string) error {
	name, sizes, err := x.own(path, true)
	switch {
	case err != nil:
		return err
	case len(sizes) >= MaxFiles:
		return invalid("there are %d files, and no more may be: delete or merge some first", len(sizes))
	}
	return x.apply(x.put(name, x.clean(text), nil))
}

// move gives a file or a directory another path, or deletes it where there is none.
func (x *call) move(path string, newPath *string) error {
	name, sizes, err := x.own(path, false)
	to := ""
	if newPath != nil && err == nil {
		to, _, err = x.own(*newPath, true)
	}
	if err != nil {
		return err
	}
	var ids []string
	for file := range sizes {
		if within(file, name) {
			ids = append(ids, idPrefix+file)
		}
	}
	records, err := x.Records.Get(x.ctx, x.p, ids...)
	if err == nil && len(records) == 0 {
		err = notFound(path)
	}
	if err != nil {
		return err
	}
	var ms []store.Mutation
	for i := range records {
		r := &records[i]
		gone := store.Delete(r.ID)
		gone.Expect = r.Version
		ms = append(ms, gone)
		if newPath != nil {
			next := to + strings.TrimPrefix(r.ID, idPrefix+name)
			if _, err := parse(pathOf(next)); err != nil {
				return err
			}
			ms = append(ms, x.put(next, r.Text, nil))
		}
	}
	return x.apply(ms...)
}

// replace returns a text with its one occurrence of old replaced, and where.
func replace(before, old, text string) (after string, at int, err error) {
	old = strings.ReplaceAll(old, "\r\n", "\n")
	at = strings.Index(before, old)
	switch last := strings.LastIndex(before, old); {
	case old == "":
		return "", 0, invalid("old_str is empty: copy the text to replace from the file")
	case at < 0:
		return "", 0, invalid("old_str does not occur in the file: view it, and copy the text exactly, without line numbers")
	case at != last:
		return "", 0, invalid("old_str occurs more than once, in line %d and in line %d: copy more of the text around the one that is meant", lineAt(before, at), lineAt(before, last))
	}
	return before[:at] + text + before[at+len(old):], at, nil
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// insert returns a text with another one behind a line, on lines of its own, and where.
func insert(before string, line int, text string) (after string, at int, err error) {
	lines := strings.SplitAfter(before, "\n")
	if n := len(strings.SplitAfter(strings.TrimSuffix(before, "\n"), "\n")); line < 0 || line > n || before == "" && line > 0 {
		return "", 0, invalid("insert_line is %d, and the file has %d lines: 0 is its beginning", line, n)
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
