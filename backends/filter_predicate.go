// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Compile checks the filter and returns it as a predicate that is safe for
// concurrent use. An unknown operator, a field without a name, an empty list of
// arguments or a value of a type that the operator does not take is
// [ErrInvalid]. A nil filter matches everything.
func (f *Filter) Compile() (func(*Memory) bool, error) {
	if f == nil {
		return func(*Memory) bool { return true }, nil
	}
	switch f.Op {
	case opAnd, opOr, opNot:
		return f.compileLogic()
	case opEq, opNe, opIn, opNin, opGt, opGte, opLt, opLte, opContains:
		return f.compileComparison()
	}
	return nil, fmt.Errorf("filter operator %q: %w: use eq, ne, in, nin, gt, gte, lt, lte, contains, and, or, not", f.Op, ErrInvalid)
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
	switch f.Op {
	case opAnd:
		return func(m *Memory) bool {
			return !slices.ContainsFunc(preds, func(p func(*Memory) bool) bool { return !p(m) })
		}, nil
	case opOr:
		return func(m *Memory) bool {
			return slices.ContainsFunc(preds, func(p func(*Memory) bool) bool { return p(m) })
		}, nil
	default:
		return func(m *Memory) bool { return !preds[0](m) }, nil
	}
}

func (f *Filter) compileComparison() (func(*Memory) bool, error) {
	if strings.TrimPrefix(f.Field, "metadata.") == "" {
		return nil, fmt.Errorf("filter %s: %w: no field", f.Op, ErrInvalid)
	}
	get := fieldOf(f.Field)
	if f.Op == opIn || f.Op == opNin {
		list, err := scalars(f.Value)
		if err != nil {
			return nil, fmt.Errorf("filter %s %s: %w", f.Field, f.Op, err)
		}
		want := f.Op == opIn
		return func(m *Memory) bool {
			v, ok := get(m)
			return (ok && slices.ContainsFunc(list, func(x any) bool { return equal(v, x) })) == want
		}, nil
	}
	value, err := scalar(f.Value)
	if err != nil {
		return nil, fmt.Errorf("filter %s %s: %w", f.Field, f.Op, err)
	}
	switch f.Op {
	case opEq:
		return func(m *Memory) bool { v, ok := get(m); return ok && equal(v, value) }, nil
	case opNe:
		return func(m *Memory) bool { v, ok := get(m); return !ok || !equal(v, value) }, nil
	case opContains:
		return func(m *Memory) bool { v, ok := get(m); return ok && contains(v, value) }, nil
	}
	if _, isBool := value.(bool); isBool {
		return nil, fmt.Errorf("filter %s %s: %w: booleans have no order", f.Field, f.Op, ErrInvalid)
	}
	holds := map[string]func(int) bool{
		opGt: func(c int) bool { return c > 0 }, opGte: func(c int) bool { return c >= 0 },
		opLt: func(c int) bool { return c < 0 }, opLte: func(c int) bool { return c <= 0 },
	}[f.Op]
	return func(m *Memory) bool {
		v, ok := get(m)
		if !ok {
			return false
		}
		c, comparable := compare(v, value)
		return comparable && holds(c)
	}, nil
}

// fieldOf returns how to read a field. A zero value counts as absent.
func fieldOf(name string) func(*Memory) (any, bool) {
	text := func(get func(*Memory) string) func(*Memory) (any, bool) {
		return func(m *Memory) (any, bool) { s := get(m); return s, s != "" }
	}
	instant := func(get func(*Memory) time.Time) func(*Memory) (any, bool) {
		return func(m *Memory) (any, bool) { t := get(m); return t, !t.IsZero() }
	}
	switch name {
	case "id":
		return text(func(m *Memory) string { return m.ID })
	case "kind":
		return text(func(m *Memory) string { return string(m.Kind) })
	case "namespace":
		return text(func(m *Memory) string { return m.Scope.Namespace })
	case "workspace":
		return text(func(m *Memory) string { return m.Scope.Workspace })
	case "user_id":
		return text(func(m *Memory) string { return m.Scope.UserID })
	case "agent_id":
		return text(func(m *Memory) string { return m.Scope.AgentID })
	case "session_id":
		return text(func(m *Memory) string { return m.Scope.SessionID })
	case "turn":
		return text(func(m *Memory) string { return m.Origin.Turn })
	case "role":
		return text(func(m *Memory) string { return m.Origin.Role })
	case "speaker":
		return text(func(m *Memory) string { return m.Origin.Speaker })
	case "author":
		return text(func(m *Memory) string { return m.Origin.Author })
	case "quality":
		return func(m *Memory) (any, bool) {
			if m.Quality == nil {
				return nil, false
			}
			return *m.Quality, true
		}
	case "observed":
		return instant(func(m *Memory) time.Time { return m.Observed })
	case "valid":
		return instant(func(m *Memory) time.Time { return m.Valid })
	case "created":
		return instant(func(m *Memory) time.Time { return m.Created })
	case "updated":
		return instant(func(m *Memory) time.Time { return m.Updated })
	case "expires":
		return instant(func(m *Memory) time.Time { return m.Expires })
	}
	key := strings.TrimPrefix(name, "metadata.")
	return func(m *Memory) (any, bool) { v, ok := m.Metadata[key]; return v, ok && v != nil }
}
