// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep an input may be nested.
const maxDepth = 500

// python writes a JSON value as Python's json.dumps does with sort_keys and its
// other defaults: ", " and ": " between, everything beyond ASCII as \uXXXX, floats
// by their shortest form. Hashes that ReMe made depend on every byte of it.
type python struct{ strings.Builder }

// value writes v: what [decode] returns, or Go's own numbers.
func (p *python) value(v any) {
	switch x := v.(type) {
	case nil:
		p.WriteString("null")
	case bool:
		p.WriteString(strconv.FormatBool(x))
	case string:
		p.text(x)
	case json.Number:
		p.WriteString(pythonNumber(x))
	case float64:
		p.WriteString(pythonFloat(x))
	case []any:
		p.WriteByte('[')
		for i, e := range x {
			p.separate(i)
			p.value(e)
		}
		p.WriteByte(']')
	case map[string]any:
		p.object(x)
	}
}

func (p *python) object(o map[string]any) {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys) // bytes of UTF-8 sort as code points do
	p.WriteByte('{')
	for i, k := range keys {
		p.separate(i)
		p.text(k)
		p.WriteString(": ")
		p.value(o[k])
	}
	p.WriteByte('}')
}

func (p *python) separate(i int) {
	if i > 0 {
		p.WriteString(", ")
	}
}

// escapes are those that Python writes with a letter.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func (p *python) text(s string) {
	p.WriteByte('"')
	for _, r := range s {
		switch escaped, ok := escapes[r]; {
		case ok:
			p.WriteString(escaped)
		case r >= ' ' && r <= '~':
			p.WriteByte(byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(p, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(p, `\u%04x`, r)
		}
	}
	p.WriteByte('"')
}

// pythonNumber writes a number as Python reads and writes it: one with a point or
// an exponent is a float, every other an integer of any length.
func pythonNumber(n json.Number) string {
	s := n.String()
	if strings.ContainsAny(s, ".eE") {
		f, _ := strconv.ParseFloat(s, 64) // out of range is infinite, as in Python
		return pythonFloat(f)
	}
	if i, ok := new(big.Int).SetString(s, 10); ok {
		return i.String() // -0 is 0
	}
	return s
}

// pythonFloat writes a float as Python's repr: the fewest digits that read back as
// the same, an exponent below 1e-4 and from 1e16 on, and never as an integer.
func pythonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// decode reads JSON with its numbers as they are written.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() || !utf8.ValidString(text) {
		return nil, fmt.Errorf("more than one value, or not UTF-8")
	}
	return v, nil
}
