// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package files is memory as files: a small tree of texts under /memories that an agent keeps
// by itself, with the commands of Claude's memory tool.
//
//	f, err := files.New(&files.Config{Records: store, Scope: scopeOf})
//	tools := f.Tools() // one tool, named memory, for an Eino agent
//
// [Files.Do] carries out a [Command] for a Go program, and returns the text for a model:
//
//	out, err := f.Do(ctx, scope, &files.Command{Command: "view", Path: "/memories"})
//
// Package mcp below toolkit serves the same tool. [Files.Tree] and [Files.Update] read and write for
// programs, such as toolkit/folder: files for Eino's own middlewares.
//
// # The commands
//
//	view         path, view_range    a directory with sizes, two levels deep; or numbered lines
//	create       path, file_text     a new file; the path must be free
//	str_replace  path, old_str, new_str    old_str must occur exactly once
//	insert       path, insert_line, insert_text    behind that line; 0 is the beginning
//	delete       path                a file, or a directory with all below it
//	rename       old_path, new_path  a file or a directory, to a free path
//
// Directories need no command: the paths of files make them.
//
// # Storage
//
// All files are in one partition: the one of the scope's user, else of its agent, else of its
// workspace. Each is a record of kind [backends.KindCore], which searches skip. Its history has all
// its former texts, see [Files.History]. It is exported and copied with the partition, and erased
// with it. Forgetting one session erases the files that were last written in it. A renamed file
// begins a new history; the former path keeps the old one. Listing, creating, renaming and deleting
// read the whole partition. Viewing and editing one file read only that file.
//
// The core blocks of Config.Blocks are files, too: /memories/core/NAME. They can be edited within
// their limits, unless they are read-only. They cannot be created, deleted or renamed.
//
// Two agents may edit one file at the same time: an edit is a compare-and-swap, and is repeated on
// top of the other's text. A str_replace whose old text is gone then says so.
package files

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/compose"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/text"
)

// Root is the directory of all files.
const Root = "/memories"

// The limits of a file, and the form of its record.
const (
	maxRunes = 100_000 // of a file that a [Command] writes
	maxPath  = 300     // bytes of a path, which has at most 8 names below Root

	idPrefix = "files/"       // of the ids of the records; the path below Root follows
	coreDir  = Root + "/core" // the directory of the core blocks
)

// Config names the store of the files. [New] copies it.
type Config struct {
	Records store.Records // Required. Stays the caller's.
	Blocks  *core.Blocks  // Optional. Core blocks, shown as files under /memories/core.

	// Scope returns the scope of a call of the tool. It runs at each call, with the call's context,
	// and must be safe for concurrent use. Required for [Files.Tools].
	Scope func(ctx context.Context) (backends.Scope, error)

	// Redact removes from a text the parts that must not be stored. It must be safe for concurrent
	// use. Optional. Defaults to redact.Text for users and agents, and to redact.Shared for
	// workspaces.
	Redact func(text string) string

	// OnError gets every failure of the store or the scope in a call of the tool. A mistake of a
	// model is not a failure. It must be safe for concurrent use. Optional. slog logs failures in
	// any case.
	OnError func(ctx context.Context, stage string, err error)
}

// Files keeps files for any number of users, agents and workspaces. It is safe for concurrent use,
// and needs no Close.
type Files struct{ Config }

// New returns the files of a configuration. It returns ErrInvalid if Records is nil.
func New(cfg *Config) (*Files, error) {
	if cfg == nil || cfg.Records == nil {
		return nil, fmt.Errorf("files: no Config.Records: %w: pass a store, such as one of sqlitestore.Open", backends.ErrInvalid)
	}
	return &Files{*cfg}, nil
}

// Do carries out a command on the files of a scope, and returns the text for a model. A mistake in
// the command is ErrInvalid or ErrNotFound, with a text that says what to do.
func (f *Files) Do(ctx context.Context, s backends.Scope, c *Command) (out string, err error) {
	err = f.carry(ctx, s, c.Writes(), func(x *call) (err error) {
		if id := compose.GetToolCallID(ctx); id != "" { // a resumed run may repeat it
			x.key = idPrefix + text.HashID(s.SessionID, s.AgentID, id, fmt.Sprint(*c))
		}
		x.most = maxRunes
		out, err = x.do(c)
		return err
	})
	if err != nil {
		return "", err
	}
	return out, nil
}

