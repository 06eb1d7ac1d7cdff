// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package files is memory as files: a small tree of texts under /memories that an agent keeps
// by itself, with the commands of Claude's memory tool.
//
//	f, err := files.New(&files.Config{Records: store, Scope: scopeOf})
//	tools := f.Tools() // one tool, named memory, for an Eino agent
//
// [Files.Do] carries out a [Command] for a Go program, and returns what a model reads of it:
//
//	out, err := f.Do(ctx, scope, &files.Command{Command: "view", Path: "/memories"})
//
// Package mcp below toolkit serves the same tool.
//
// # The commands
//
//	view         path, view_range    a directory with sizes, two levels deep; or numbered lines
//	create       path, file_text     a new file; one that exists is refused
//	str_replace  path, old_str, new_str    old_str must occur exactly once
//	insert       path, insert_line, insert_text    behind that line; 0 is the beginning
//	delete       path                a file, or a directory with all below it
//	rename       old_path, new_path  a file or a directory, to where nothing is
//
// Directories are not made: a path has those that its name says.
//
// # Where they are
//
// All files are in one partition: that of the scope's user, else of its agent, else of its
// workspace. Each is a record of kind [backends.KindCore]. No search finds it; it has a history
// with all its former texts, see [Files.History]; it is exported and copied with the partition,
// and erased with it. Forgetting one session erases the files that were last written in it.
// A renamed file begins a new history; the former one is that of its former path.
//
// The core blocks of Config.Blocks are files, too: /memories/core/NAME. They can be edited
// unless they are read-only, within their limits, but not created, deleted or renamed.
//
// Two agents that edit one file at the same time lose nothing: an edit is a compare-and-swap,
// and is made again on top of what the other one wrote. A str_replace whose old text is gone
// then says so.
package files

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/redact"
)

// Root is the directory that all files are in.
const Root = "/memories"

// What a partition may hold.
const (
	MaxRunes = 100_000 // in a file
	MaxFiles = 1000    // in a partition; a few more where several create at the same time
	MaxPath  = 300     // bytes of a path, which has at most 8 names below Root
)

const (
	idPrefix = "files/" // of the ids of the records; the name follows
	coreDir  = "core"   // the directory of the core blocks
)

