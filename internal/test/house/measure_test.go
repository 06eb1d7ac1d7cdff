// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANumberIsJudgedByItsLimit(t *testing.T) {
	l := Limits[0]
	line, err := Judge(Number{Name: l.Name, Value: l.Most})
	require.NoError(t, err)
	require.Contains(t, line, l.Name)
	_, err = Judge(Number{Name: l.Name, Value: l.Most + 1})
	require.ErrorContains(t, err, "over its limit of "+fmt.Sprint(int(l.Most))+" in internal/test/house/limits.go")
	_, err = Judge(Number{Name: "a number without a limit"})
	require.Error(t, err)
}

func TestATreeIsCounted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"open/open.go": `package open

// Config is that of
// no one. What is more.
//
type Config struct {
	A, B int // nothing
	c    int
	Embedded
}

type Embedded struct{ Text string }

func (e *Embedded) Do() {}
func (h hidden) Do()    {}

type hidden[T any] struct{}

const X, y = 1, 2

var Z = ` + "`a\nb`" + `
`,
		"open/open_test.go":            "package open\n\nfunc helper() {\n\t_ = 1\n}\n\nfunc TestX() { // is not prose\n\thelper()\n\thelper()\n}\n",
		"internal/deep/deep.go":        "package deep\n\ntype Options struct{ D int }\n",
		"internal/test/kit/kit.go":     "package kit\n\ntype Config struct{ E int }\n",
		"examples/show/main.go":        "package main\n\nfunc Shown() {}\n",
		"open/testdata/nothing.go":     "package nothing\n\nfunc Seen() {}\n",
		"open/storetest/storetest.go":  "package storetest\n\nfunc Run() {}\n",
		"open/nested/module/go.mod":    "module example.com/nested\n",
		"open/nested/module/module.go": "package module\n\nvar Apart = 1\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	tree, err := Read(dir)
	require.NoError(t, err)
	settings, configs := tree.Settings()
	got := map[string]float64{}
	for _, n := range append(append(tree.Style(), tree.Public()...), tree.ProductLines(), settings, configs, tree.Helpers()) {
		got[n.Name] = n.Value
	}
	require.Equal(t, map[string]float64{
		"product lines":                     13 + 2 + 2, // open, deep, module
		"public packages":                   2,          // open, storetest
		"exported names":                    5 + 1,      // Config, Embedded, Do, X, Z; Run
		"public packages of nested modules": 1,
		"exported names of nested modules":  1,               // Apart
		"settings":                          3 + 1,           // A, B, Embedded; D
		"configs":                           2,               // open and deep
		"helpers, % of test lines":          100 * 4.0 / 8,   // package and helper of eight lines
		"negations, % of comment lines":     100 * (2.0 / 4), // "no one", "nothing"
		"inversions, % of comment lines":    100 * (1.0 / 4), // "that of"
		"openings, % of comment lines":      100 * (1.0 / 4), // "What is"
	}, got)
	modules, err := Modules(dir)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "open/nested/module")}, modules)
}

func TestTypesOfInternalPackagesAreFoundInSignatures(t *testing.T) {
	secret := check(t, nil, Module+"/internal/secret", `package secret
type T struct{}
func (T) Promoted(*T) {}
type C interface{ comparable }
type Names struct{}
func (Names) Kept(string) {}`)
	open := check(t, secret, Module+"/open", `package open
import "`+Module+`/internal/secret"
func Parameter(func(map[string][]secret.T)) {}
func Result() hidden { return hidden{} }
func Plain(Struct, error) {}
func Constraint[P secret.C](P) {}
var Value chan *secret.T
type Alias = secret.T
type Struct struct {
	Field secret.T
	own   secret.T
	hidden
}
type Interface interface { Method() secret.T }
type hidden struct { secret.T; Deep secret.T }
type quiet struct { secret.T }
func (s *Struct) unexported(secret.T) {}
type Held struct { t quiet }
func (h *Held) Method(Struct, *quiet) {}`)
	places := tally{}
	signatures(open, places)
	names := func(place, name string) string { return "open: " + place + " names internal/secret." + name }
	require.ElementsMatch(t, []string{
		names("Parameter", "T"), names("Result.T", "T"), names("Result.Deep", "T"), names("Result.Promoted", "T"),
		names("Constraint", "C"), names("Value", "T"), names("Alias", "T"), names("Interface.Method", "T"),
		names("Struct.Field", "T"), names("Struct.T", "T"), names("Struct.Deep", "T"), names("Struct.Promoted", "T"),
		names("Held.Method.T", "T"), names("Held.Method.Promoted", "T"),
	}, slices.Collect(maps.Keys(places)))
}

// check compiles a package that may import another.
func check(t *testing.T, imported *types.Package, path, source string) *types.Package {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "a.go", source, 0)
	require.NoError(t, err)
	p, err := (&types.Config{Importer: only{imported}}).Check(path, set, []*ast.File{f}, nil)
	require.NoError(t, err)
	return p
}

// only is an importer of one package.
type only struct{ p *types.Package }

func (o only) Import(string) (*types.Package, error) { return o.p, nil }
