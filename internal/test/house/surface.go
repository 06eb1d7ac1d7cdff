// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"strings"
)

// Public counts the packages that a user may import, and their exported names with methods: those
// of the root's module, which are the API of the library, and those of nested modules, which a
// program requires by themselves. Lines, settings and comments are counted over all modules.
func (t *Tree) Public() []Number {
	type surface struct{ dirs, exported tally }
	library, nested := surface{tally{}, tally{}}, surface{tally{}, tally{}}
	for _, f := range t.files {
		if f.test || !public(f.dir()) {
			continue
		}
		of := library
		if t.apart(f.dir()) {
			of = nested
		}
		of.dirs[f.dir()] = 1
		for _, d := range f.syntax.Decls {
			of.exported[f.dir()] += exportedNames(d)
		}
	}
	return []Number{
		library.dirs.number("public packages"), library.exported.number("exported names"),
		nested.dirs.number("public packages of nested modules"), nested.exported.number("exported names of nested modules"),
	}
}

func exportedNames(d ast.Decl) int {
	if fn, ok := d.(*ast.FuncDecl); ok {
		if fn.Name.IsExported() && (fn.Recv == nil || ast.IsExported(receiver(fn.Recv.List[0].Type))) {
			return 1
		}
		return 0
	}
	n := 0
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				n++
			}
		case *ast.ValueSpec:
			n += exportedIn(s.Names)
		}
	}
	return n
}

func exportedIn(names []*ast.Ident) int {
	n := 0
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// Settings counts exported structs whose name ends in Config or Options, in all packages but
// examples and support of tests, and their exported fields. An embedded struct is one field.
func (t *Tree) Settings() (settings, configs Number) {
	fields, structs := tally{}, tally{}
	for _, f := range t.files {
		if f.test || under(f.dir(), "examples") || under(f.dir(), "internal/test") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() || !strings.HasSuffix(spec.Name.Name, "Config") && !strings.HasSuffix(spec.Name.Name, "Options") {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				name := f.dir() + "." + spec.Name.Name
				structs[name] = 1
				for _, field := range body.Fields.List {
					fields[name] += exportedIn(field.Names)
					if field.Names == nil {
						fields[name]++
					}
				}
			}
			return true
		})
	}
	return fields.number("settings"), structs.number("configs")
}
