// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// Place returns the files of Config.Folder as a place where people are forgotten: their working
// memory, their dumps, and in dumps of workspaces the memories that are gone. Packages rest and
// mcp name it to the memory that they serve. It does nothing without a Folder.
func (f *Flows) Place() backends.Place { return backends.Place{Name: "files", Forget: f.forget} }

func (f *Flows) forget(ctx context.Context, r *backends.ForgetRequest, gone *backends.Receipt) (n int, err error) {
	if f.cfg.Folder == nil {
		return 0, nil
	}
	f.files.Lock()
	defer f.files.Unlock()
	folders, err := f.foldersOf(ctx, gone.Partition)
	for _, folder := range folders {
		inside, _ := fs.Glob(f.cfg.Folder.FS(), folder)
		if len(inside) == 0 {
			continue
		}
		_ = fs.WalkDir(f.cfg.Folder.FS(), folder, func(_ string, d fs.DirEntry, err error) error { // it counts
			if err == nil && !d.IsDir() {
				n++
			}
			return nil
		})
		err = errors.Join(err, f.cfg.Folder.RemoveAll(folder))
	}
	dumps, failed := f.forgetDumps(r.Part == nil, gone)
	return n + dumps, errors.Join(err, failed)
}

// forgetDumps removes the dumps of a person, if all of them is forgotten, and from the dumps of
// others the memories that are gone.
func (f *Flows) forgetDumps(all bool, gone *backends.Receipt) (n int, err error) {
	own := dumpName(gone.Partition)
	ids := gone.Gone()
	err = fs.WalkDir(f.cfg.Folder.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular(): // a link is a way out, perhaps
			return nil
		case strings.HasSuffix(at, endOfPart), d.Name() == own && all: // the first is what a crash left
			n++
			return f.cfg.Folder.Remove(at)
		case !strings.HasSuffix(at, endOfDump) && !strings.HasSuffix(at, endOfUserDump):
			return nil
		}
		lines, err := f.cfg.Folder.ReadFile(at)
		kept := bytes.Join(slices.DeleteFunc(bytes.SplitAfter(lines, []byte("\n")), func(line []byte) bool {
			var of struct {
				ID string `json:"memory_id"`
			}
			return json.Unmarshal(line, &of) == nil && slices.Contains(ids, of.ID)
		}), nil)
		if err != nil || len(kept) == len(lines) {
			return err
		}
		n++
		return f.replace(at, string(kept))
	})
	return n, err
}

// foldersOf returns the folders of working memory that a user, an agent or a workspace may have:
// their own, and those of earlier builds, which had one for each scope.
func (f *Flows) foldersOf(ctx context.Context, p backends.Partition) ([]string, error) {
	folders, parts := []string{ownFolder(p)}, map[backends.PartitionKind][]string{backends.PartitionWorkspace: {""}, backends.PartitionAgent: {""}}
	err := store.Each(func(page store.Page) (*store.PartitionPage, error) {
		return f.memory.Keeper().Store().Partitions(ctx, p.Namespace, page)
	}, func(other backends.Partition) error {
		parts[other.Kind] = append(parts[other.Kind], other.ID)
		return nil
	})
	for _, workspace := range parts[backends.PartitionWorkspace] {
		for _, agent := range parts[backends.PartitionAgent] {
			s := p.Scope()
			if s.UserID == "" && s.AgentID == "" && s.Workspace != workspace || s.UserID == "" && s.AgentID != "" && s.AgentID != agent {
				continue
			}
			s.Workspace, s.AgentID = workspace, agent
			folders = append(folders, formerFolder(s))
		}
	}
	return folders, err
}

// hidden is the folder of working memory. No library is in there.
const hidden = ".working_memory"

// ownFolder returns the folder with all working memory of a user, an agent or a workspace.
func ownFolder(p backends.Partition) string {
	return path.Join(hidden, string(p.Kind)+"-"+keeper.HashID(p.Namespace, p.ID))
}

// formerFolder returns the folder that earlier builds had for a scope.
func formerFolder(s backends.Scope) string {
	return path.Join(hidden, keeper.HashID(cmp.Or(s.Namespace, backends.DefaultNamespace), s.Workspace, s.UserID, s.AgentID))
}

// filesFolder returns where in Config.Folder the files of the scope are: a folder for each, so
// that none reads what another stored, in that of the person. What an earlier build left moves
// there.
func (c *call) filesFolder() (string, error) {
	p, err := keeper.Whom(c.scope)
	if err != nil {
		return "", err
	}
	folder, former := path.Join(ownFolder(p), keeper.HashID(c.scope.Workspace, c.scope.AgentID)), formerFolder(c.scope)
	if c.cfg.Folder == nil {
		return folder, nil
	}
	if _, err := c.cfg.Folder.Stat(former); err == nil {
		if err = c.cfg.Folder.MkdirAll(path.Dir(folder), 0o700); err == nil {
			err = c.cfg.Folder.Rename(former, folder)
		}
		if err != nil {
			return "", fmt.Errorf("%w: moving the files of an earlier build: %w", backends.ErrUnavailable, err)
		}
	}
	return folder, nil
}

// written removes a file again, by remove, where the person was forgotten while it was written.
func (c *call) written(remove func() error) error {
	p, err := keeper.Whom(c.scope)
	if err != nil {
		return err
	}
	life, err := c.memory.Keeper().Store().Life(c, p)
	if err == nil && !store.Alive(c, p, life) {
		err = fmt.Errorf("%w: %s was forgotten since this began", backends.ErrForgotten, p)
	}
	if err != nil {
		err = errors.Join(err, remove())
	}
	return err
}
