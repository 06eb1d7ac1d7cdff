// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

var day = time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)

func sample() *backends.Memory {
	quality := 0.5
	return &backends.Memory{
		ID: "m1", Kind: backends.KindFact, Text: "likes tea", Quality: &quality, Standing: true, Observed: day, Created: day,
		Scope: backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"},
		Metadata: map[string]any{"city": "Hangzhou", "age": 41, "score": json.Number("2.5"), "vip": true, "tags": []any{"a", "b"}, "day": "2026-03-07", "role": "meta", "gone": nil,
			backends.MetaEntities: []any{"Bob Dylan", "上海", "ＩＢＭ"}},
		Origin: backends.Origin{Role: "user", Author: "model"},
	}
}

func TestAFilterWithoutAField(t *testing.T) {
	agent, day, any := backends.Eq("Agent_ID", "a"), backends.Filter{Op: "gt", Field: "observed", Value: day}, backends.Or(backends.Eq("agent_id", "a"), backends.Eq("k", "v"))
	for _, c := range []struct{ f, want *backends.Filter }{
		{nil, nil},
		{&agent, nil},
		{&day, &day},
		{&any, &any},
		{ptr(backends.And(agent)), nil},
		{ptr(backends.And(backends.And(agent, day), any)), ptr(backends.And(backends.And(day), any))},
	} {
		require.Equal(t, c.want, c.f.Without("agent_id"))
	}
}

func ptr(f backends.Filter) *backends.Filter { return &f }

