// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/jsontext"
	"github.com/einomem/einomem/internal/text"
)

// Answer is a model's decoded answer.
type Answer[T any] struct {
	Value T
	Bad   []Bad // entries of lists that are left out
	Small bool  // the model was asked in the small form
}

// Bad is an entry of a list that resists decoding.
type Bad struct {
	Raw string // its JSON, shortened
	Err error  // why, in words for the model
}

// decodeAnswer decodes the JSON of an answer into a T: from each tool call in order, with their
// lists joined, else from the text. An answer with a part that is cut off or unreadable is an
// error as a whole: half a list looks like a list. An answer to a [Small] question is read line
// by line, and unreadable lines are left out. Calls count under any name: models get names
// wrong.
func decodeAnswer[T any](m *schema.Message, by form) (*Answer[T], error) {
	var texts []string
	for i := range m.ToolCalls {
		texts = append(texts, m.ToolCalls[i].Function.Arguments)
	}
	switch {
	case by == small:
		texts = entriesIn(einox.Written(m))
	case len(texts) == 0:
		texts = pieces(einox.Written(m))
	}
	a := Answer[T]{Small: by == small}
	d := decoder{shape: shapeOf(reflect.TypeFor[T]())}
	for _, s := range texts {
		v, err := jsontext.Parse(s)
		if err == nil {
			err = d.decode(d.shape.bare(v), reflect.ValueOf(&a.Value).Elem())
		}
		switch {
		case err != nil && len(texts) > 1 && a.Small:
			d.bad = append(d.bad, Bad{Raw: text.TruncateBytes(s, 120), Err: err})
		case err != nil:
			return nil, err
		}
	}
	if len(d.bad) > 0 && d.good == 0 {
		return nil, &entryError{d.bad[0].Err, d.bad[0].Raw}
	}
	a.Bad = d.bad
	return &a, nil
}

// decoder decodes JSON values into Go values as models mean them. It accepts numbers in
// quotes, an entry in place of a list, a list in place of the object with that list, JSON
// inside a text, and other names of keys. A type with a method Decode(any) decodes
// itself, and accepts every value.
type decoder struct {
	shape *shape
	good  int // entries of lists
	bad   []Bad
}

func (d *decoder) decode(v any, to reflect.Value) error {
	if own, ok := to.Addr().Interface().(interface{ Decode(v any) }); ok {
		own.Decode(v)
		return nil
	}
	switch to.Kind() {
	case reflect.Struct:
		return d.object(v, to)
	case reflect.Slice:
		return d.list(v, to)
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return d.decode(v, to.Elem())
	}
	return scalar(v, to)
}

func (d *decoder) object(v any, to reflect.Value) error {
	if s, ok := v.(string); ok {
		nested, err := jsontext.Parse(s)
		if field := to.FieldByName("Text"); err != nil && field.IsValid() {
			if bareWord.MatchString(s) {
				return errors.New("is a bare word, and should be an object")
			}
			return scalar(s, field)
		}
		if err != nil {
			return errors.New("is a text, and should be an object")
		}
		v = nested
	}
	list, wraps := onlyList(to)
	if one, ok := v.([]any); ok && !wraps && len(one) == 1 {
		v = one[0]
	}
	o, isObject := v.(map[string]any)
	switch {
	case !isObject && wraps:
		return d.list(v, list)
	case !isObject:
		return errors.New("is no object")
	}
	rest := maps.Clone(o)
	for _, field := range fieldsOf(to.Type()) {
		var value any
		for _, name := range namesOf(field) {
			if value == nil {
				value = o[name]
			}
			delete(rest, name)
		}
		if value == nil {
			continue
		}
		if err := d.decode(value, to.FieldByIndex(field.Index)); err != nil {
			return fmt.Errorf("%q %w", jsonName(field), err)
		}
	}
	if wraps && len(o) > 0 && len(rest) == len(o) {
		return d.list([]any{o}, list) // a bare entry
	}
	maps.DeleteFunc(rest, func(_ string, v any) bool { return v == nil })
	if field := to.FieldByName("Rest"); field.IsValid() && len(rest) > 0 {
		field.Set(reflect.ValueOf(rest))
	}
	return nil
}

