// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const top = "../../.."

// readmes are the two languages of the front page.
var readmes = []string{"README.md", "README.zh_CN.md"}

// A document is a page in Markdown, in its parts.
type document struct {
	path, text string
	prose      string   // without blocks
	blocks     []string // with their language in the first line
	headings   []string // their marks
	rows       []string // of tables
}

func read(t *testing.T, path string) *document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	require.NoError(t, err)
	d := &document{path: path, text: string(text)}
	for i, part := range strings.Split(d.text, "```") {
		if i%2 == 1 {
			d.blocks = append(d.blocks, part)
			continue
		}
		d.prose += part
		for line := range strings.SplitSeq(part, "\n") {
			switch {
			case strings.HasPrefix(line, "#"):
				d.headings = append(d.headings, line[:strings.LastIndex(line, "#")+1])
			case strings.HasPrefix(line, "|"):
				d.rows = append(d.rows, line)
			}
		}
	}
	return d
}

// documents are the READMEs and the pages about a subject.
func documents(t *testing.T) (all []*document) {
	t.Helper()
	pages, err := fs.Glob(os.DirFS(top), ".github/docs/*.md")
	require.NoError(t, err)
	for _, path := range append(slices.Clone(readmes), pages...) {
		all = append(all, read(t, path))
	}
	return all
}

var (
	codeSpan  = regexp.MustCompile("`[^`]+`")
	linked    = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	spoken    = regexp.MustCompile(`"[^"]*"|//.*|# .*`)
	qualified = regexp.MustCompile(`\b(?:[a-z][a-z0-9]*|Config)(?:\.[A-Z]\w*)+`)
)

// codes are the parts of a line that are the same in each language.
func codes(line string) []string {
	return slices.Concat(codeSpan.FindAllString(line, -1), targets(line))
}

func targets(text string) (out []string) {
	for _, m := range linked.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestBothREADMEsSayTheSame(t *testing.T) {
	english, chinese := read(t, readmes[0]), read(t, readmes[1])
	for _, d := range []*document{english, chinese} {
		assert.LessOrEqual(t, strings.Count(d.text, "\n"), 150, d.path)
	}
	assert.Equal(t, english.headings, chinese.headings)
	assert.LessOrEqual(t, len(english.rows), 15+2, "rows, with the head")
	require.Len(t, chinese.rows, len(english.rows))
	for i, row := range english.rows {
		assert.ElementsMatch(t, codes(row), codes(chinese.rows[i]), "%s\n%s", row, chinese.rows[i])
	}
	assert.ElementsMatch(t, targets(english.prose)[1:], targets(chinese.prose)[1:], "all links but the one to the other language")
	require.Len(t, chinese.blocks, len(english.blocks))
	for i, block := range english.blocks {
		if !strings.HasPrefix(block, "\n") { // not a note
			assert.Equal(t, spoken.ReplaceAllString(block, ""), spoken.ReplaceAllString(chinese.blocks[i], ""), "but for comments and what is said")
		}
	}
}

func TestTheNotesOfTheREADMEsAreThoseOfTheExample(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(top, "example_note_test.go"))
	require.NoError(t, err)
	output := strings.ReplaceAll(string(source), "\t// ", "")
	for _, path := range readmes {
		notes := slices.DeleteFunc(read(t, path).blocks, func(block string) bool { return !strings.HasPrefix(block, "\n") })
		require.Len(t, notes, 1)
		assert.Contains(t, output, notes[0])
	}
}

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	for _, d := range documents(t) {
		for _, to := range targets(d.prose) {
			if !strings.Contains(to, "://") {
				assert.FileExists(t, filepath.Join(top, filepath.Dir(d.path), to), d.path)
			}
		}
	}
}

// values are names that documents use without a package.
var values = []struct{ value, of string }{
	{"mem.Facts.", "mem0.Backend."}, {"mem.Facts", "einomem.Memory.Facts"}, {"mem.", "middleware.MemoryMiddleware."}, {"Config.", "hooks.Config."},
}

func TestGoDocFindsTheNamesOfDocuments(t *testing.T) {
	tree, err := Read(top)
	require.NoError(t, err)
	packages, declared := declarations(tree)
	seen := 0
	for _, d := range documents(t) {
		for _, span := range codeSpan.FindAllString(d.prose, -1) {
			for _, name := range qualified.FindAllString(span, -1) {
				for _, v := range values {
					if rest, ok := strings.CutPrefix(name, v.value); ok {
						name = v.of + rest
						break
					}
				}
				if of, _, _ := strings.Cut(name, "."); packages[of] {
					seen++
					assert.True(t, declared[name], "%s: %s: there is no %s", d.path, span, name)
				}
			}
		}
	}
	assert.Greater(t, seen, 50)
}

// declarations are the public packages by their names, and what is declared in them, as
// package.Name, package.Type.Method and package.Type.Field.
func declarations(tree *Tree) (packages, declared map[string]bool) {
	packages, declared = map[string]bool{}, map[string]bool{}
	for _, f := range tree.files {
		if f.test || !public(f.dir()) && f.dir() != "examples/demomodel" {
			continue
		}
		of := f.syntax.Name.Name
		packages[of] = true
		add := func(names ...string) { declared[strings.Join(append([]string{of}, names...), ".")] = true }
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name.Name)
				} else {
					add(receiver(d.Recv.List[0].Type), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					declare(s, add)
				}
			}
		}
	}
	return packages, declared
}

func declare(s ast.Spec, add func(...string)) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			add(n.Name)
		}
	case *ast.TypeSpec:
		add(s.Name.Name)
		var fields *ast.FieldList
		switch body := s.Type.(type) {
		case *ast.StructType:
			fields = body.Fields
		case *ast.InterfaceType:
			fields = body.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, n := range field.Names {
				add(s.Name.Name, n.Name)
			}
		}
	}
}

func TestEachPublicPackageHasAnExample(t *testing.T) {
	tree, err := Read(top)
	require.NoError(t, err)
	has := map[string]bool{}
	for _, f := range tree.files {
		if dir := f.dir(); public(dir) {
			has[dir] = has[dir] || f.test && slices.ContainsFunc(f.syntax.Decls, isExample)
		}
	}
	for dir, ok := range has {
		if dir != "toolkit/server/rest/pagetest" && dir != "backends/remote/redistest" { // no libraries: they drive a browser and a server
			assert.True(t, ok, "no example of package %s", dir)
		}
	}
}

func isExample(d ast.Decl) bool {
	fn, ok := d.(*ast.FuncDecl)
	return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
}
