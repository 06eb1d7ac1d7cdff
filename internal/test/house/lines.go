// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// packageLines are the lines of code of each folder, without tests.
func (t *Tree) packageLines() tally {
	lines := tally{}
	for _, f := range t.files {
		if !f.test {
			lines[f.dir()] += len(f.code)
		}
	}
	return lines
}

// ProductLines counts lines of code without tests, examples and support of tests.
func (t *Tree) ProductLines() Number {
	lines := t.packageLines()
	maps.DeleteFunc(lines, func(dir string, _ int) bool { return support(dir) })
	return lines.number("product lines")
}

// Linked counts the lines of this module's packages that the given ones link.
func (t *Tree) Linked(name string, dirs ...string) (Number, error) {
	deps, err := goList(t.root, append([]string{"-deps", "-f", "{{.ImportPath}}"}, dirs...)...)
	if err != nil {
		return Number{}, err
	}
	all, linked := t.packageLines(), tally{}
	for _, p := range deps {
		if dir, ours := strings.CutPrefix(p+"/", Module+"/"); ours {
			dir = path.Clean(dir)
			linked[dir] = all[dir]
		}
	}
	return linked.number(name), nil
}

func goList(dir string, args ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...) //nolint:noctx // a test's process ends with the test
	cmd.Dir = dir
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return strings.Fields(string(out)), nil
}

var isTest = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)

// Helpers counts lines of test files outside tests, benchmarks, fuzzers and examples, in
// percent of all lines of test files.
func (t *Tree) Helpers() Number {
	helpers, all := tally{}, 0
	for _, f := range t.files {
		if !f.test {
			continue
		}
		all += len(f.code)
		helpers[f.path] = len(f.code)
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isTest.MatchString(fn.Name.Name) {
				first, last := f.lines(fn)
				for l := first; l <= last; l++ {
					if f.code[l] {
						helpers[f.path]--
					}
				}
			}
		}
	}
	return percent(helpers.number("helpers, % of test lines"), all)
}

func percent(n Number, all int) Number {
	n.Value *= 100 / float64(all)
	return n
}

var styles = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"negations", regexp.MustCompile(`\b(no|nothing|never|none|nobody|not|neither|nor|without|cannot)\b`)},
	{"inversions", regexp.MustCompile(`\b(of which|that of|those of|those that|that which|what it is|in the place of)\b`)},
	{"openings", regexp.MustCompile(`(?:^|\. )(What|Who|Whom|Where|Whose) [a-z]`)},
}

// Style counts lines of comments with a negation, an inversion, or a sentence that opens with
// a question's word, in percent of all lines of comments outside tests.
func (t *Tree) Style() []Number {
	var numbers []Number
	for _, s := range styles {
		lines, all := tally{}, 0
		for _, f := range t.files {
			if f.test {
				continue
			}
			all += len(f.prose)
			for _, l := range f.prose {
				if s.pattern.MatchString(l) {
					lines[f.path]++
				}
			}
		}
		numbers = append(numbers, percent(lines.number(s.name+", % of comment lines"), all))
	}
	return numbers
}