func TestFilterOperators(t *testing.T) {
	for name, c := range map[string]struct {
		filter backends.Filter
		want   bool
	}{
		"eq text":                     {backends.Eq("city", "Hangzhou"), true},
		"eq text is exact":            {backends.Eq("city", "hangzhou"), false},
		"eq kind constant":            {backends.Eq("kind", backends.KindFact), true},
		"eq number of another type":   {backends.Eq("age", 41.0), true},
		"eq JSON number":              {backends.Eq("score", 2.5), true},
		"eq number against text":      {backends.Eq("city", 1), false},
		"eq boolean":                  {backends.Eq("vip", true), true},
		"eq boolean against text":     {backends.Eq("city", true), false},
		"eq absent":                   {backends.Eq("none", "x"), false},
		"ne":                          {backends.Ne("city", "Beijing"), true},
		"ne absent":                   {backends.Ne("none", "x"), true},
		"null counts as absent":       {backends.Ne("gone", "x"), true},
		"in":                          {backends.Filter{Op: "in", Field: "city", Value: []any{"Beijing", "Hangzhou"}}, true},
		"nin":                         {backends.Filter{Op: "nin", Field: "city", Value: []any{"Beijing"}}, true},
		"nin absent":                  {backends.Filter{Op: "nin", Field: "none", Value: []any{"x"}}, true},
		"gt":                          {backends.Filter{Op: "gt", Field: "age", Value: 40}, true},
		"gt equal":                    {backends.Filter{Op: "gt", Field: "age", Value: 41}, false},
		"gte":                         {backends.Filter{Op: "gte", Field: "age", Value: 41}, true},
		"lt":                          {backends.Filter{Op: "lt", Field: "quality", Value: 0.6}, true},
		"standing":                    {backends.Eq("standing", true), true},
		"not delicate":                {backends.Eq("delicate", false), true},
		"delicate":                    {backends.Eq("delicate", true), false},
		"lte":                         {backends.Filter{Op: "lte", Field: "quality", Value: 0.5}, true},
		"gt absent":                   {backends.Filter{Op: "gt", Field: "none", Value: 1}, false},
		"time against time":           {backends.Filter{Op: "gte", Field: "observed", Value: day}, true},
		"time against text":           {backends.Filter{Op: "lt", Field: "observed", Value: "2026-03-08"}, true},
		"text against time":           {backends.Filter{Op: "lte", Field: "day", Value: day}, true},
		"unset time is absent":        {backends.Filter{Op: "lt", Field: "expires", Value: day}, false},
		"contains substring":          {backends.Filter{Op: "contains", Field: "city", Value: "ang"}, true},
		"icontains substring":         {backends.Filter{Op: "icontains", Field: "city", Value: "hANG"}, true},
		"icontains own field":         {backends.Filter{Op: "icontains", Field: "user_id", Value: "ANN"}, true},
		"icontains element":           {backends.Filter{Op: "icontains", Field: "tags", Value: "B"}, true},
		"icontains no part of one":    {backends.Filter{Op: "icontains", Field: "tags", Value: ""}, false},
		"exists":                      {backends.Filter{Op: "exists", Field: "city", Value: true}, true},
		"exists not":                  {backends.Filter{Op: "exists", Field: "none", Value: false}, true},
		"exists own field":            {backends.Filter{Op: "exists", Field: "expires", Value: true}, false},
		"null does not exist":         {backends.Filter{Op: "exists", Field: "gone", Value: true}, false},
		"eq element":                  {backends.Eq("tags", "b"), true},
		"eq no element":               {backends.Eq("tags", "c"), false},
		"ne element":                  {backends.Ne("tags", "b"), false},
		"in element":                  {backends.Filter{Op: "in", Field: "tags", Value: []string{"x", "a"}}, true},
		"nin element":                 {backends.Filter{Op: "nin", Field: "tags", Value: []string{"x", "a"}}, false},
		"contains element":            {backends.Filter{Op: "contains", Field: "tags", Value: "b"}, true},
		"contains no part of element": {backends.Filter{Op: "contains", Field: "tags", Value: ""}, false},
		"entity":                      {backends.Eq("entity", "Bob Dylan"), true},
		"entity of any case, width":   {backends.Eq("entity", " BOB\u3000Ｄylan"), true},
		"entity of any case in both":  {backends.Eq("entity", "ibm"), true},
		"entity, Chinese":             {backends.Eq("entity", "上海"), true},
		"no part of an entity":        {backends.Eq("entity", "Bob"), false},
		"no blank entity":             {backends.Eq("entity", " "), false},
		"another entity":              {backends.Ne("entity", "Carl"), true},
		"entity in":                   {backends.Filter{Op: "in", Field: "entity", Value: []string{"Carl", "BOB DYLAN"}}, true},
		"entity nin":                  {backends.Filter{Op: "nin", Field: "entity", Value: []string{"Carl", "BOB DYLAN"}}, false},
		"entity contains an element":  {backends.Filter{Op: "contains", Field: "entity", Value: "bob dylan"}, true},
		"entity icontains no part":    {backends.Filter{Op: "icontains", Field: "entity", Value: "bob"}, false},
		"entity exists":               {backends.Filter{Op: "exists", Field: "entity", Value: true}, true},
		"the key of metadata is raw":  {backends.Eq("entities", "ibm"), false},
		"reserved name wins":          {backends.Eq("role", "user"), true},
		"metadata prefix":             {backends.Eq("metadata.role", "meta"), true},
		"scope attribute":             {backends.Eq("agent_id", "bot"), true},
		"and":                         {backends.And(backends.Eq("vip", true), backends.Eq("age", 1)), false},
		"or":                          {backends.Or(backends.Eq("vip", false), backends.Eq("age", 41)), true},
		"not":                         {backends.Not(backends.Eq("age", 41)), false},
	} {
		t.Run(name, func(t *testing.T) {
			match, err := c.filter.Compile()
			require.NoError(t, err)
			assert.Equal(t, c.want, match(sample()))
		})
	}
}

