// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/settings"
)

// flat returns the values of all fields by name.
func flat(s *settings.Settings) map[string]any {
	out := map[string]any{}
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			name := prefix + v.Type().Field(i).Name
			if f := v.Field(i); f.Kind() == reflect.Struct {
				walk(name+".", f)
			} else {
				out[name] = f.Interface()
			}
		}
	}
	walk("", reflect.ValueOf(*s))
	return out
}

// changed returns the fields in which two settings differ.
func changed(a, b *settings.Settings) []string {
	one, two := flat(a), flat(b)
	var out []string
	for name := range one {
		if !reflect.DeepEqual(one[name], two[name]) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// valueOf returns a value that a key can have and by default does not, and one that is
// of a wrong type.
func valueOf(t *testing.T, key string) (right, wrong string) {
	t.Helper()
	if key == "language" {
		return "zh", "" // takes any text
	}
	for _, try := range []struct{ right, wrong string }{{"0.123", `"x"`}, {"77", "1.5"}, {"true", "1"}, {"false", "1"}} {
		s := settings.Default()
		if s.Override(nil, key+"="+try.right) == nil && len(changed(settings.Default(), s)) == 1 {
			return try.right, try.wrong
		}
	}
	require.Failf(t, "no value fits", "%s", key)
	return "", ""
}

func TestR27EachKeySetsItsFieldAndNoOther(t *testing.T) {
	require.Len(t, settings.Keys(), len(flat(settings.Default()))-2, "all fields but the two maps")
	for _, key := range settings.Keys() {
		t.Run(key, func(t *testing.T) {
			right, wrong := valueOf(t, key)
			s := settings.Default()
			require.NoError(t, s.Override(nil, key+"="+right))
			fields := changed(settings.Default(), s)
			require.Len(t, fields, 1)
			bare := strings.NewReplacer("_", "", ".", "").Replace(key)
			require.Equal(t, bare, strings.ToLower(strings.ReplaceAll(fields[0], ".", "")))

			// The same in a file, section in section.
			section, name, nested := strings.Cut(key, ".")
			text := fmt.Sprintf("%s: %s", section, right)
			if nested {
				text = fmt.Sprintf("%s: {%s: %s}", section, name, right)
			}
			inFile := settings.Default()
			require.NoError(t, inFile.Read("x.yaml", []byte(text), nil))
			require.Equal(t, s, inFile)

			if wrong == "" {
				return
			}
			before := settings.Default()
			err := before.Override(nil, key+"="+wrong)
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.ErrorContains(t, err, key)
			require.Equal(t, settings.Default(), before)
		})
	}
}

// A key with one character too many, too few or another is answered with the key.
func TestR27TyposAreAnsweredWithTheKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(settings.Keys()).Draw(t, "key")
		at := rapid.IntRange(0, len(key)-1).Draw(t, "at")
		typo := rapid.SampledFrom([]string{key[:at] + key[at+1:], key[:at] + "q" + key[at:], key[:at] + "q" + key[at+1:]}).Draw(t, "typo")
		if _, isKey := settings.Former()[typo]; isKey || slices.Contains(settings.Keys(), typo) {
			return
		}
		require.LessOrEqual(t, settings.Distance(typo, settings.Nearest(typo, settings.Keys())), 1)
		err := settings.Default().Override(nil, typo+"=1")
		require.ErrorIs(t, err, backends.ErrInvalid)
	})
}

func TestDistanceIsAMetric(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"top_k", "topk", 1}, {"ab", "ba", 2}} {
		require.Equal(t, c.want, settings.Distance(c.a, c.b), "%q %q", c.a, c.b)
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return rapid.StringMatching(`[ab_.]{0,8}`).Draw(t, name) }
		a, b, c := draw("a"), draw("b"), draw("c")
		ab, ba := settings.Distance(a, b), settings.Distance(b, a)
		require.Equal(t, ab, ba)
		require.Equal(t, a == b, ab == 0)
		require.LessOrEqual(t, ab, settings.Distance(a, c)+settings.Distance(c, b))
		require.LessOrEqual(t, ab, max(len(a), len(b)))
	})
}

// The table of the package comment is the one that is read.
func TestR27TheTableOfFormerNamesIsTheDocumentedOne(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	documented := map[string]string{}
	row := regexp.MustCompile(`(?m)^//\t([a-z_]+) +((?:task|personal|tool|limits)\.[a-z_]+)(?:;.*)?$`)
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		documented[m[1]] = m[2]
	}
	require.Equal(t, settings.Former(), documented)
}

func TestR27EachFormerNameIsItsKey(t *testing.T) {
	for name, key := range settings.Former() {
		right, _ := valueOf(t, key)
		want := settings.Default()
		require.NoError(t, want.Override(nil, key+"="+right))
		for _, form := range []string{"%s", "op.any_op.%s", "op.any_op.params.%s", "flow.any.%s", "flow.any.params.%s"} {
			s := settings.Default()
			require.NoError(t, s.Override(nil, fmt.Sprintf(form, name)+"="+right), name)
			require.Equal(t, want, s, form, name)
		}
		for _, form := range []string{"other.any.%s", "op.%s", "op.a.b.%s", "%s.x"} {
			require.ErrorIs(t, settings.Default().Override(nil, fmt.Sprintf(form, name)+"="+right), backends.ErrInvalid, form)
		}
	}
}
