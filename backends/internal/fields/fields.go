// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package fields fills the fields of a typed document about a person from facts. A fact that
// states a field has its value in its metadata, under [backends.MetaProfile], and the document
// follows from the active facts. So a fact that is retracted, corrected or forgotten takes its
// value along, and each value is stored once. Package profile has the documents, mem0 and
// reflection the facts.
package fields

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
)

// Field is a field of a document.
type Field struct {
	Name string
	Form string // its type and subject, for a model
	List bool   // it holds the values of several facts
	// Check returns an error for a JSON value that the field cannot hold.
	Check func(value any) error
}

// Set is the fields of a document, in its order.
type Set []Field

// Key is the key by which a keeper finds the memories that fill fields.
const Key = "profile"

// Document is embedded by documents, such as profile.Profile: so backends reach its fields.
type Document struct {
	set  Set
	keep atomic.Pointer[keeper.Keeper] // of the backend that fills it
}

// NewDocument returns a document with fields.
func NewDocument(s Set) *Document { return &Document{set: s} }

func (d *Document) document() *Document { return d }

// Fields returns the names of the fields, in their order.
func (d *Document) Fields() []string {
	names := make([]string, len(d.set))
	for i, f := range d.set {
		names[i] = f.Name
	}
	return names
}

// Of returns the fields of a document; empty if it does not embed a [Document].
func Of(p backends.Profile) Set {
	d, ok := p.(interface{ document() *Document })
	if !ok {
		return nil
	}
	return d.document().set
}

// Keeper returns the keeper of the backend that fills a document, nil before [Bind].
func Keeper(p backends.Profile) *keeper.Keeper {
	d, ok := p.(interface{ document() *Document })
	if !ok {
		return nil
	}
	return d.document().keep.Load()
}

// Bind tells a document which backend fills it. A second backend is ErrInvalid, and so is a type
// that embeds no [Document].
func Bind(p backends.Profile, k *keeper.Keeper) error {
	d, ok := p.(interface{ document() *Document })
	switch v := reflect.ValueOf(p); {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return fmt.Errorf("Config.Profile is a nil %T: %w: pass what profile.New returned, or leave it out", p, backends.ErrInvalid)
	case !ok:
		return fmt.Errorf("Config.Profile %T: %w: pass what profile.New returned", p, backends.ErrInvalid)
	case !d.document().keep.CompareAndSwap(nil, k):
		return fmt.Errorf("profile: %w: another backend fills it: make one for each", backends.ErrInvalid)
	}
	return nil
}

// Prompt lists the fields for a model, a line each.
func (s Set) Prompt() string {
	lines := make([]string, len(s))
	for i, f := range s {
		lines[i] = "- " + f.Name + ": " + f.Form
	}
	return strings.Join(lines, "\n")
}

// Value is a value as a model writes it: a text, or JSON.
type Value string

// Decode implements the decoding of package ask.
func (v *Value) Decode(from any) {
	if s, ok := from.(string); ok {
		*v = Value(s)
		return
	}
	raw, _ := json.Marshal(from) // it was decoded from JSON
	*v = Value(raw)
}

// Read returns a model's value for a field in the field's own form. Its error is in words for
// the caller.
func (s Set) Read(field string, v Value) (any, error) {
	f := s.field(field)
	if f == nil {
		return nil, fmt.Errorf("%w: there is no field %q", backends.ErrInvalid, field)
	}
	var parsed any
	asText := any(strings.TrimSpace(string(v)))
	tries := []any{asText}
	if json.Unmarshal([]byte(v), &parsed) == nil {
		tries = []any{parsed, asText}
	}
	var err error
	for _, value := range tries {
		if err = f.Check(value); err == nil {
			return value, nil
		}
		if f.List && f.Check([]any{value}) == nil {
			return []any{value}, nil
		}
	}
	return nil, fmt.Errorf("%w: field %q: %w", backends.ErrInvalid, field, err)
}

func (s Set) field(name string) *Field {
	at := slices.IndexFunc(s, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return nil
	}
	return &s[at]
}

// Fill makes a memory fill a field.
func Fill(m *backends.Memory, field string, value any) {
	of := map[string]any{}
	maps.Copy(of, Filled(m))
	of[field] = value
	keeper.SetMeta(m, backends.MetaProfile, of)
}

// Filled returns the fields that a memory fills, with their values.
func Filled(m *backends.Memory) map[string]any {
	of, _ := m.Metadata[backends.MetaProfile].(map[string]any)
	return of
}

// Fold returns the document of the memories that fill its fields, ended ones included, and for
// each field the memories behind it. The last statement about a field decides, by its time and
// by the chain: if it has ended, the field is empty. A list has the values of all active
// memories. Values that do not fit the field are left out.
func (s Set) Fold(memories []*backends.Memory, now time.Time) (doc map[string]any, of map[string][]*backends.Memory) {
	doc, of = map[string]any{}, map[string][]*backends.Memory{}
	said := slices.Clone(memories)
	slices.SortStableFunc(said, func(a, b *backends.Memory) int {
		return cmp.Or(at(a).Compare(at(b)), a.Created.Compare(b.Created), cmp.Compare(a.Version, b.Version))
	})
	for _, f := range s {
		states := map[string]bool{}
		for _, m := range said {
			_, states[m.ID] = Filled(m)[f.Name]
		}
		for _, m := range said {
			value, ok := Filled(m)[f.Name]
			if !ok || f.Check(value) != nil || states[m.SupersededBy] { // clocks differ, chains are exact
				continue
			}
			holds := m.Active() && !m.Expired(now)
			switch values, _ := doc[f.Name].([]any); {
			case f.List && holds:
				doc[f.Name], of[f.Name] = union(values, value), append(of[f.Name], m)
			case f.List:
			case holds:
				doc[f.Name], of[f.Name] = value, []*backends.Memory{m}
			default:
				delete(doc, f.Name)
				delete(of, f.Name)
			}
		}
	}
	return doc, of
}

// at returns when a memory was said, else stored.
func at(m *backends.Memory) time.Time {
	if m.Observed.IsZero() {
		return m.Created
	}
	return m.Observed
}

// union adds the elements of a list to the present ones, each once.
func union(values []any, more any) []any {
	added, _ := more.([]any)
	for _, v := range added {
		if !slices.ContainsFunc(values, func(o any) bool { return Same(o, v) }) {
			values = append(values, v)
		}
	}
	return values
}

// Same reports whether two values of JSON are equal.
func Same(a, b any) bool {
	x, _ := json.Marshal(a) // both are of JSON
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
