// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// fieldsOf returns the fields of a memory by the names that they have in JSON. The
// partition's version is none that a file tells.
func fieldsOf(m *backends.Memory) map[string]any {
	return map[string]any{
		"id": &m.ID, "kind": &m.Kind, "text": &m.Text, "when_to_use": &m.WhenToUse, "scope": &m.Scope, "metadata": &m.Metadata,
		"quality": &m.Quality, "observed": &m.Observed, "valid": &m.Valid, "invalidated": &m.Invalidated, "created": &m.Created,
		"updated": &m.Updated, "expires": &m.Expires, "origin": &m.Origin, "supersedes": &m.Supersedes, "superseded_by": &m.SupersededBy,
	}
}

// readFields sets the fields of a memory that o has, and takes them out of it.
func readFields(m *backends.Memory, o object) error {
	fields := fieldsOf(m)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		to := reflect.ValueOf(fields[name]).Elem()
		fresh := reflect.New(to.Type())
		if _, ok := o[name]; !ok {
			continue
		}
		if err := o.take(name, fresh.Interface()); err != nil {
			return err
		}
		to.Set(fresh.Elem())
	}
	for _, t := range []*time.Time{&m.Observed, &m.Valid, &m.Invalidated, &m.Created, &m.Updated, &m.Expires} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	if q := m.Quality; q != nil && !(*q >= 0 && *q <= 1) {
		return fmt.Errorf("quality %v is not from 0 to 1", *q)
	}
	if len(m.Metadata) == 0 {
		m.Metadata = nil
	}
	return nil
}

// differing returns those fields of want, by their names in JSON, that got has
// otherwise.
func differing(want, got *backends.Memory) map[string]any {
	out := map[string]any{}
	have := fieldsOf(got)
	for name, field := range fieldsOf(want) {
		a, b := reflect.ValueOf(field).Elem().Interface(), reflect.ValueOf(have[name]).Elem().Interface()
		if !sameField(a, b) {
			out[name] = a
		}
	}
	return out
}

func sameField(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		return t.Equal(b.(time.Time))
	}
	if m, ok := a.(map[string]any); ok && len(m) == 0 {
		return len(b.(map[string]any)) == 0
	}
	return reflect.DeepEqual(a, b)
}
