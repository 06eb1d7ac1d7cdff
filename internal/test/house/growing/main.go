// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Command growing finds the tests that testkit.Long makes longer, in folders and below. It
// prints a pattern of their names for go test -run, and then their packages, a line each.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	byFolder := map[string]uses{}
	for _, root := range os.Args[1:] {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || left(path) {
				return err
			}
			folder := filepath.Dir(path)
			if byFolder[folder] == nil {
				byFolder[folder] = uses{}
			}
			return byFolder[folder].read(path)
		}); err != nil {
			log.Fatal(err)
		}
	}
	var names, folders []string
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		if tests := byFolder[folder].growing(); len(tests) > 0 {
			names, folders = append(names, tests...), append(folders, "./"+folder)
		}
	}
	fmt.Fprintf(os.Stdout, "^(%s)$\n%s\n", strings.Join(names, "|"), strings.Join(folders, "\n"))
}

// left reports whether a file is of a store whose tests run at full size elsewhere.
func left(path string) bool {
	return strings.Contains(path, "/sqlitestore/") || strings.Contains(path, "/pgstore/")
}

// uses are the names that each function of a package uses.
type uses map[string][]string

const long = "testkit.Long" // also stands for Several

func (u uses) read(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				name := n.Sel.Name
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "testkit" && (name == "Long" || name == "Several") {
					name = long
				}
				u[f.Name.Name] = append(u[f.Name.Name], name)
			case *ast.Ident:
				u[f.Name.Name] = append(u[f.Name.Name], n.Name)
			}
			return true
		})
	}
	return nil
}

// growing returns the tests that use Long, themselves or through other functions.
func (u uses) growing() (tests []string) {
	for name := range u {
		if strings.HasPrefix(name, "Test") && name != "TestMain" && u.reaches(name, map[string]bool{}) {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests
}

func (u uses) reaches(name string, seen map[string]bool) bool {
	if name == long {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(u[name], func(used string) bool { return u.reaches(used, seen) })
}
