// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// set gives a key, as resolve returns it, a value.
func (s *Settings) set(key string, content any, open Open) error {
	var err error
	if at, ok := fields[key]; ok {
		err = assign(reflect.ValueOf(s).Elem().FieldByIndex(at), content)
	} else if of, ok := strings.CutPrefix(key, weightsKey); ok {
		err = s.setWeight(of, content)
	} else {
		err = s.setPrompt(key, content, open)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (s *Settings) setWeight(of string, content any) error {
	x, err := float(content)
	if err != nil {
		return err
	}
	if s.Personal.TypeWeights == nil {
		s.Personal.TypeWeights = map[string]float64{}
	}
	s.Personal.TypeWeights[of] = x
	return nil
}

// promptFile is the file of a prompt, in place of its text.
type promptFile string

func (s *Settings) setPrompt(key string, content any, open Open) error {
	parts := strings.Split(key, ".") // prompts, group, step
	var text string
	switch c := content.(type) {
	case string:
		text = c
	case promptFile:
		if open == nil {
			return fmt.Errorf("%w: no files are read here", backends.ErrInvalid)
		}
		data, err := open(string(c))
		if err != nil {
			return err
		}
		text = string(data)
	default:
		return wanted("a text or {file: NAME}", content)
	}
	if len(text) > maxFile || !utf8.ValidString(text) {
		return fmt.Errorf("%w: a prompt is UTF-8 of at most %d bytes", backends.ErrInvalid, maxFile)
	}
	if s.Prompts == nil {
		s.Prompts = Prompts{}
	}
	if s.Prompts[parts[1]] == nil {
		s.Prompts[parts[1]] = map[string]string{}
	}
	s.Prompts[parts[1]][parts[2]] = text
	return nil
}

// assign puts a value into a field of its type.
func assign(field reflect.Value, content any) error {
	if field.Type() == reflect.TypeFor[time.Duration]() {
		d, err := duration(content)
		field.SetInt(int64(d))
		return err
	}
	switch field.Kind() {
	case reflect.Bool:
		b, ok := content.(bool)
		if !ok {
			return wanted("true or false", content)
		}
		field.SetBool(b)
	case reflect.String:
		text, ok := content.(string)
		if !ok {
			return wanted("a text", content)
		}
		field.SetString(text)
	case reflect.Int:
		x, err := float(content)
		if err != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
			return wanted("a whole number", content)
		}
		field.SetInt(int64(x))
	default:
		x, err := float(content)
		field.SetFloat(x)
		return err
	}
	return nil
}

// float returns a number as the parsers give it.
func float(content any) (float64, error) {
	var x float64
	switch c := content.(type) {
	case json.Number:
		var err error
		if x, err = c.Float64(); err != nil {
			return 0, fmt.Errorf("%w: no number that can be kept", backends.ErrInvalid)
		}
	case int:
		x = float64(c)
	case uint64:
		x = float64(c)
	case float64:
		x = c
	default:
		return 0, wanted("a number", content)
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, wanted("a number", content)
	}
	return x, nil
}

// duration reads "90s", "1h30m", "90d", or a number of seconds.
func duration(content any) (time.Duration, error) {
	const form = `a duration such as "90s" or "90d", or a number of seconds`
	unit := float64(time.Second)
	if text, ok := content.(string); ok {
		if d, err := time.ParseDuration(text); err == nil {
			return d, nil
		}
		days, ok := strings.CutSuffix(text, "d")
		x, err := strconv.ParseFloat(days, 64)
		if !ok || err != nil {
			return 0, wanted(form, content)
		}
		content, unit = x, float64(day)
	}
	x, err := float(content)
	if err != nil || math.Abs(x*unit) >= math.MaxInt64 {
		return 0, wanted(form, content)
	}
	return time.Duration(x * unit), nil
}

// wanted says what a value should be, without the value.
func wanted(what string, content any) error {
	got := "something else"
	switch content.(type) {
	case string:
		got = "a text"
	case bool:
		got = "true or false"
	case json.Number, int, uint64, float64:
		got = "another number"
	case []any:
		got = "a list"
	}
	return fmt.Errorf("%w: wanted is %s, not %s", backends.ErrInvalid, what, got)
}
