// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// errNoFolder is returned for what needs Config.Folder.
var errNoFolder = fmt.Errorf("%w: this server keeps no files: it has no Config.Folder", backends.ErrInvalid)

// local returns a path of a request, cleaned; one that leaves its folder is ErrInvalid.
func local(p string) (string, error) {
	p = path.Clean(p) // "" is "."
	if !filepath.IsLocal(filepath.FromSlash(p)) || strings.ContainsAny(p, "\\\x00") || len(p) > 500 {
		return "", fmt.Errorf("%w: path %.200q: give a short relative one, without \"..\" and backslashes", backends.ErrInvalid, p)
	}
	return p, nil
}

// maxFile is how many bytes of a file are read.
const maxFile = 64 << 20

// readFile returns the contents of a file. What is not there is ErrNotFound, and so is what
// cannot be read, as behind a link that leaves the folder.
func readFile(root *os.Root, p string) (string, error) {
	p, err := local(p)
	if err != nil {
		return "", err
	}
	info, err := root.Stat(p) // opening a pipe would wait
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", fmt.Errorf("%w: no file %.200q", backends.ErrNotFound, p)
	}
	raw, err := root.ReadFile(p)
	if err != nil {
		return "", fmt.Errorf("%w: %w", backends.ErrUnavailable, err)
	}
	return string(raw), nil
}

// writeFile writes a file, with the folders above it.
func writeFile(root *os.Root, p, content string) error {
	err := root.MkdirAll(path.Dir(p), 0o700)
	part := p + "." + backends.NewID()
	if err == nil {
		err = root.WriteFile(part, []byte(content), 0o600)
	}
	if err == nil {
		err = root.Rename(part, p) // it is whole, or not there
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", backends.ErrUnavailable, errors.Join(err, root.Remove(part)))
	}
	return err
}

// workingFolder is where in Config.Folder the files of working memory are: a folder for each
// scope, so that none reads what another stored.
const workingFolder = "working_memory"

// area opens the folder of the scope, and where write is set makes it. It is ErrNotFound if
// there is none.
func (c *call) area(write bool) (*os.Root, error) {
	if c.cfg.Folder == nil {
		return nil, errNoFolder
	}
	s, err := c.scope, error(nil)
	place := path.Join(workingFolder, keeper.HashID(cmp.Or(s.Namespace, backends.DefaultNamespace), s.Workspace, s.UserID, s.AgentID))
	if write {
		err = c.cfg.Folder.MkdirAll(place, 0o700)
	}
	if err == nil {
		var root *os.Root
		if root, err = c.cfg.Folder.OpenRoot(place); err == nil {
			return root, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: no files are stored", backends.ErrNotFound)
		}
	}
	return nil, fmt.Errorf("%w: the folder of working memory: %w", backends.ErrUnavailable, err)
}

// files are where working memory puts what leaves a context. It is a compaction.Archive.
type files struct {
	root      *os.Root // nil: nowhere; the caller writes them
	dir, chat string
	made      map[string]string // contents by path
}

// plainName is a name that is safe on every file system.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// Put implements compaction.Archive: it returns the path of a file, which is never written
// over.
func (f *files) Put(_ context.Context, messages []*schema.Message) (string, error) {
	raw, err := json.MarshalIndent(wires(messages), "", "  ")
	if err != nil {
		return "", err
	}
	content, name, suffix := string(raw), f.chat, "-"+keeper.HashID(string(raw))+".json"
	if m := messages[0]; len(messages) == 1 && m.Role == schema.Tool {
		content, name, suffix = m.Content, m.ToolCallID, ".txt"
	}
	if !plainName.MatchString(name) {
		name = keeper.HashID(name)
	}
	for _, end := range []string{suffix, "-" + keeper.HashID(content) + suffix} {
		p := path.Join(f.dir, name+end)
		held, err := f.read(p)
		if errors.Is(err, backends.ErrNotFound) {
			held, err = content, nil
			if f.root != nil {
				err = writeFile(f.root, p, content)
			}
		}
		if err != nil {
			return "", err
		}
		if held == content {
			f.made[p] = content
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: the file %s has other contents", backends.ErrConflict, name)
}

func (f *files) read(p string) (string, error) {
	if content, ok := f.made[p]; ok {
		return content, nil
	}
	if f.root == nil {
		return "", backends.ErrNotFound
	}
	return readFile(f.root, p)
}
