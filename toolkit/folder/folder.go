// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package folder is memory as the file system of Eino's own middlewares. A [Folder] is a backend of
// Eino's adk/filesystem, in Eino 0.8 and 0.9, over the files of package toolkit/server/files:
//
//	disk, err := folder.New(&files.Config{Records: store, Scope: mem.ResolveScope})
//
//	filesystem.New(ctx, &filesystem.MiddlewareConfig{Backend: disk})        // ls, read_file, write_file, edit_file, glob, grep
//	skill.NewBackendFromFilesystem(ctx, &skill.BackendFromFilesystemConfig{Backend: disk, BaseDir: "/skills"})
//	reduction.New(ctx, &reduction.Config{Backend: disk})                    // long results of tools, out of the context
//	agentsmd.New(ctx, &agentsmd.Config{Backend: disk, AgentsMDFiles: []string{"/AGENTS.md"}})
//
// One Folder serves all users: each call finds the scope of its run, and sees the files of its user
// alone, else of its agent, else of its workspace. A Scope that returns nothing but a workspace
// shares one tree in a team. [Folder.PerSession] has a tree for each session.
//
// # Paths
//
// The root "/" is /memories of the memory tool of package files: one tree, which both can write.
// Paths are relative to the root, and stay below it. They have the limits of that package: 8 names
// that begin with no dot. Core blocks are the files below /core.
//
// # What happens to files
//
// A file is a record of the store: durable, redacted, exported and copied with its partition, and
// erased as its person is forgotten. [Folder.History] has its former texts. Forgetting a session
// erases the files that were last written in it.
//
// # Limits
//
// A Folder holds texts alone. Eino's Shell and MultiModalReader, for commands and pictures, are left
// out: the compiler or filesystem.New says so. Patterns of grep have Go's syntax. plantask wants
// names that begin with a dot, and to delete: it needs another backend.
//
// Eino ends a run with the error of such a tool. A program that would rather tell the model wraps
// them: see compose.ToolsNodeConfig.ToolCallMiddlewares.
//
// Writing in a run under backends.Incognito is ErrInvalid.
package folder

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/adk/filesystem"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/toolkit/server/files"
)

// Folder is a file system for any number of users, agents and workspaces. It is safe for concurrent
// use, and needs no Close.
type Folder struct {
	files      *files.Files
	perSession bool
}

var _ filesystem.Backend = (*Folder)(nil)

// New returns the file system of a configuration. Records and Scope are required: ErrInvalid.
func New(cfg *files.Config) (*Folder, error) {
	f, err := files.New(cfg)
	if err == nil && cfg.Scope == nil {
		err = fmt.Errorf("%w: no Config.Scope: pass a function that returns the scope of a call, such as ResolveScope of a middleware", backends.ErrInvalid)
	}
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	return &Folder{files: f}, nil
}

// PerSession returns the file system of each session: a directory below /sessions of the whole. A
// call whose scope has no session is ErrNoScope.
func (f *Folder) PerSession() *Folder { return &Folder{f.files, true} }