func (d *decoder) list(v any, to reflect.Value) error {
	of := to.Type().Elem().Kind()
	if s, ok := v.(string); ok {
		nested, err := jsontext.Parse(s)
		switch {
		case err == nil && (of != reflect.String || strings.HasPrefix(s, "[")):
			v = nested
		case of == reflect.Struct:
			return errors.New("is a text, and should be a list")
		case of == reflect.String:
			lines := []any{}
			for line := range strings.Lines(s) {
				lines = append(lines, line)
			}
			v = lines
		}
	}
	list, ok := v.([]any)
	switch {
	case of == reflect.Struct && has(keysOf(to.Type().Elem()), v):
		list = []any{v}
	case of == reflect.Struct && len(d.shape.entry) > 0:
		list = d.shape.entries(v, "")
	case !ok:
		list = []any{v}
	}
	if to.IsNil() { // an empty list is an answer, a missing list is none
		to.Set(reflect.MakeSlice(to.Type(), 0, len(list)))
	}
	for _, e := range list {
		entry := reflect.New(to.Type().Elem()).Elem()
		bad := len(d.bad)
		err := d.decode(e, entry)
		if c, ok := entry.Addr().Interface().(interface{ Check() error }); ok && err == nil {
			err = c.Check()
		}
		if err != nil {
			raw, _ := json.Marshal(e) // was decoded from JSON
			d.bad = append(d.bad[:bad], Bad{Raw: text.TruncateBytes(string(raw), 120), Err: err})
			continue
		}
		if of == reflect.Struct {
			d.good++
		}
		to.Set(reflect.Append(to, entry))
	}
	return nil
}

// scalar decodes a text, a number or a boolean. Numbers and booleans may stand in quotes.
func scalar(v any, to reflect.Value) error {
	s, isText := v.(string)
	switch {
	case to.Kind() == reflect.String && isText:
		to.SetString(text.Clean(s))
		return nil
	case to.Kind() == reflect.String:
		return errors.New("is no text")
	case !isText:
		raw, _ := json.Marshal(v) // was decoded from JSON
		s = string(raw)
	}
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "null" || json.Unmarshal([]byte(s), to.Addr().Interface()) != nil {
		return fmt.Errorf("is not of type %s", to.Kind())
	}
	return nil
}

// onlyList returns the field of a struct that is its only list.
func onlyList(to reflect.Value) (found reflect.Value, ok bool) {
	lists := 0
	for _, f := range fieldsOf(to.Type()) {
		if f.Type.Kind() == reflect.Slice {
			found = to.FieldByIndex(f.Index)
			lists++
		}
	}
	return found, lists == 1
}

// fieldsOf returns the fields of a struct and of the structs that it embeds.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// namesOf returns the keys of a field: its own, and the names that models use instead.
func namesOf(f reflect.StructField) []string {
	name := jsonName(f)
	if name == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(name+","+f.Tag.Get("alias"), ","), ",")
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.TrimPrefix(name, "-")
}

// EachOnce checks that an answer has exactly one entry for each number from first on, n
// in all. The function number returns the number of an entry; what names the numbered
// things. The error is for the model.
func EachOnce[T any](what string, first, n int, entries []T, number func(T) int) error {
	seen := make([]bool, n)
	for _, e := range entries {
		at := number(e) - first
		if at < 0 || at >= n || seen[at] {
			return fmt.Errorf("there is no %s %d, or it is answered twice", what, number(e))
		}
		seen[at] = true
	}
	if at := slices.Index(seen, false); at >= 0 {
		return fmt.Errorf("%s %d is not answered", what, at+first)
	}
	return nil
}

// phrases are the sentences of the prompt about the form of its answer.
var phrases = map[backends.Language]struct{ byTool, byJSON, refused string }{
	backends.English: {
		byTool:  "Answer with one call of the tool %s.",
		byJSON:  "Answer with JSON alone, in this form:",
		refused: "Your answer before could not be used. Answer the same task again, correctly and completely. What was wrong:",
	},
	backends.Chinese: {
		byTool:  "请调用一次工具 %s 来回答。",
		byJSON:  "只回答 JSON，格式如下：",
		refused: "你上一次的回答无法使用。请把同一个任务正确、完整地重新回答一遍。问题在于：",
	},
}

// example shows the JSON of a type, such as {"op":"add|retract","n":[0]}, with the values
// that the tag of a text lists.
func example(t reflect.Type, tag reflect.StructTag) string {
	var parts []string
	switch t.Kind() {
	case reflect.Pointer:
		return example(t.Elem(), tag)
	case reflect.Slice:
		return "[" + example(t.Elem(), "") + "]"
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			if jsonName(f) != "" {
				parts = append(parts, `"`+jsonName(f)+`":`+example(f.Type, f.Tag))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	case reflect.String:
		return `"` + cmp.Or(strings.Join(enumOf(tag), "|"), "…") + `"`
	case reflect.Bool:
		return "true|false"
	case reflect.Float64:
		return "0.0"
	}
	return "0"
}

// entryError is an unusable entry of an answer. Its text leaves the entry out.
type entryError struct {
	error
	raw string
}

func (e *entryError) Unwrap() error { return e.error }
