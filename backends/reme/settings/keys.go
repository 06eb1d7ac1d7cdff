// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

const (
	weightsKey = "personal.type_weights." // then the type
	promptsKey = "prompts."               // then group and step
)

// fields are the keys of all fields that have one value, and where they are.
var fields = func() map[string][]int {
	out := map[string][]int{}
	collect(reflect.TypeFor[Settings](), "", nil, out)
	return out
}()

// keys are those of fields, in order.
var keys = func() []string {
	var out []string
	for key := range fields {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}()

func collect(t reflect.Type, prefix string, index []int, out map[string][]int) {
	for i := range t.NumField() {
		f, at := t.Field(i), append(index[:len(index):len(index)], i)
		switch key := prefix + snake(f.Name); f.Type.Kind() {
		case reflect.Struct:
			collect(f.Type, key+".", at, out)
		case reflect.Map:
		default:
			out[key] = at
		}
	}
}

// snake returns the name of a field as a key: TopK is top_k.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// isText reports whether a key takes any text.
func isText(key string) bool {
	if strings.HasPrefix(key, promptsKey) {
		return true
	}
	at, ok := fields[key]
	return ok && reflect.TypeFor[Settings]().FieldByIndex(at).Type.Kind() == reflect.String
}

// nearest returns the key of those known that differs least from one that is not:
// as a whole, or in its last part.
func nearest(key string, known []string) string {
	best, least := "", -1
	for _, k := range known {
		last := k[strings.LastIndexByte(k, '.')+1:]
		if d := min(distance(key, k), distance(key, last)); least < 0 || d < least {
			best, least = k, d
		}
	}
	return best
}

// maxCompared is how many bytes of a key are compared.
const maxCompared = 128

// distance is Levenshtein's: how many characters are to be changed, added or left
// out.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
