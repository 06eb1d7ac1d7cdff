// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/einomem/einomem/backends"
)

// Dir is a folder that files are read from and written to, and never a place
// outside it, whatever a name says: neither "..", nor an absolute path, nor a link
// leads out. It is safe for concurrent use.
type Dir struct{ root *os.Root }

// OpenDir opens a folder, which it creates if need be. Close it after use.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("library: opening folder: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("library: opening folder: %w", err)
	}
	return &Dir{root: root}, nil
}

// Close frees the folder's handle.
func (d *Dir) Close() error { return d.root.Close() }

// longestName is how many bytes of a name are kept: file systems take 255, and
// temporary files have longer ones.
const longestName = 200

// FileName returns the name of a workspace's file: the workspace, percent-encoded
// where it is neither letter, digit, '_', '-' nor a '.' inside, and ".jsonl". One
// that would be longer than 200 bytes is cut, and has a '~' and a hash of the
// workspace instead of the rest. Distinct workspaces have distinct names, which some file
// systems do not tell apart by case alone.
func FileName(workspace string) string {
	name := escape(workspace)
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(workspace))
		name = strings.ToValidUTF8(name[:longestName-33], "") + "~" + hex.EncodeToString(sum[:16])
	}
	return name + ".jsonl"
}

func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '.' && i > 0 {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// open opens a file of the folder.
func (d *Dir) open(name string) (*os.File, error) {
	f, err := d.root.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: no file %q in %s", backends.ErrNotFound, name, d.root.Name())
	case err != nil:
		return nil, fmt.Errorf("opening file %q in %s: %w", name, d.root.Name(), err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, fmt.Errorf("%w: %q in %s is a folder", backends.ErrInvalid, name, d.root.Name())
	}
	return f, nil
}

// replace writes a file and puts it in the place of the one of that name once it is
// complete and on disk. After an error the one that was there still is.
func (d *Dir) replace(name, id string, write func(*os.File) error) (err error) {
	temp := name + "." + id + ".tmp"
	f, err := d.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("creating file %q in %s: %w", temp, d.root.Name(), err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = d.root.Remove(temp)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("writing file %q: %w", temp, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing file %q: %w", temp, err)
	}
	if err := d.root.Rename(temp, name); err != nil {
		return fmt.Errorf("putting file %q in its place: %w", name, err)
	}
	if folder, err := d.root.Open("."); err == nil { // so that the new name is on disk, where folders can be synced
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
}
