// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
)

// Place returns the files of Config.Folder as a place of people's data. Forgetting removes their
// working memory, their dumps, and the erased memories in dumps of workspaces. Packages rest and
// mcp register it with the memory that they serve. It does nothing without a Folder.
func (f *Flows) Place() backends.Place { return backends.Place{Name: "files", Forget: f.forget} }

func (f *Flows) forget(_ context.Context, r *backends.ForgetRequest, gone *backends.Receipt) (n int, err error) {
	if f.cfg.Folder == nil {
		return 0, nil
	}
	f.files.Lock()
	defer f.files.Unlock()
	folder := ownFolder(gone.Partition)
	_ = fs.WalkDir(f.cfg.Folder.FS(), folder, func(_ string, d fs.DirEntry, err error) error { // it only counts
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	err = f.cfg.Folder.RemoveAll(folder)
	dumps, failed := f.forgetDumps(r.Part == nil, gone)
	return n + dumps, errors.Join(err, failed)
}

// forgetDumps removes the dumps of a person, if all of them is forgotten, and the erased memories
// from the dumps of others.
func (f *Flows) forgetDumps(all bool, gone *backends.Receipt) (n int, err error) {
	own := dumpName(gone.Partition)
	ids := gone.Gone()
	err = fs.WalkDir(f.cfg.Folder.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular(): // a link may lead outside
			return nil
		case strings.HasSuffix(at, endOfPart), d.Name() == own && all: // the first is left from a crash
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

// hidden is the folder of working memory. Libraries are outside of it.
const hidden = ".working_memory"

// ownFolder returns the folder with all working memory of a user, an agent or a workspace.
func ownFolder(p backends.Partition) string {
	return path.Join(hidden, string(p.Kind)+"-"+text.HashID(p.Namespace, p.ID))
}

// filesFolder returns the folder of the scope's files in Config.Folder. It is a separate one below
// the person's, so that scopes cannot read each other's files.
func (c *call) filesFolder() (string, error) {
	p, err := c.scope.Owner()
	return path.Join(ownFolder(p), text.HashID(c.scope.Workspace, c.scope.AgentID)), err
}

// checkFolder refuses a folder with working memory of an earlier build, whose names lack the
// person: forgetting the person would miss it.
func checkFolder(folder *os.Root) error {
	if folder == nil {
		return nil
	}
	held, _ := fs.ReadDir(folder.FS(), hidden) // it is missing before the first file
	for _, d := range held {
		kind, _, _ := strings.Cut(d.Name(), "-")
		if !slices.Contains([]string{"user", "agent", "workspace"}, kind) {
			return fmt.Errorf("%w: %s/%s in Config.Folder is of an earlier build, which did not name its owner: move it elsewhere or remove it", backends.ErrInvalid, hidden, d.Name())
		}
	}
	return nil
}

// written removes a file again, by remove, if the person was forgotten during the writing.
func (c *call) written(remove func() error) error {
	p, err := c.scope.Owner()
	if err != nil {
		return err
	}
	epoch, err := c.memory.Sessions().Epoch(c, p)
	if err == nil && !store.Alive(c, p, epoch) {
		err = fmt.Errorf("%w: %s was forgotten since this began", backends.ErrForgotten, p)
	}
	if err != nil {
		err = errors.Join(err, remove())
	}
	return err
}
