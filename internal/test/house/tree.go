// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package house measures this module, so that it does not grow unseen: lines, links, names,
// settings, the style of comments, and the files that one step of memory runs through.
// Limits holds what each number may be. `go test -v ./internal/test/house` prints all numbers
// beside their limits, and where most of each stands.
//
// The command walks below it counts files that run, with a binary built for coverage.
package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Module is the path of the root's module.
const Module = "github.com/einomem/einomem"

// A file is one Go file of the tree.
type file struct {
	path   string // from the root, with slashes
	test   bool
	code   map[int]bool // lines on which a token stands that is no comment
	prose  []string     // texts of comments that begin with two slashes
	syntax *ast.File
	lines  func(ast.Node) (first, last int)
}

func (f *file) dir() string { return path.Dir(f.path) }

// A Tree is all Go files below a root, nested modules included.
type Tree struct {
	root   string
	files  []*file
	nested []string // folders of nested modules
}

// Read parses the Go files below root. It leaves out testdata, vendor and hidden folders.
func Read(root string) (*Tree, error) {
	t := &Tree{root: root}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && hidden(p, root):
			return filepath.SkipDir
		case d.Name() == "go.mod" && filepath.Dir(p) != filepath.Clean(root):
			dir, err := filepath.Rel(root, filepath.Dir(p))
			t.nested = append(t.nested, filepath.ToSlash(dir))
			return err
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		f, err := readFile(root, p)
		t.files = append(t.files, f)
		return err
	})
	return t, err
}

// hidden tells folders that hold no packages.
func hidden(p, root string) bool {
	n := filepath.Base(p)
	return p != root && (strings.HasPrefix(n, ".") || n == "testdata" || n == "vendor")
}

func readFile(root, p string) (*file, error) {
	source, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, p)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, p, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{path: filepath.ToSlash(name), test: strings.HasSuffix(p, "_test.go"), syntax: syntax, code: codeLines(source), prose: prose(string(source))}
	f.lines = func(n ast.Node) (int, int) { return set.Position(n.Pos()).Line, set.Position(n.End()).Line }
	return f, nil
}

func codeLines(source []byte) map[int]bool {
	file := token.NewFileSet().AddFile("", 1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // the scanner's own
		}
		for l, last := file.Line(pos), file.Line(pos)+strings.Count(text, "\n"); l <= last; l++ {
			lines[l] = true
		}
	}
}

var commentText = regexp.MustCompile(`(?:^|\s)//(?:\s(.*))?$`)

func prose(source string) []string {
	var out []string
	for line := range strings.SplitSeq(source, "\n") {
		m := commentText.FindStringSubmatch(line)
		if m != nil && !strings.Contains(line, "Copyright") && !strings.Contains(line, "SPDX") {
			out = append(out, m[1])
		}
	}
	return out
}

// support tells packages that no program of a user runs.
func support(dir string) bool {
	return under(dir, "examples") || under(dir, "internal/test") || path.Base(dir) == "storetest"
}

func under(dir, parent string) bool { return dir == parent || strings.HasPrefix(dir, parent+"/") }

// public tells packages that a user may import.
func public(dir string) bool {
	return !under(dir, "examples") && !strings.Contains("/"+dir+"/", "/internal/")
}

// apart tells packages of nested modules.
func (t *Tree) apart(dir string) bool {
	return slices.ContainsFunc(t.nested, func(module string) bool { return under(dir, module) })
}

// tally sums a count over keys, and remembers the largest.
type tally map[string]int

func (t tally) number(name string) Number {
	n := Number{Name: name}
	for _, key := range slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(t[b]-t[a], strings.Compare(a, b)) }) {
		n.Value += float64(t[key])
		if len(n.Biggest) < 20 {
			n.Biggest = append(n.Biggest, fmt.Sprintf("%6d  %s", t[key], key))
		}
	}
	return n
}

// Files is the number of files, with the folders that most of them stand in.
func Files(name string, files []string) Number {
	folders := tally{}
	for _, f := range files {
		folders[path.Dir(f)]++
	}
	return folders.number(name)
}
