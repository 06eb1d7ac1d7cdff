// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	opEq        = "eq"
	opNe        = "ne"
	opIn        = "in"
	opNin       = "nin"
	opGt        = "gt"
	opGte       = "gte"
	opLt        = "lt"
	opLte       = "lte"
	opContains  = "contains"  // a substring of a text, or an element of a list
	opIContains = "icontains" // the same, whatever the case
	opExists    = "exists"    // whether the memory has the field
	opAnd       = "and"
	opOr        = "or"
	opNot       = "not"
)

// Filter is a condition on memories. One piece of code evaluates it in process, so it
// means the same on every store. Build one with [Eq], [Ne], [And], [Or] and [Not], or
// from JSON-like values with [ParseFilter]. Write other operators as a literal, such as
// Filter{Op: "gte", Field: "age", Value: 18}.
//
// Field names: id, kind, namespace, workspace, user_id, agent_id, session_id, turn, role, speaker,
// author, trust, quality, standing, delicate, observed, valid, created, updated, expires, entity.
// Every other name is a key of Metadata; write "metadata.role" to reach a key with one of those
// names. entity is the list of [Memory.Entities].
//
// Numbers compare as float64, texts byte by byte, booleans by eq and ne alone. Times
// compare as instants (a [time.Time] or an RFC 3339 text on either side). Texts of entity
// compare in any case and width (NFKC).
//
// The operators are eq, ne, in, nin, gt, gte, lt, lte, contains, icontains, exists, and, or, not.
// contains finds a part of a text, or an element of a list; icontains does so in any case. exists
// takes true or false. On a list field eq, ne, in and nin ask for an element. An absent field
// matches ne, nin, exists with false, and a not around any other comparison. The type of a
// memory's own field is known: a value or an operator of another type is ErrInvalid. A key of
// Metadata may have another type in each memory; there a mismatch of types counts as a
// difference.
type Filter struct {
	Op    string
	Field string   // for comparisons
	Value any      // for comparisons: string, bool, a number, time.Time; a slice of those for in and nin; a bool for exists
	Args  []Filter // for and, or, not
}

// Eq matches memories whose field equals value.
func Eq(field string, value any) Filter { return Filter{Op: opEq, Field: field, Value: value} }

// Ne matches memories whose field differs from value or is absent.
func Ne(field string, value any) Filter { return Filter{Op: opNe, Field: field, Value: value} }

// And matches memories that match every one of args.
func And(args ...Filter) Filter { return Filter{Op: opAnd, Args: args} }

// Or matches memories that match one of args.
func Or(args ...Filter) Filter { return Filter{Op: opOr, Args: args} }

// Not matches the memories that arg leaves out.
func Not(arg Filter) Filter { return Filter{Op: opNot, Args: []Filter{arg}} }

// Without returns the filter less the field's top-level eq conditions that and joins to
// all others; nil where they are the whole filter.
func (f *Filter) Without(field string) *Filter {
	if f == nil || f.Op == opEq && strings.EqualFold(f.Field, field) {
		return nil
	}
	if f.Op != opAnd {
		return f
	}
	out := And()
	for i := range f.Args {
		if kept := f.Args[i].Without(field); kept != nil {
			out.Args = append(out.Args, *kept)
		}
	}
	if len(out.Args) == 0 {
		return nil
	}
	return &out
}

// Compile checks the filter and returns it as a predicate that is safe for concurrent
// use. An unknown operator, a missing field name, an empty list of arguments or a value
// of the wrong type for the operator is [ErrInvalid]. A nil filter matches everything.
func (f *Filter) Compile() (func(*Memory) bool, error) {
	if f == nil {
		return func(*Memory) bool { return true }, nil
	}
	switch f.Op {
	case opAnd, opOr, opNot:
		return f.compileLogic()
	case opIn, opNin:
		return f.compileComparison(scalars)
	case opContains, opIContains, opExists, opEq, opNe, opGt, opGte, opLt, opLte:
		return f.compileComparison(scalar)
	}
	return nil, fmt.Errorf("filter operator %q: %w: use eq, ne, in, nin, gt, gte, lt, lte, contains, icontains, exists, and, or, not", f.Op, ErrInvalid)
}

func (f *Filter) compileLogic() (func(*Memory) bool, error) {
	if len(f.Args) == 0 || f.Op == opNot && len(f.Args) != 1 {
		return nil, fmt.Errorf("filter %s with %d arguments: %w", f.Op, len(f.Args), ErrInvalid)
	}
	preds := make([]func(*Memory) bool, len(f.Args))
	for i := range f.Args {
		p, err := f.Args[i].Compile()
		if err != nil {
			return nil, err
		}
		preds[i] = p
	}
	some := f.Op == opOr // the result of one argument that decides
	return func(m *Memory) bool {
		decided := slices.ContainsFunc(preds, func(p func(*Memory) bool) bool { return p(m) == some })
		return (decided == some) != (f.Op == opNot)
	}, nil
}

// orders are the comparisons by the order of two values.
var orders = map[string]func(int) bool{
	opGt: func(c int) bool { return c > 0 }, opGte: func(c int) bool { return c >= 0 },
	opLt: func(c int) bool { return c < 0 }, opLte: func(c int) bool { return c <= 0 },
}