// carry calls do with the state of a new call, and writes all or none of the changes that it plans.
// It repeats that if another writer is faster.
func (f *Files) carry(ctx context.Context, s backends.Scope, writes bool, do func(x *call) error) error {
	x, err := f.call(ctx, s)
	if err == nil && writes {
		ctx, err = store.BeginRecords(ctx, f.Records, x.p)
	}
	if err == nil {
		err = store.OnConflict(ctx, func() error {
			x, err := f.call(ctx, s)
			if err == nil {
				err = do(x)
			}
			if err == nil && len(x.changes) > 0 {
				_, err = f.Records.Apply(ctx, x.p, &store.Batch{Mutations: x.changes, Key: x.key})
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	return nil
}

// History returns the events of a file, oldest first: the texts before and after, who changed it
// and when. It also answers for a deleted file.
func (f *Files) History(ctx context.Context, s backends.Scope, at string) ([]backends.Event, error) {
	x, err := f.call(ctx, s)
	if err == nil {
		err = check(at)
	}
	if err != nil {
		return nil, err
	}
	if f.Blocks != nil && within(at, coreDir) {
		return f.Blocks.History(ctx, x.scope, path.Base(at))
	}
	return f.Records.History(ctx, x.p, idOf(at))
}

// call is the state of one call.
type call struct {
	*Files
	ctx     context.Context
	scope   backends.Scope
	p       backends.Partition
	key     string           // the idempotency key of its writes
	most    int              // characters of a file; 0: as many as the store takes
	held    map[string]file  // the files that load found, by paths
	changes []store.Mutation // the end of the call writes all or none
}

// file is a record of the partition, or below coreDir a core block.
type file struct {
	text    string
	version int64     // of the record
	changed time.Time // the zero time for a core block
}

func (f *Files) call(ctx context.Context, s backends.Scope) (x *call, err error) {
	x = &call{Files: f, ctx: ctx, held: map[string]file{}}
	if x.scope, err = s.Normalize(); err == nil {
		x.p, err = x.scope.Owner()
	}
	return x, err
}

// load finds the core blocks, and the file at a path. If the file is missing it finds all files,
// and reads the whole partition for that.
func (x *call) load(at string) error {
	if err := check(at); err != nil {
		return err
	}
	if x.Blocks != nil {
		blocks, err := x.Blocks.Get(x.ctx, x.scope)
		if err != nil {
			return err
		}
		for _, v := range blocks {
			x.held[coreDir+"/"+v.Block.Name] = file{text: v.Text}
		}
	}
	var found map[string]*store.Record
	one, err := x.Records.Get(x.ctx, x.p, idOf(at))
	switch {
	case err != nil:
		return err
	case len(one) > 0:
		found = map[string]*store.Record{one[0].ID: &one[0]}
	default:
		found, _, err = store.All(x.ctx, x.Records, x.p, func(r *store.Record) { r.Vector = nil })
	}
	for id, r := range found {
		if name, ok := strings.CutPrefix(id, idPrefix); ok {
			x.held[Root+"/"+name] = file{r.Text, r.Version, r.Updated}
		}
	}
	return err
}

// put gives a file another text, or makes a new one. It edits a core block at once, as the agent.
func (x *call) put(at, text string) error {
	old := x.held[at]
	switch {
	case within(at, coreDir):
		edit := x.Blocks.Replace
		if old.text == "" {
			edit = x.Blocks.Append
		}
		_, err := edit(x.ctx, &core.Edit{Scope: x.scope, Block: path.Base(at), Old: old.text, Text: text, IdempotencyKey: x.key})
		return err
	case x.most > 0 && utf8.RuneCountInString(text) > x.most:
		return invalid("the file would have more than %d characters: use several", x.most)
	}
	x.change(store.Put(&store.Record{Memory: backends.Memory{
		ID: idOf(at), Kind: backends.KindCore, Text: text, Scope: x.scope,
		Origin: backends.Origin{Session: x.scope.SessionID, Role: "assistant", Author: backends.AuthorAgent},
	}}), cmp.Or(old.version, store.MustNotExist))
	return check(at)
}

// change adds a change of a record at a version.
func (x *call) change(m store.Mutation, version int64) {
	m.Expect, m.Actor, m.Role = version, cmp.Or(x.scope.AgentID, backends.AuthorAgent), "assistant"
	x.changes = append(x.changes, m)
}

// clean returns a text in the form for the store.
func (x *call) clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	switch {
	case x.Redact != nil:
		text = x.Redact(text)
	case x.p.Kind == backends.PartitionWorkspace:
		text = redact.Shared(text)
	default:
		text = redact.Text(text)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

var (
	legal = regexp.MustCompile(`^/memories(/[^./ ]([^/]*[^/ ])?){0,8}$`)
	// odd matches characters that others may resolve, decode or show as another path: %2e is a dot.
	odd = regexp.MustCompile(`[^\pL\pM\pN\pP\pS ]|\\|%[0-9A-Fa-f]{2}`)
)

// check returns ErrInvalid for an illegal path.
func check(at string) error {
	if len(at) > maxPath || !utf8.ValidString(at) || !legal.MatchString(at) || odd.MatchString(at) {
		return invalid("%.100q is no path here: it begins with %s/, and has at most 8 names and %d bytes; no name is empty, or begins or ends with a space, "+
			"or begins with a dot; no backslashes, percent-encoding or characters that are not shown; no slash at the end", at, Root, maxPath)
	}
	return nil
}

// within reports whether a path is dir or below it.
func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// idOf returns the id of the record of a path.
func idOf(at string) string { return idPrefix + strings.TrimPrefix(at, Root+"/") }

// invalid is an error of the caller's own making. The text says what to do.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s; nothing was changed", backends.ErrInvalid, fmt.Sprintf(format, args...))
}

func notFound(at string) error {
	return fmt.Errorf("%w: there is no file %s: view %s to see what there is", backends.ErrNotFound, at, Root)
}