// Config says where files are kept. It is copied by [New].
type Config struct {
	Records store.Records // Required. Stays the caller's.
	Blocks  *core.Blocks  // Optional. Core blocks, shown as files under /memories/core.

	// Scope says on whose behalf a call of the tool is made. It runs at each call, with the
	// call's context, and must be safe for concurrent use. Required for [Files.Tools].
	Scope func(ctx context.Context) (backends.Scope, error)

	// Redact takes out of a text what must not be stored. It must be safe for concurrent use.
	// Optional. Defaults to nothing for users and agents, and to secrets and personal data for
	// workspaces.
	Redact func(text string) string

	// OnError is called with every failure of the store or the scope in a call of the tool.
	// What a model got wrong is none. Must be safe for concurrent use. Optional. Failures are
	// logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// Files keeps files for any number of users, agents and workspaces. It is safe for concurrent
// use, and holds nothing that has to be closed.
type Files struct {
	Config
	listed *lru.Cache[backends.Partition, *listing]
}

// New returns the files of a configuration, or ErrInvalid for one without Records.
func New(cfg *Config) (*Files, error) {
	if cfg == nil || cfg.Records == nil {
		return nil, fmt.Errorf("files: no Config.Records: %w: pass a store, such as one of sqlitestore.Open", backends.ErrInvalid)
	}
	listed, err := lru.New[backends.Partition, *listing](128)
	return &Files{Config: *cfg, listed: listed}, err
}

// History returns what happened to a file, oldest first: the texts before and after, who
// changed it and when. It still answers for a file that was deleted.
func (f *Files) History(ctx context.Context, s backends.Scope, path string) ([]backends.Event, error) {
	x, err := f.call(ctx, s)
	name, fault := parse(path)
	switch block, ok := strings.CutPrefix(name, coreDir+"/"); {
	case err != nil:
		return nil, err
	case fault != nil:
		return nil, fault
	case ok && f.Blocks != nil:
		return f.Blocks.History(ctx, x.scope, block)
	}
	return f.Records.History(ctx, x.p, idPrefix+name)
}

// call is what one call works on.
type call struct {
	*Files
	ctx   context.Context
	scope backends.Scope
	p     backends.Partition
	key   string // the idempotency key of what it writes
}

func (f *Files) call(ctx context.Context, s backends.Scope) (x *call, err error) {
	x = &call{Files: f, ctx: ctx}
	if x.scope, err = s.Normalize(); err != nil {
		return nil, err
	}
	if s = x.scope; s.UserID == "" && s.AgentID == "" && s.Workspace != "" {
		x.p, err = s.Partition(backends.PartitionWorkspace)
	} else {
		x.p, err = s.Speaker()
	}
	return x, err
}

// clean returns a text as it is stored.
func (x *call) clean(text string) string {
	if text = strings.ReplaceAll(text, "\r\n", "\n"); x.Redact != nil {
		text = x.Redact(text)
	} else if x.p.Kind == backends.PartitionWorkspace {
		text = redact.Shared(text)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

var (
	legal = regexp.MustCompile(`^/memories(/[^./ ]([^/]*[^/ ])?){0,8}$`)
	// odd is what others may resolve, decode or show as another path: %2e is a dot.
	odd = regexp.MustCompile(`[^\pL\pM\pN\pP\pS ]|\\|%[0-9A-Fa-f]{2}`)
)

// parse returns the name of a path below Root, "" for Root itself.
func parse(path string) (string, error) {
	if len(path) > MaxPath || !utf8.ValidString(path) || !legal.MatchString(path) || odd.MatchString(path) {
		return "", invalid("%.100q is no path here: it begins with %s/, and has at most 8 names and %d bytes; no name is empty, or begins or ends with a space, "+
			"or begins with a dot; no backslashes, percent-encoding or characters that are not shown; no slash at the end", path, Root, MaxPath)
	}
	return strings.TrimPrefix(strings.TrimPrefix(path, Root), "/"), nil
}

// pathOf returns the path of a name.
func pathOf(name string) string { return strings.TrimSuffix(Root+"/"+name, "/") }

// within reports whether a name is dir or below it.
func within(name, dir string) bool {
	return dir == "" || name == dir || strings.HasPrefix(name, dir+"/")
}

// listing is the sizes of a partition's files by name, as of a cursor.
type listing struct {
	mu     sync.Mutex
	cursor string
	sizes  map[string]int
}

// names returns the sizes of the files of the partition, and of the scope's core blocks, by
// name. The first call for a partition reads it whole, the next ones what changed.
func (x *call) names() (map[string]int, error) {
	l := &listing{sizes: map[string]int{}}
	if known, ok, _ := x.listed.PeekOrAdd(x.p, l); ok {
		l = known
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for more := true; more; {
		c, err := x.Records.Changes(x.ctx, x.p, l.cursor)
		if err != nil {
			return nil, err
		}
		if c.Reset {
			clear(l.sizes)
		}
		for i := range c.Records {
			if name, ok := strings.CutPrefix(c.Records[i].ID, idPrefix); ok {
				l.sizes[name] = len(c.Records[i].Text)
			}
		}
		for _, id := range c.Removed {
			delete(l.sizes, strings.TrimPrefix(id, idPrefix))
		}
		l.cursor, more = c.Cursor, c.More
	}
	sizes := maps.Clone(l.sizes)
	blocks, err := x.blocks()
	for _, v := range blocks {
		sizes[coreDir+"/"+v.Block.Name] = len(v.Text)
	}
	return sizes, err
}

func (x *call) blocks() ([]core.Value, error) {
	if x.Blocks == nil {
		return nil, nil
	}
	return x.Blocks.Get(x.ctx, x.scope)
}