// LsInfo implements filesystem.Backend: the files and directories of a directory, by their names.
func (f *Folder) LsInfo(ctx context.Context, r *filesystem.LsInfoRequest) ([]filesystem.FileInfo, error) {
	t, err := f.tree(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	infos, err := t.copied.LsInfo(ctx, r)
	if t.changed[clean(r.Path)] != (time.Time{}) { // it is a file
		return t.date(path.Dir(clean(r.Path)), infos), err
	}
	return t.date(r.Path, infos), err
}

// Read implements filesystem.Backend. A missing file is ErrNotFound and os.ErrNotExist.
func (f *Folder) Read(ctx context.Context, r *filesystem.ReadRequest) (*filesystem.FileContent, error) {
	t, err := f.tree(ctx, r.FilePath)
	if err != nil {
		return nil, err
	}
	if _, ok := t.changed[clean(r.FilePath)]; !ok {
		return nil, notFound(r.FilePath)
	}
	return t.copied.Read(ctx, r)
}

// GrepRaw implements filesystem.Backend. Lines are in the order of paths and numbers.
func (f *Folder) GrepRaw(ctx context.Context, r *filesystem.GrepRequest) ([]filesystem.GrepMatch, error) {
	t, err := f.tree(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	found, err := t.copied.GrepRaw(ctx, r)
	slices.SortStableFunc(found, func(a, b filesystem.GrepMatch) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		return a.Line - b.Line
	})
	return found, err
}

// GlobInfo implements filesystem.Backend. Paths are relative to the request's, unless the pattern is
// absolute.
func (f *Folder) GlobInfo(ctx context.Context, r *filesystem.GlobInfoRequest) ([]filesystem.FileInfo, error) {
	dir := r.Path
	if path.IsAbs(r.Pattern) {
		dir = "/"
	}
	t, err := f.tree(ctx, dir)
	if err != nil {
		return nil, err
	}
	infos, err := t.copied.GlobInfo(ctx, r)
	return t.date(dir, infos), err
}

// Write implements filesystem.Backend: it makes a file, or replaces all its text.
func (f *Folder) Write(ctx context.Context, r *filesystem.WriteRequest) error {
	return f.update(ctx, r.FilePath, func(string, bool) (string, error) { return r.Content, nil })
}

// Edit implements filesystem.Backend. It repeats itself on top of what others write meanwhile. A
// missing file is an error as of Read; a text that does not occur once is ErrInvalid.
func (f *Folder) Edit(ctx context.Context, r *filesystem.EditRequest) error {
	return f.update(ctx, r.FilePath, func(before string, exists bool) (string, error) {
		switch n := strings.Count(before, r.OldString); {
		case !exists:
			return "", notFound(r.FilePath)
		case r.OldString == "" || r.OldString == r.NewString:
			return "", fmt.Errorf("%w: the old text is empty, or equal to the new one", backends.ErrInvalid)
		case n == 0:
			return "", fmt.Errorf("%w: the old text does not occur in %s: read it, and copy the text without line numbers", backends.ErrInvalid, r.FilePath)
		case n > 1 && !r.ReplaceAll:
			return "", fmt.Errorf("%w: the old text occurs %d times in %s: copy more around the one that is meant, or replace all", backends.ErrInvalid, n, r.FilePath)
		}
		return strings.ReplaceAll(before, r.OldString, r.NewString), nil
	})
}

// History returns the events of a file of the run's scope, oldest first, as [files.Files.History]
// does: former texts, who changed it and when.
func (f *Folder) History(ctx context.Context, at string) ([]backends.Event, error) {
	s, root, err := f.root(ctx)
	if err != nil {
		return nil, err
	}
	return f.files.History(ctx, s, path.Join(root, clean(at)))
}

// root returns the scope of a call, and the directory that is its root.
func (f *Folder) root(ctx context.Context) (backends.Scope, string, error) {
	s, err := f.files.Scope(ctx)
	switch {
	case err != nil:
		return s, "", fmt.Errorf("folder: %w", err)
	case !f.perSession:
		return s, files.Root, nil
	case s.SessionID == "":
		return s, "", fmt.Errorf("folder: %w: the scope has no session", backends.ErrNoScope)
	}
	return s, path.Join(files.Root, "sessions", text.HashID(s.SessionID)), nil
}

func (f *Folder) update(ctx context.Context, at string, change func(before string, exists bool) (string, error)) error {
	if backends.IsIncognito(ctx) {
		return fmt.Errorf("folder: %w: this turn is not to be remembered: %s was not written", backends.ErrInvalid, at)
	}
	s, root, err := f.root(ctx)
	if err != nil {
		return err
	}
	if err := f.files.Update(ctx, s, path.Join(root, clean(at)), change); err != nil {
		return fmt.Errorf("folder: writing %s: %w", at, err)
	}
	return nil
}

// tree is what a call sees: files by their paths below its root, copied into Eino's own backend,
// which lists and searches.
type tree struct {
	copied  *filesystem.InMemoryBackend
	changed map[string]time.Time
}

// tree finds the file at a path, or the files below a directory.
func (f *Folder) tree(ctx context.Context, at string) (*tree, error) {
	s, root, err := f.root(ctx)
	if err != nil {
		return nil, err
	}
	found, err := f.files.Tree(ctx, s, path.Join(root, clean(at)))
	if err != nil {
		return nil, fmt.Errorf("folder: reading %s: %w", at, err)
	}
	t := &tree{filesystem.NewInMemoryBackend(), map[string]time.Time{}}
	for _, one := range found {
		name := strings.TrimPrefix(one.Path, root)
		t.changed[name] = one.Changed
		if err := t.copied.Write(ctx, &filesystem.WriteRequest{FilePath: name, Content: one.Text}); err != nil {
			return nil, fmt.Errorf("folder: reading %s: %w", at, err)
		}
	}
	return t, nil
}

// date gives what was found in a directory the times of the store, and an order.
func (t *tree) date(dir string, infos []filesystem.FileInfo) []filesystem.FileInfo {
	for i := range infos {
		at, last := infos[i].Path, time.Time{}
		if !path.IsAbs(at) {
			at = path.Join(clean(dir), at)
		}
		for name, changed := range t.changed {
			if changed.After(last) && (name == at || strings.HasPrefix(name, at+"/")) {
				last = changed
			}
		}
		if infos[i].ModifiedAt = ""; !last.IsZero() {
			infos[i].ModifiedAt = last.UTC().Format(time.RFC3339Nano)
		}
	}
	slices.SortFunc(infos, func(a, b filesystem.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return infos
}

// clean returns a path from the root, whatever dots are in it.
func clean(at string) string { return path.Clean("/" + at) }

func notFound(at string) error {
	return fmt.Errorf("folder: %w: %w: there is no file %s", backends.ErrNotFound, os.ErrNotExist, at)
}