// compileComparison compiles a comparison; normal converts the filter's value.
func (f *Filter) compileComparison(normal func(any) (any, error)) (func(*Memory) bool, error) {
	if strings.TrimPrefix(f.Field, "metadata.") == "" {
		return nil, fmt.Errorf("filter %s: %w: no field", f.Op, ErrInvalid)
	}
	value, err := normal(f.Value)
	if err == nil {
		err = f.check(value)
	}
	if err != nil {
		return nil, fmt.Errorf("filter %s %s: %w", f.Field, f.Op, err)
	}
	if f.Field == fieldEntity {
		value = foldNames(value)
	}
	get, holds, turned := fieldOf(f.Field), orders[f.Op], f.Op == opNe || f.Op == opNin
	return func(m *Memory) bool {
		v, ok := get(m)
		switch {
		case f.Op == opExists:
			return ok == value
		case !ok:
			return turned
		case f.Op == opContains, f.Op == opIContains:
			return contains(v, value, f.Op == opIContains)
		case f.Op == opEq, f.Op == opNe:
			return equal(v, value) != turned
		case holds == nil:
			return slices.ContainsFunc(value.([]any), func(x any) bool { return equal(v, x) }) != turned
		}
		c, comparable := compare(v, value)
		return comparable && holds(c)
	}, nil
}

// check returns an error if the field or the operator has no use for the value.
func (f *Filter) check(value any) error {
	_, isBool := value.(bool)
	_, isText := value.(string)
	switch {
	case f.Op == opExists && !isBool:
		return fmt.Errorf("value %v: %w: use true or false", value, ErrInvalid)
	case f.Op == opExists:
		return nil
	case f.Op == opIContains && !isText:
		return fmt.Errorf("value %v: %w: use a text", value, ErrInvalid)
	case isBool && orders[f.Op] != nil:
		return fmt.Errorf("%w: booleans have no order", ErrInvalid)
	}
	read, own := fields[f.Field]
	if !own {
		return nil
	}
	kind := read(&Memory{})
	_, names := kind.([]string)
	if _, text := kind.(string); !text && !names && (f.Op == opContains || f.Op == opIContains) {
		return fmt.Errorf("%w: the field is no text: use gte and lt", ErrInvalid)
	}
	if names && orders[f.Op] != nil {
		return fmt.Errorf("%w: names have no order: use eq or in", ErrInvalid)
	}
	values, list := value.([]any)
	if !list {
		values = []any{value}
	}
	for _, v := range values {
		if !fits(kind, v) {
			return fmt.Errorf("value %v of type %T: %w: the field is a %s", v, v, ErrInvalid, nameOf(kind))
		}
	}
	return nil
}

// fits reports whether a value can be compared with a field of a memory's own.
func fits(field, value any) bool {
	ok := false
	switch field.(type) {
	case string, []string:
		_, ok = value.(string)
	case time.Time:
		_, ok = instantOf(value)
	case *float64:
		_, ok = value.(float64)
	case bool:
		_, ok = value.(bool)
	}
	return ok
}

func nameOf(field any) string {
	switch field.(type) {
	case time.Time:
		return "time, such as 2026-03-07 or 2026-03-07T12:00:00Z"
	case *float64:
		return "number"
	case bool:
		return "truth value: true or false"
	}
	return "text"
}

// fieldOf returns a reader of a field. A zero value of a memory's own field counts as
// absent, except a boolean.
func fieldOf(name string) func(*Memory) (any, bool) {
	if read, ok := fields[name]; ok {
		return func(m *Memory) (any, bool) {
			switch v := read(m).(type) {
			case string:
				return v, v != ""
			case time.Time:
				return v, !v.IsZero()
			case *float64:
				if v != nil {
					return *v, true
				}
			case []string:
				return v, len(v) > 0
			case bool:
				return v, true
			}
			return nil, false
		}
	}
	key := strings.TrimPrefix(name, "metadata.")
	return func(m *Memory) (any, bool) { v, ok := m.Metadata[key]; return v, ok && v != nil }
}

// fieldEntity is the field with a list as its value; foldNames prepares it for
// comparison.
const fieldEntity = "entity"

// fields are the names of a memory's own fields, as [Filter] has them.
var fields = map[string]func(*Memory) any{
	"id":         func(m *Memory) any { return m.ID },
	"kind":       func(m *Memory) any { return string(m.Kind) },
	"namespace":  func(m *Memory) any { return m.Scope.Namespace },
	"workspace":  func(m *Memory) any { return m.Scope.Workspace },
	"user_id":    func(m *Memory) any { return m.Scope.UserID },
	"agent_id":   func(m *Memory) any { return m.Scope.AgentID },
	"session_id": func(m *Memory) any { return m.Scope.SessionID },
	"turn":       func(m *Memory) any { return m.Origin.Turn },
	"role":       func(m *Memory) any { return m.Origin.Role },
	"speaker":    func(m *Memory) any { return m.Origin.Speaker },
	"author":     func(m *Memory) any { return m.Origin.Author },
	"trust":      func(m *Memory) any { return m.Trust() },
	"quality":    func(m *Memory) any { return m.Quality },
	"standing":   func(m *Memory) any { return m.Standing },
	"delicate":   func(m *Memory) any { return m.Delicate },
	"observed":   func(m *Memory) any { return m.Observed },
	"valid":      func(m *Memory) any { return m.Valid },
	"created":    func(m *Memory) any { return m.Created },
	"updated":    func(m *Memory) any { return m.Updated },
	"expires":    func(m *Memory) any { return m.Expires },
	fieldEntity:  func(m *Memory) any { return m.names(foldName) },
}
