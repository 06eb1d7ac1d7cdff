// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

const (
	opEq       = "eq"
	opNe       = "ne"
	opIn       = "in"
	opNin      = "nin"
	opGt       = "gt"
	opGte      = "gte"
	opLt       = "lt"
	opLte      = "lte"
	opContains = "contains" // a substring of a text, or an element of a list
	opAnd      = "and"
	opOr       = "or"
	opNot      = "not"
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
//
// The operators are eq, ne, in, nin, gt, gte, lt, lte, contains, and, or, not. A field that a
// memory does not have matches only ne, nin and what not negates.
type Filter struct {
	Op    string
	Field string   // for comparisons
	Value any      // for comparisons: string, bool, a number, time.Time; a slice of those for in and nin
	Args  []Filter // for and, or, not
}

// Eq matches memories whose field equals value.
func Eq(field string, value any) Filter { return Filter{Op: opEq, Field: field, Value: value} }

// Ne matches memories whose field differs from value or is absent.
func Ne(field string, value any) Filter { return Filter{Op: opNe, Field: field, Value: value} }

// In matches memories whose field equals one of values.
func In(field string, values ...any) Filter { return Filter{Op: opIn, Field: field, Value: values} }

// Gt matches memories whose field is greater than value.
func Gt(field string, value any) Filter { return Filter{Op: opGt, Field: field, Value: value} }

// Gte matches memories whose field is greater than value or equal to it.
func Gte(field string, value any) Filter { return Filter{Op: opGte, Field: field, Value: value} }

// Lt matches memories whose field is less than value.
func Lt(field string, value any) Filter { return Filter{Op: opLt, Field: field, Value: value} }

// Lte matches memories whose field is less than value or equal to it.
func Lte(field string, value any) Filter { return Filter{Op: opLte, Field: field, Value: value} }

// Contains matches memories whose field is a text with value in it, or a list
// with value among its elements.
func Contains(field string, value any) Filter {
	return Filter{Op: opContains, Field: field, Value: value}
}

// And matches memories that match every one of args.
func And(args ...Filter) Filter { return Filter{Op: opAnd, Args: args} }

// Or matches memories that match one of args.
func Or(args ...Filter) Filter { return Filter{Op: opOr, Args: args} }

// Not matches memories that do not match arg.
func Not(arg Filter) Filter { return Filter{Op: opNot, Args: []Filter{arg}} }
