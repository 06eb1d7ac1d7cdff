// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Modules are the folders of the modules below root that have packages for users.
func Modules(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && hidden(p, root):
			return filepath.SkipDir
		case d.Name() != "go.mod":
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(p))
		if public(filepath.ToSlash(dir)) {
			dirs = append(dirs, filepath.Dir(p))
		}
		return err
	})
	return dirs, err
}

// Internals lists the places where an exported signature of a public package names a type of
// an internal one: parameters, results, fields, values, aliases, constraints, and methods, also
// promoted ones. It looks into the modules in the given folders.
func Internals(modules ...string) (Number, error) {
	places := tally{}
	for _, dir := range modules {
		packages, err := compiled(dir)
		if err != nil {
			return Number{}, err
		}
		for _, p := range packages {
			signatures(p, places)
		}
	}
	return places.number("internal types in exported signatures"), nil
}

// compiled are the packages for users of one module, as the compiler exports them.
func compiled(dir string) ([]*types.Package, error) {
	listed, err := goList(dir, "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}={{and .Module .Module.Main (ne .Name \"main\")}}", "./...")
	if err != nil {
		return nil, err
	}
	exports, names := map[string]string{}, []string{}
	for _, l := range listed {
		f := strings.Split(l, "=")
		exports[f[0]] = f[1]
		if f[1] != "" && f[2] == "true" && public(strings.TrimPrefix(f[0], Module+"/")) {
			names = append(names, f[0])
		}
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
	var packages []*types.Package
	for _, name := range names {
		p, err := imp.Import(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// signatures adds the places of one package.
func signatures(p *types.Package, places tally) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		s := &signature{pkg: p, seen: map[types.Type]bool{}, found: func(place string, t *types.TypeName) {
			places[strings.TrimPrefix(p.Path(), Module+"/")+": "+place+" names "+strings.TrimPrefix(t.Pkg().Path(), Module+"/")+"."+t.Name()] = 1
		}}
		if t, ok := o.(*types.TypeName); ok {
			s.declared(name, t)
		} else {
			s.visit(name, o.Type())
		}
	}
}

// A signature is the walk through one exported object.
type signature struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	found func(place string, t *types.TypeName)
}

func (s *signature) declared(place string, o *types.TypeName) {
	if o.IsAlias() {
		s.visit(place, types.Unalias(o.Type()))
		return
	}
	s.open(place, o.Type().(*types.Named))
}

// open visits what a user sees of a type of the package: its fields or its underlying type, its
// constraints, and its methods.
func (s *signature) open(place string, t *types.Named) {
	s.seen[t] = true
	for p := range t.TypeParams().TypeParams() {
		s.visit(place, p.Constraint())
	}
	s.visit(place, t.Underlying())
	methods := types.NewMethodSet(types.NewPointer(t))
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			s.visit(place+"."+m.Obj().Name(), m.Type())
		}
	}
}

func (s *signature) visit(place string, t types.Type) {
	t = types.Unalias(t)
	if s.seen[t] {
		return
	}
	switch t := t.(type) {
	case *types.Named:
		s.named(place, t)
	case *types.Map:
		s.visit(place, t.Key())
		s.visit(place, t.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		s.visit(place, t.Elem())
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			s.visit(place, p.Constraint())
		}
		s.visit(place, t.Params())
		s.visit(place, t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			s.visit(place, v.Type())
		}
	case *types.Struct:
		s.fields(place, t)
	case *types.Interface:
		for m := range t.Methods() {
			s.visit(place+"."+m.Name(), m.Type())
		}
		for e := range t.EmbeddedTypes() {
			s.visit(place, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			s.visit(place, term.Type())
		}
	}
}

// fields visits the exported fields of a struct. The promoted methods of an unexported embedded
// field are visited elsewhere, its fields here.
func (s *signature) fields(place string, t *types.Struct) {
	for f := range t.Fields() {
		switch {
		case f.Exported():
			s.visit(place+"."+f.Name(), f.Type())
		case f.Embedded():
			embedded := f.Type()
			if p, ok := embedded.(*types.Pointer); ok {
				embedded = p.Elem()
			}
			if inner, ok := embedded.Underlying().(*types.Struct); ok {
				s.fields(place, inner)
			}
		}
	}
}

func (s *signature) named(place string, t *types.Named) {
	for arg := range t.TypeArgs().Types() {
		s.visit(place, arg)
	}
	o := t.Obj()
	switch {
	case o.Pkg() == nil || o.Pkg() == s.pkg && o.Exported(): // visited by itself
	case o.Pkg() == s.pkg: // unexported, yet users hold its values
		s.open(place, t)
	case strings.HasPrefix(o.Pkg().Path(), Module+"/") && !public(strings.TrimPrefix(o.Pkg().Path(), Module+"/")):
		s.found(place, o)
	}
}