func TestFilterRefusesWhatHasNoMeaning(t *testing.T) {
	for name, f := range map[string]backends.Filter{
		"unknown operator":     {Op: "like", Field: "city", Value: "x"},
		"no operator":          {},
		"no field":             backends.Eq("", 1),
		"bare metadata":        backends.Eq("metadata.", 1),
		"value of a map":       backends.Eq("city", map[string]any{}),
		"nil value":            backends.Eq("city", nil),
		"NaN":                  {Op: "gt", Field: "age", Value: math.NaN()},
		"order of booleans":    {Op: "gt", Field: "vip", Value: true},
		"in without list":      {Op: "in", Field: "city", Value: "x"},
		"in with empty list":   {Op: "in", Field: "city", Value: []any{}},
		"empty and":            backends.And(),
		"not with two":         {Op: "not", Args: []backends.Filter{backends.Eq("a", 1), backends.Eq("b", 1)}},
		"unknown inside":       backends.And(backends.Eq("a", 1), backends.Filter{Op: "x", Field: "b"}),
		"eq with a list value": backends.Eq("tags", []string{"a"}),
		"a number for a text":  backends.Eq("user_id", 7),
		"a text for a number":  {Op: "gt", Field: "quality", Value: "high"},
		"a word for a time":    {Op: "gt", Field: "observed", Value: "yesterday"},
		"a part of a time":     {Op: "contains", Field: "observed", Value: "2026"},
		"in with another type": {Op: "in", Field: "role", Value: []any{"user", true}},
		"order of entities":    {Op: "gt", Field: "entity", Value: "Bob"},
		"entity of a number":   backends.Eq("entity", 7),
		"entities of numbers":  {Op: "in", Field: "entity", Value: []any{"Bob", 7}},
		"exists without bool":  {Op: "exists", Field: "city", Value: "yes"},
		"icontains a number":   {Op: "icontains", Field: "city", Value: 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.Compile()
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	var none *backends.Filter
	match, err := none.Compile()
	require.NoError(t, err)
	assert.True(t, match(sample()))
}

func TestParseFilterGrammar(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`:                                                     true,
		`{"city": "Hangzhou"}`:                                   true,
		`{"city": ["Beijing", "Hangzhou"]}`:                      true,
		`{"age": {"gte": 40, "lt": 50}}`:                         true,
		`{"age": {"gte": 40, "lt": 41}}`:                         false,
		`{"city": "Hangzhou", "age": 1}`:                         false,
		`{"OR": [{"age": 1}, {"vip": true}]}`:                    true,
		`{"AND": [{"age": 41}, {"vip": true}]}`:                  true,
		`{"NOT": [{"age": 1}, {"vip": true}]}`:                   false,
		`{"NOT": {"age": 1}}`:                                    true,
		`{"observed": {"gte": "2026-01-01"}}`:                    true,
		`{"city": {"icontains": "HANG"}}`:                        true,
		`{"city": {"exists": false}}`:                            false,
		`{"tags": "a"}`:                                          true,
		`{"metadata": {"city": "Hangzhou", "age": {"gte": 42}}}`: false,
		`{"metadata": {"city": "Hangzhou", "age": {"gte": 40}}}`: true,
	} {
		t.Run(text, func(t *testing.T) {
			var m map[string]any
			require.NoError(t, json.Unmarshal([]byte(text), &m))
			f, err := backends.ParseFilter(m)
			require.NoError(t, err)
			match, err := f.Compile()
			require.NoError(t, err)
			assert.Equal(t, want, match(sample()))
		})
	}
}

func TestParseFilterRefuses(t *testing.T) {
	for _, text := range []string{
		`{"user_id": "*"}`, `{"age": {"like": 1}}`, `{"OR": []}`, `{"OR": {}}`, `{"AND": [1]}`, `{"NOT": "x"}`,
		`{"age": {}}`, `{"city": null}`, `{"city": []}`, `{"": 1}`, `{"OR": [{}]}`,
	} {
		t.Run(text, func(t *testing.T) {
			var m map[string]any
			require.NoError(t, json.Unmarshal([]byte(text), &m))
			_, err := backends.ParseFilter(m)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
}

func TestNotIsTheComplement(t *testing.T) {
	fields := rapid.SampledFrom([]string{"city", "age", "vip", "tags", "observed", "none", "quality", "role", "entity"})
	ops := rapid.SampledFrom([]string{"eq", "ne", "gt", "gte", "lt", "lte", "contains", "icontains", "exists"})
	values := rapid.SampledFrom([]any{"Hangzhou", "a", "", 41, 0.5, day, "2026-03-07"})
	rapid.Check(t, func(t *rapid.T) {
		f := backends.Filter{Op: ops.Draw(t, "op"), Field: fields.Draw(t, "field"), Value: values.Draw(t, "value")}
		not := backends.Not(f)
		match, err := f.Compile()
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		opposite, err := not.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if match(sample()) == opposite(sample()) {
			t.Fatalf("%+v and its negation agree", f)
		}
	})
}

func FuzzParseFilter(f *testing.F) {
	f.Add(`{"a": 1}`)
	f.Add(`{"OR": [{"a": {"gt": "2026-01-01"}}, {"NOT": {"b": [1, true]}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m map[string]any
		if json.Unmarshal([]byte(text), &m) != nil {
			return
		}
		filter, err := backends.ParseFilter(m)
		if err != nil {
			return
		}
		match, err := filter.Compile()
		if err != nil {
			t.Fatalf("parsed, but does not compile: %v", err)
		}
		match(sample())
		match(&backends.Memory{})
	})
}
