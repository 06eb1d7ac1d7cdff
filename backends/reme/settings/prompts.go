// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
)

// Prompts are texts to use instead of those of the packages: group, then step. The
// groups are task, personal and tool; the steps of each are the fields of
// its package's Prompts in snake_case; personal has summarize. See [Prompts.Fill].
type Prompts map[string]map[string]string

var groups = []string{"task", "personal", "tool"}

// steps are those of each group.
var steps = map[string][]string{
	"task":     stepsOf[task.Prompts](),
	"personal": {"summarize"},
	"tool":     stepsOf[tool.Prompts](),
}

// stepsOf returns the names of the string fields of a struct, in snake_case.
func stepsOf[P any]() []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[P]()) {
		if f.IsExported() && f.Type.Kind() == reflect.String {
			out = append(out, snake(f.Name))
		}
	}
	return out
}

// Fill puts the prompts of a group into the string fields of a struct, given as a
// pointer: step judge into the field Judge. Fields without a prompt stay as they
// are. A step that the struct has no field for is ErrInvalid, and then nothing is
// changed.
func (p Prompts) Fill(group string, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("prompts.%s: %w: a pointer to a struct is needed to fill, not %T", group, backends.ErrInvalid, into)
	}
	v = v.Elem()
	fields := map[string]int{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Type.Kind() == reflect.String {
			fields[snake(f.Name)] = i
		}
	}
	texts := p[group]
	for _, step := range slices.Sorted(maps.Keys(texts)) {
		if _, ok := fields[step]; !ok {
			return fmt.Errorf("prompts.%s.%s: %w: no such step; the nearest is %q", group, step, backends.ErrInvalid,
				nearest(step, slices.Sorted(maps.Keys(fields))))
		}
	}
	for step, text := range texts {
		v.Field(fields[step]).SetString(text)
	}
	return nil
}

// Validate returns ErrInvalid for a group or a step that there is not, and for a prompt that
// is empty or not UTF-8.
func (p Prompts) Validate() error {
	for _, group := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(groups, group) {
			return fmt.Errorf("%s: %w: no such group; the nearest is %q", group, backends.ErrInvalid, nearest(group, groups))
		}
		for _, step := range slices.Sorted(maps.Keys(p[group])) {
			switch text := p[group][step]; {
			case !slices.Contains(steps[group], step):
				return fmt.Errorf("%s.%s: %w: no such step; the nearest is %q", group, step, backends.ErrInvalid, nearest(step, steps[group]))
			case strings.TrimSpace(text) == "":
				return fmt.Errorf("%s.%s: %w: the prompt is empty", group, step, backends.ErrInvalid)
			case !utf8.ValidString(text):
				return fmt.Errorf("%s.%s: %w: the prompt is not UTF-8", group, step, backends.ErrInvalid)
			}
		}
	}
	return nil
}

func (p Prompts) clone() Prompts {
	out := maps.Clone(p)
	for group := range out {
		out[group] = maps.Clone(out[group])
	}
	return out
}
