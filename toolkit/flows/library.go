// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
)

type vectorStore struct {
	Action         string   `json:"action" jsonschema:"list, delete, delete_ids, copy, dump or load"`
	WorkspaceID    string   `json:"workspace_id,omitempty"`
	UserID         string   `json:"user_id,omitempty" jsonschema:"whose personal memories; instead of a workspace"`
	SrcWorkspaceID string   `json:"src_workspace_id,omitempty" jsonschema:"of copy: from where"`
	MemoryIDs      []string `json:"memory_ids,omitempty" jsonschema:"of delete_ids: which"`
	Path           string   `json:"path,omitempty" jsonschema:"of dump and load: a folder of the server, relative"`
}

func (v vectorStore) scope() backends.Scope {
	if v.UserID != "" {
		return backends.Scope{UserID: v.UserID}
	}
	return workspace{v.WorkspaceID}.scope()
}

func (f *Flows) libraryFlows() {
	define(f, Flow{Name: "vector_store", Write: true, Long: true, Description: "Lists, deletes, copies, dumps and loads the memories of a workspace."}, (*call).vectorStore)
}

func (c *call) vectorStore(in vectorStore) (*Response, error) {
	switch in.Action {
	case "list":
		return c.list()
	case "delete":
		var err error
		if c.scope.Workspace == "" {
			personal := backends.Eq("kind", string(backends.KindPersonal))
			_, err = c.memory.DeleteAll(c, &backends.DeleteAllRequest{Scope: c.scope, Filter: &personal})
		} else {
			_, err = c.memory.Library().Delete(c, c.scope)
		}
		return acted("None", err)
	case "delete_ids":
		for _, id := range in.MemoryIDs {
			if err := c.memory.Delete(c, &backends.DeleteRequest{Scope: c.scope, ID: id}); err != nil && !errors.Is(err, backends.ErrNotFound) {
				return nil, err
			}
		}
		return acted("None", nil)
	case "copy":
		from, err := c.open(backends.Scope{Namespace: c.namespace, Workspace: in.SrcWorkspaceID}, false)
		if err != nil {
			return nil, err
		}
		return sized(c.memory.Library().Copy(c, &reme.CopyRequest{From: from, To: c.scope, Merge: true}))
	case "dump":
		return c.dump(in.Path)
	case "load":
		p, err := c.libraryPath(in.Path)
		if err != nil {
			return nil, err
		}
		content, err := readFile(c.cfg.Folder, p)
		if err != nil {
			return nil, err
		}
		return sized(c.memory.Library().Load(c, &reme.LoadRequest{Scope: c.scope}, strings.NewReader(content)))
	}
	return refuse(fmt.Sprintf("unknown action %.40q: use list, delete, delete_ids, copy, dump or load", in.Action), map[string]any{})
}

// acted returns ReMe's result of an action, which is Python's text of it.
func acted(result string, err error) (*Response, error) {
	if err != nil {
		return nil, err
	}
	return reply("", map[string]any{"action_result": result})
}

func sized(r *reme.LoadResponse, err error) (*Response, error) {
	if err == nil && r.Loaded == 0 {
		return refuse("there is no memory", map[string]any{"action_result": "{}"})
	}
	if err != nil {
		return nil, err
	}
	return acted(fmt.Sprintf("{'size': %d}", r.Loaded), nil)
}

func (c *call) list() (*Response, error) {
	r := &backends.ListRequest{Scope: c.scope, Kinds: []backends.Kind{backends.KindTask, backends.KindTool, backends.KindPersonal}, Limit: 1000}
	page, err := c.memory.List(c, r)
	if err != nil {
		return nil, err
	}
	out, err := acted(fmt.Sprintf("{'size': %d}", len(page.Memories)), nil)
	out.Metadata["memory_list"] = c.memories(page.Memories)
	return out, err
}

// libraryPath returns where in Config.Folder the memories of the scope are.
func (c *call) libraryPath(dir string) (string, error) {
	if c.cfg.Folder == nil {
		return "", errNoFolder
	}
	dir, err := local(dir)
	name, first := cmp.Or(c.scope.Workspace, c.scope.UserID), strings.Split(dir, "/")[0]
	switch {
	case err != nil:
		return "", err
	case cmp.Or(c.scope.Namespace, backends.DefaultNamespace) != c.cfg.Namespace:
		return "", fmt.Errorf("%w: this server keeps no files of the namespace", backends.ErrInvalid)
	case strings.EqualFold(first, workingFolder) || strings.ContainsAny(name, `/\`):
		return "", fmt.Errorf("%w: %.200q in %.200q is no place for a library", backends.ErrInvalid, name, dir)
	}
	return path.Join(dir, name+".jsonl"), nil
}

// dump leaves an earlier dump as it is where there is nothing to dump, or it fails.
func (c *call) dump(dir string) (*Response, error) {
	p, err := c.libraryPath(dir)
	if err != nil {
		return nil, err
	}
	var all strings.Builder
	resp, err := c.memory.Library().Dump(c, &reme.DumpRequest{Scope: c.scope}, &all)
	if err != nil {
		return nil, err
	}
	if resp.Memories > 0 {
		err = writeFile(c.cfg.Folder, p, all.String())
	}
	return sized(&reme.LoadResponse{Loaded: resp.Memories}, err)
}
