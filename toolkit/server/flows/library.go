// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/toolkit/server/access"
)

type vectorStore struct {
	owner
	Action         string   `json:"action" jsonschema:"list, delete, delete_ids, copy, dump or load"`
	SrcWorkspaceID string   `json:"src_workspace_id,omitempty" jsonschema:"of copy: from where"`
	MemoryIDs      []string `json:"memory_ids,omitempty" jsonschema:"of delete_ids: which"`
	Path           string   `json:"path,omitempty" jsonschema:"of dump and load: a folder of the server, relative"`
}

// vectorStore answers with ReMe's result of an action, as Python prints it.
func (c *call) vectorStore(in vectorStore) (*Response, error) {
	size, metadata := -1, map[string]any{"action_result": "None"}
	err := c.openFor(in.Action)
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "list":
		var lines string
		lines, size, err = c.lines()
		metadata["memory_list"] = json.RawMessage("[" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") + "]")
	case "delete":
		_, err = c.memory.Library().Delete(c, c.scope)
	case "delete_ids":
		for _, id := range in.MemoryIDs {
			gone := c.memory.Delete(c, &backends.DeleteRequest{Scope: c.scope, ID: id})
			if !errors.Is(gone, backends.ErrNotFound) {
				err = errors.Join(err, gone)
			}
		}
	case "copy":
		size, err = c.copyFrom(in.SrcWorkspaceID)
	case "dump":
		size, err = c.dump(in.Path)
	case "load":
		size, err = c.load(in.Path)
	default:
		return refuse(fmt.Sprintf("unknown action %.40q: use list, delete, delete_ids, copy, dump or load", in.Action), map[string]any{})
	}
	if err != nil {
		return nil, err
	}
	if size >= 0 {
		metadata["action_result"] = fmt.Sprintf("{'size': %d}", size)
	}
	if size == 0 && in.Action != "list" {
		return refuse("there is no memory", metadata)
	}
	return reply("", metadata)
}

// wholly are the actions on all of a scope, with their modes.
var wholly = map[string]access.Mode{"delete": access.Write | access.Whole, "copy": access.Write, "dump": access.Whole, "load": access.Write}

// openFor opens the scope for an action. An action on a whole workspace needs an admin, and so does
// a file that anybody may have written.
func (c *call) openFor(action string) (err error) {
	m, ok := wholly[action]
	if !ok {
		return nil
	}
	if c.scope.Workspace != "" || action == "load" {
		m |= access.Program
	}
	if c.scope.Workspace != "" {
		c.scope.UserID, c.scope.AgentID = "", "" // it is the program's, and no member's
	}
	c.scope, err = c.open(c.scope, m)
	return err
}

// lines returns the memories of the scope, one a line, and how many they are.
func (c *call) lines() (string, int, error) {
	var out strings.Builder
	r, err := c.memory.Library().Dump(c, &reme.DumpRequest{Scope: c.scope}, &out)
	if err != nil {
		return "", 0, err
	}
	return out.String(), r.Memories, nil
}

func loaded(r *reme.LoadResponse, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return r.Loaded, nil
}

func (c *call) copyFrom(workspace string) (int, error) {
	from, err := c.open(backends.Scope{Namespace: c.namespace, Workspace: workspace}, access.Whole)
	if err != nil {
		return 0, err
	}
	return loaded(c.memory.Library().Copy(c, &reme.CopyRequest{From: from, To: c.scope, Merge: true}))
}

// The endings of dumps. They keep files of users and workspaces apart, whatever their ids.
const (
	endOfDump     = ".jsonl"
	endOfUserDump = ".jsonl.user"
	endOfPart     = ".part" // of an incomplete file
)

// dumpName returns the name of the dump of a user or a workspace.
func dumpName(p backends.Partition) string {
	if p.Kind == backends.PartitionUser {
		return p.ID + endOfUserDump
	}
	return p.ID + endOfDump
}

// libraryFile returns the path of the memories of the scope, in a folder of Config.Folder.
func (c *call) libraryFile(folder string) (string, error) {
	p := backends.Partition{Kind: backends.PartitionWorkspace, ID: c.scope.Workspace}
	if p.ID == "" {
		p = backends.Partition{Kind: backends.PartitionUser, ID: c.scope.UserID}
	}
	if name := p.ID; cmp.Or(c.scope.Namespace, backends.DefaultNamespace) != backends.DefaultNamespace || strings.Contains(name, "/") {
		return "", fmt.Errorf("%w: no files are kept of %.200q in the namespace %.200q", backends.ErrInvalid, name, c.scope.Namespace)
	}
	return path.Join(folder, dumpName(p)), nil
}

// dump leaves an earlier dump as it is if there is nothing to dump, or after a failure.
func (c *call) dump(folder string) (int, error) {
	file, err := c.libraryFile(folder)
	if err != nil {
		return 0, err
	}
	for written := ""; ; { // again, if somebody was forgotten meanwhile
		lines, size, err := c.lines()
		switch {
		case err != nil, lines == written:
			return size, err
		case size == 0:
			return 0, c.cfg.Folder.Remove(file)
		}
		if err := c.writeFile("", file, lines); err != nil {
			return 0, err
		}
		written = lines
	}
}

func (c *call) load(folder string) (int, error) {
	file, err := c.libraryFile(folder)
	if err != nil {
		return 0, err
	}
	lines, err := c.readFile("", file)
	if err != nil {
		return 0, err
	}
	return loaded(c.memory.Library().Load(c, &reme.LoadRequest{Scope: c.scope}, strings.NewReader(lines)))
}

// place returns the place in Config.Folder of a request's path, which is relative to a folder in
// there.
func (f *Flows) place(folder, p string) (string, error) {
	if f.cfg.Folder == nil {
		return "", fmt.Errorf("%w: this server keeps no files: it has no Config.Folder", backends.ErrInvalid)
	}
	p = path.Clean(p) // "" is "."
	if !filepath.IsLocal(filepath.FromSlash(p)) || strings.HasPrefix(p, ".") || strings.ContainsAny(p, "\\\x00") || len(p) > 500 {
		return "", fmt.Errorf("%w: path %.200q: give a relative one, without backslashes and hidden folders", backends.ErrInvalid, p)
	}
	return path.Join(folder, p), nil
}

// readFile returns the contents of a file. An unreadable one, such as a link that leaves the
// folder, is ErrNotFound.
func (f *Flows) readFile(folder, p string) (string, error) {
	place, err := f.place(folder, p)
	if err != nil {
		return "", err
	}
	raw, err := f.cfg.Folder.ReadFile(place)
	if err != nil {
		return "", fmt.Errorf("%w: no file %.200q", backends.ErrNotFound, p)
	}
	return string(raw), nil
}

// writeFile writes a file, with the folders above it, unless the person was forgotten since the
// call began.
func (c *call) writeFile(folder, p, content string) error {
	place, err := c.place(folder, p)
	if err != nil {
		return err
	}
	c.files.Lock()
	defer c.files.Unlock()
	if err := c.replace(place, content); err != nil {
		return err
	}
	return c.written(func() error { return c.cfg.Folder.Remove(place) })
}

// replace writes a file at a place, over an earlier one.
func (f *Flows) replace(place, content string) error {
	root, part := f.cfg.Folder, place+"."+backends.NewID()+endOfPart
	err := root.MkdirAll(path.Dir(place), 0o700)
	if err == nil {
		err = root.WriteFile(part, []byte(content), 0o600)
	}
	if err == nil {
		err = root.Rename(part, place) // it appears as a whole
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backends.ErrUnavailable, errors.Join(err, root.Remove(part)))
	}
	return nil
}
