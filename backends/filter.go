// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Op is the operator of a [Filter].
type Op string

// The operators. A field that a memory does not have matches only OpNe, OpNin
// and what OpNot turns round.
const (
	OpEq       Op = "eq"
	OpNe       Op = "ne"
	OpIn       Op = "in"
	OpNin      Op = "nin"
	OpGt       Op = "gt"
	OpGte      Op = "gte"
	OpLt       Op = "lt"
	OpLte      Op = "lte"
	OpContains Op = "contains" // a substring of a text, or an element of a list
	OpAnd      Op = "and"
	OpOr       Op = "or"
	OpNot      Op = "not"
)

// Filter is a condition on memories. It is evaluated in process by one piece of
// code, so it means the same on every store. Build one with [Eq], [In], [And]
// and their like, or from JSON-like values with [ParseFilter].
//
// Field names: id, kind, namespace, workspace, user_id, agent_id, session_id,
// turn, role, speaker, author, quality, observed, valid, created, updated,
// expires. Every other name is a key of Metadata; write "metadata.role" to reach
// a key with one of those names.
//
// Numbers compare as float64, times as instants (a [time.Time] or an RFC 3339
// text on either side), texts byte by byte, booleans by eq and ne alone.
type Filter struct {
	Op    Op
	Field string   // for comparisons
	Value any      // for comparisons: string, bool, a number, time.Time; a slice of those for in and nin
	Args  []Filter // for and, or, not
}

// Eq matches memories whose field equals value.
func Eq(field string, value any) Filter { return Filter{Op: OpEq, Field: field, Value: value} }

// Ne matches memories whose field differs from value or is absent.
func Ne(field string, value any) Filter { return Filter{Op: OpNe, Field: field, Value: value} }

// In matches memories whose field equals one of values.
func In(field string, values ...any) Filter { return Filter{Op: OpIn, Field: field, Value: values} }

// Nin matches memories whose field equals none of values or is absent.
func Nin(field string, values ...any) Filter { return Filter{Op: OpNin, Field: field, Value: values} }

// Gt matches memories whose field is greater than value.
func Gt(field string, value any) Filter { return Filter{Op: OpGt, Field: field, Value: value} }

// Gte matches memories whose field is greater than value or equal to it.
func Gte(field string, value any) Filter { return Filter{Op: OpGte, Field: field, Value: value} }

// Lt matches memories whose field is less than value.
func Lt(field string, value any) Filter { return Filter{Op: OpLt, Field: field, Value: value} }

// Lte matches memories whose field is less than value or equal to it.
func Lte(field string, value any) Filter { return Filter{Op: OpLte, Field: field, Value: value} }

// Contains matches memories whose field is a text with value in it, or a list
// with value among its elements.
func Contains(field string, value any) Filter {
	return Filter{Op: OpContains, Field: field, Value: value}
}

// And matches memories that match every one of args.
func And(args ...Filter) Filter { return Filter{Op: OpAnd, Args: args} }

// Or matches memories that match one of args.
func Or(args ...Filter) Filter { return Filter{Op: OpOr, Args: args} }

// Not matches memories that do not match arg.
func Not(arg Filter) Filter { return Filter{Op: OpNot, Args: []Filter{arg}} }

// Compile checks the filter and returns it as a predicate that is safe for
// concurrent use. An unknown operator, a field without a name, an empty list of
// arguments or a value of a type that the operator does not take is
// [ErrInvalid]. A nil filter matches everything.
func (f *Filter) Compile() (func(*Memory) bool, error) {
	if f == nil {
		return func(*Memory) bool { return true }, nil
	}
	switch f.Op {
	case OpAnd, OpOr, OpNot:
		return f.compileLogic()
	case OpEq, OpNe, OpIn, OpNin, OpGt, OpGte, OpLt, OpLte, OpContains:
		return f.compileComparison()
	}
	return nil, fmt.Errorf("filter operator %q: %w: use eq, ne, in, nin, gt, gte, lt, lte, contains, and, or, not", f.Op, ErrInvalid)
}

