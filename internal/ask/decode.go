// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// Answer is what a model answered.
type Answer[T any] struct {
	Value T
	Bad   []Bad // entries of lists that are left out
}

// Bad is an entry of a list that could not be decoded.
type Bad struct {
	Raw string // its JSON, shortened
	Err error  // why, in words for the model
}

// decodeAnswer decodes the JSON of an answer into a T: of each call of the tool, in
// order, their lists joined, else of the text. An answer of which any part is cut off or
// cannot be read is an error as a whole: half a list looks like a list.
func decodeAnswer[T any](m *schema.Message, tool string) (*Answer[T], error) {
	values, err := valuesOf(m, tool)
	if err != nil {
		return nil, err
	}
	var a Answer[T]
	d := decoder{}
	for _, v := range values {
		if err := d.decode(v, reflect.ValueOf(&a.Value).Elem()); err != nil {
			return nil, err
		}
	}
	if len(d.bad) > 0 && d.good == 0 {
		return nil, fmt.Errorf("entry %s: %w", d.bad[0].Raw, d.bad[0].Err)
	}
	a.Bad = d.bad
	return &a, nil
}

// valuesOf returns the JSON values of an answer; never none without an error. Calls of
// other tools count where there is none of this one: models get names wrong.
func valuesOf(m *schema.Message, tool string) ([]any, error) {
	switch {
	case m == nil:
		return nil, ErrEmpty
	case cutOff(m):
		return nil, ErrTruncated
	case len(m.ToolCalls) == 0:
		v, err := JSON(einox.Text(m))
		return []any{v}, err
	}
	named := slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool { return c.Function.Name == tool })
	var out []any
	for i := range m.ToolCalls {
		f := &m.ToolCalls[i].Function
		if named && f.Name != tool {
			continue
		}
		v, err := JSON(f.Arguments)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// decoder decodes JSON values into Go values as models mean them: numbers in quotes, an
// entry where a list of one is asked for, a list where it belongs into the one list of
// an object, JSON inside a text, other names of keys.
type decoder struct {
	good int // entries of lists
	bad  []Bad
}

func (d *decoder) decode(v any, to reflect.Value) error {
	switch to.Kind() {
	case reflect.Struct:
		return d.object(v, to)
	case reflect.Slice:
		return d.list(v, to)
	case reflect.Pointer:
		if v == nil {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return d.decode(v, to.Elem())
	}
	if v == nil {
		return nil
	}
	return scalar(v, to)
}

func (d *decoder) object(v any, to reflect.Value) error {
	if s, ok := v.(string); ok {
		nested, err := JSON(s)
		if bare := bareField(to); err != nil && bare.IsValid() {
			return scalar(s, bare)
		}
		if err != nil {
			return errors.New("is a text, and should be an object")
		}
		v = nested
	}
	o, ok := v.(map[string]any)
	if !ok {
		if list, ok := onlyList(to); ok {
			return d.list(v, list)
		}
		return errors.New("is no object")
	}
	known := 0
	for i := range to.NumField() {
		value, found := lookup(o, to.Type().Field(i))
		if !found {
			continue
		}
		known++
		if value == nil {
			continue
		}
		if err := d.decode(value, to.Field(i)); err != nil {
			return fmt.Errorf("%q %w", jsonName(to.Type().Field(i)), err)
		}
	}
	if known == 0 {
		if list, ok := onlyList(to); ok && len(o) > 0 {
			return d.list([]any{o}, list) // an entry without its list
		}
	}
	if rest := to.FieldByName("Rest"); rest.IsValid() {
		rest.Set(reflect.ValueOf(unknown(o, to.Type())))
	}
	return nil
}

func (d *decoder) list(v any, to reflect.Value) error {
	if s, ok := v.(string); ok {
		switch nested, err := JSON(s); {
		case to.Type().Elem().Kind() == reflect.String:
			v = fieldsOf(s)
		case err == nil:
			v = nested
		case to.Type().Elem().Kind() == reflect.Struct:
			return errors.New("is a text, and should be a list")
		}
	}
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if to.IsNil() { // an empty list is an answer, no list is none
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
			d.bad = append(d.bad[:bad], Bad{Raw: compact(e), Err: err})
			continue
		}
		if entry.Kind() == reflect.Struct {
			d.good++
		}
		to.Set(reflect.Append(to, entry))
	}
	return nil
}

// fieldsOf divides a text that stands where a list of texts should.
func fieldsOf(s string) []any {
	var out []any
	for f := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(",，、;；\n", r) }) {
		if f = text.Clean(f); f != "" {
			out = append(out, f)
		}
	}
	return out
}