func (f *Filter) compileLogic() (func(*Memory) bool, error) {
	if len(f.Args) == 0 || f.Op == OpNot && len(f.Args) != 1 {
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
	case OpAnd:
		return func(m *Memory) bool {
			return !slices.ContainsFunc(preds, func(p func(*Memory) bool) bool { return !p(m) })
		}, nil
	case OpOr:
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
	if f.Op == OpIn || f.Op == OpNin {
		list, err := scalars(f.Value)
		if err != nil {
			return nil, fmt.Errorf("filter %s %s: %w", f.Field, f.Op, err)
		}
		want := f.Op == OpIn
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
	case OpEq:
		return func(m *Memory) bool { v, ok := get(m); return ok && equal(v, value) }, nil
	case OpNe:
		return func(m *Memory) bool { v, ok := get(m); return !ok || !equal(v, value) }, nil
	case OpContains:
		return func(m *Memory) bool { v, ok := get(m); return ok && contains(v, value) }, nil
	}
	if _, isBool := value.(bool); isBool {
		return nil, fmt.Errorf("filter %s %s: %w: booleans have no order", f.Field, f.Op, ErrInvalid)
	}
	holds := map[Op]func(int) bool{
		OpGt: func(c int) bool { return c > 0 }, OpGte: func(c int) bool { return c >= 0 },
		OpLt: func(c int) bool { return c < 0 }, OpLte: func(c int) bool { return c <= 0 },
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

// scalar brings a filter's value to string, bool, float64 or time.Time.
func scalar(v any) (any, error) {
	switch x := v.(type) {
	case string, bool, time.Time:
		return x, nil
	case json.Number:
		n, err := x.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %q: %w", x, ErrInvalid)
		}
		return n, nil
	}
	if n, ok := number(v); ok {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, fmt.Errorf("value %v: %w: not a finite number", v, ErrInvalid)
		}
		return n, nil
	}
	if rv := reflect.ValueOf(v); rv.IsValid() && rv.Kind() == reflect.String {
		return rv.String(), nil // named strings, such as Kind
	}
	return nil, fmt.Errorf("value of type %T: %w: use a string, a number, a boolean or a time", v, ErrInvalid)
}

func scalars(v any) ([]any, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() != reflect.Slice {
		return nil, fmt.Errorf("value of type %T: %w: use a list", v, ErrInvalid)
	}
	if rv.Len() == 0 {
		return nil, fmt.Errorf("%w: empty list", ErrInvalid)
	}
	list := make([]any, rv.Len())
	for i := range list {
		x, err := scalar(rv.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		list[i] = x
	}
	return list, nil
}

func number(v any) (float64, bool) {
	rv := reflect.ValueOf(v)
	switch {
	case !rv.IsValid():
		return 0, false
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.CanFloat():
		return rv.Float(), true
	}
	return 0, false
}

func equal(v, want any) bool {
	if w, ok := want.(bool); ok {
		b, ok := v.(bool)
		return ok && b == w
	}
	c, comparable := compare(v, want)
	return comparable && c == 0
}

func contains(v, want any) bool {
	if s, ok := v.(string); ok {
		w, ok := want.(string)
		return ok && strings.Contains(s, w)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice {
		return false
	}
	for i := range rv.Len() {
		if equal(rv.Index(i).Interface(), want) {
			return true
		}
	}
	return false
}

// compare orders two values of one type: -1, 0 or 1, and whether they have an order.
func compare(v, want any) (int, bool) {
	switch w := want.(type) {
	case time.Time:
		t, ok := instantOf(v)
		return t.Compare(w), ok
	case float64:
		n, ok := number(v)
		if j, isJSON := v.(json.Number); isJSON {
			f, err := j.Float64()
			n, ok = f, err == nil
		}
		if !ok {
			return 0, false
		}
		switch {
		case n < w:
			return -1, true
		case n > w:
			return 1, true
		}
		return 0, n == w
	case string:
		if t, ok := v.(time.Time); ok {
			wt, ok := instantOf(w)
			return t.Compare(wt), ok
		}
		if s, ok := v.(string); ok {
			return strings.Compare(s, w), true
		}
	}
	return 0, false
}

func instantOf(v any) (time.Time, bool) {
	switch x := v.(type) {
	case time.Time:
		return x, true
	case string:
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, x); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// ParseFilter builds a filter from JSON-like values in the grammar that mem0's
// users know: {"field": value} is equality, {"field": [..]} is in, {"field":
// {"gte": 1, "lt": 5}} are comparisons that must all hold, and "AND", "OR" (lists)
// and "NOT" (a list or an object) combine. Fields beside each other are joined
// by AND. Unknown operators and the wildcard "*" are [ErrInvalid]. An empty map
// gives nil, which matches everything.
func ParseFilter(m map[string]any) (*Filter, error) {
	if len(m) == 0 {
		return nil, nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var all []Filter
	for _, k := range keys {
		f, err := parseEntry(k, m[k])
		if err != nil {
			return nil, err
		}
		all = append(all, f...)
	}
	f := And(all...)
	if len(all) == 1 {
		f = all[0]
	}
	if _, err := f.Compile(); err != nil {
		return nil, err
	}
	return &f, nil
}

func parseEntry(key string, value any) ([]Filter, error) {
	switch op := Op(strings.ToLower(key)); op {
	case OpAnd, OpOr, OpNot:
		if key != strings.ToUpper(key) {
			break // a metadata key that happens to be called "and"
		}
		args, err := parseList(key, value)
		if err != nil {
			return nil, err
		}
		if op == OpNot { // NOT of a list: none of them
			return []Filter{Not(Or(args...))}, nil
		}
		return []Filter{{Op: op, Args: args}}, nil
	}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nil, fmt.Errorf("filter %s: %w: no operator", key, ErrInvalid)
		}
		ops := make([]string, 0, len(v))
		for op := range v {
			ops = append(ops, op)
		}
		slices.Sort(ops)
		fs := make([]Filter, len(ops))
		for i, op := range ops {
			fs[i] = Filter{Op: Op(op), Field: key, Value: v[op]}
		}
		return fs, nil
	case string:
		if v == "*" {
			return nil, fmt.Errorf("filter %s: %w: there is no wildcard", key, ErrInvalid)
		}
	}
	if rv := reflect.ValueOf(value); rv.IsValid() && rv.Kind() == reflect.Slice {
		return []Filter{{Op: OpIn, Field: key, Value: value}}, nil
	}
	return []Filter{Eq(key, value)}, nil
}

func parseList(key string, value any) ([]Filter, error) {
	list, ok := value.([]any)
	if one, isMap := value.(map[string]any); isMap {
		list, ok = []any{one}, true
	}
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("filter %s: %w: takes a list of conditions", key, ErrInvalid)
	}
	args := make([]Filter, len(list))
	for i, x := range list {
		m, ok := x.(map[string]any)
		if !ok || len(m) == 0 {
			return nil, fmt.Errorf("filter %s: %w: argument %d is no condition", key, ErrInvalid, i)
		}
		f, err := ParseFilter(m)
		if err != nil {
			return nil, err
		}
		args[i] = *f
	}
	return args, nil
}