func scalar(v any, to reflect.Value) error {
	switch to.Kind() {
	case reflect.String:
		s, ok := v.(string)
		if !ok {
			return errors.New("is no text")
		}
		to.SetString(text.Clean(s))
	case reflect.Int:
		n, ok := numberOf(v)
		if !ok || n != float64(int(n)) {
			return errors.New("is no whole number")
		}
		to.SetInt(int64(n))
	case reflect.Float64:
		n, ok := numberOf(v)
		if !ok {
			return errors.New("is no number")
		}
		to.SetFloat(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(fmt.Sprint(v))))
		if err != nil {
			return errors.New("is neither true nor false")
		}
		to.SetBool(b)
	default:
		return fmt.Errorf("cannot be a %s", to.Type())
	}
	return nil
}

// numberOf reads a number, also in quotes, in brackets, or as the only one of a list.
func numberOf(v any) (float64, bool) {
	var s string
	switch x := v.(type) {
	case json.Number:
		s = x.String()
	case string:
		s = strings.Trim(strings.TrimSpace(x), "[]#")
	case []any:
		if len(x) == 1 {
			return numberOf(x[0])
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n > -1<<53 && n < 1<<53
}

// bareField returns the field with the tag bare, for which a text may stand instead of an
// object.
func bareField(to reflect.Value) reflect.Value {
	for i := range to.NumField() {
		if to.Type().Field(i).Tag.Get("bare") != "" {
			return to.Field(i)
		}
	}
	return reflect.Value{}
}

// onlyList returns the field of a struct that is its only list.
func onlyList(to reflect.Value) (reflect.Value, bool) {
	var found reflect.Value
	for i := range to.NumField() {
		if to.Field(i).Kind() != reflect.Slice {
			continue
		}
		if found.IsValid() {
			return found, false
		}
		found = to.Field(i)
	}
	return found, found.IsValid()
}

// lookup returns the value of a field, under its name or another that models use, and
// whether there is such a key. A null gives way to another name's value.
func lookup(o map[string]any, f reflect.StructField) (v any, found bool) {
	for _, name := range namesOf(f) {
		if x, ok := o[name]; ok {
			found = true
			if x != nil {
				return x, true
			}
		}
	}
	return nil, found
}

func namesOf(f reflect.StructField) []string {
	name := jsonName(f)
	if name == "" {
		return nil
	}
	if alias := f.Tag.Get("alias"); alias != "" {
		return append([]string{name}, strings.Split(alias, ",")...)
	}
	return []string{name}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// unknown returns the values under keys that the type does not name, for its field Rest:
// prompts of a caller's own may ask for more.
func unknown(o map[string]any, t reflect.Type) map[string]any {
	var out map[string]any
	known := map[string]bool{}
	for i := range t.NumField() {
		for _, name := range namesOf(t.Field(i)) {
			known[name] = true
		}
	}
	for k, v := range o {
		if known[k] || v == nil {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[text.Clean(k)] = plain(v)
	}
	return out
}

// plain returns a JSON value with numbers as float64.
func plain(v any) any {
	switch x := v.(type) {
	case string:
		return text.Clean(x)
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			return x.String()
		}
		return f
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[text.Clean(k)] = plain(e)
		}
		return out
	}
	return v
}

// compact returns a value as short JSON, for errors.
func compact(v any) string {
	raw, err := json.Marshal(plain(v))
	if err != nil {
		return fmt.Sprintf("%.60v", v)
	}
	return text.TruncateBytes(string(raw), 120)
}
