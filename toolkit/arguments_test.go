// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

func TestALimitInAnyShape(t *testing.T) {
	for limit, want := range map[string]int{
		`3`: 3, `"3"`: 3, `" 7 "`: 7, `3.9`: 3, `"2.5"`: 2, `1e1`: 10,
		`0`: 1, `-4`: 1, `51`: 50, `1e999`: 50, `"-1e999"`: 1, `9223372036854775808`: 50,
		`null`: 5, `"many"`: 5, `""`: 5, `true`: 5, `[3]`: 5, `{}`: 5, `"NaN"`: 5, `"inf"`: 50,
	} {
		f := &fake{}
		run(t, config(f), toolkit.SearchMemory, `{"keywords":["a"],"limit":`+limit+`}`)
		require.Len(t, f.searches, 1, limit)
		require.Equal(t, want, f.searches[0].TopK, limit)
	}
}

func TestKeywordsInAnyShape(t *testing.T) {
	for keywords, want := range map[string][]string{
		`["a"]`: {"a"}, `"a"`: {"a"}, `" a "`: {"a"}, `["a", 7, true, null]`: {"a", "7", "true"}, `12`: {"12"},
		`"[\"a\", \"b\"]"`: {"a", "b"}, `"[a]"`: {"[a]"}, `"[1"`: {"[1"}, `["猫","\ud800"]`: {"猫", "\uFFFD"},
	} {
		f := &fake{}
		run(t, config(f), toolkit.SearchMemory, `{"keywords":`+keywords+`}`)
		var got []string
		for _, s := range f.searches {
			got = append(got, s.Query)
		}
		require.ElementsMatch(t, want, got, keywords)
	}
}

func TestArgumentsThatCannotBeRead(t *testing.T) {
	for _, arguments := range []string{`{`, `nonsense`, `[]`, `"x"`, `{"keywords":{"a":1}}`, `{"keywords":[["a"]]}`, `{"keywords":["a"]} {}`, "{\"keywords\":[\"\x00\"]}"} {
		cfg := config(&fake{})
		cfg.OnError = func(context.Context, string, error) { t.Error("a model's slip is no failure of memory") }
		out := run(t, cfg, toolkit.SearchMemory, arguments)
		require.Contains(t, out, "The arguments of search_memory could not be read", arguments)
		require.Contains(t, out, "Call it again", arguments)
	}
}

// A model may be told, by a page that it reads, to look into somebody else's
// memory. No argument chooses whose memory a call is about.
func TestNoArgumentChoosesTheScope(t *testing.T) {
	const intruder = `"user_id":"bob","userId":"bob","UserID":"bob","scope":{"user_id":"bob"},"agent_id":"x","namespace":"other","workspace":"w","filter":{"user_id":"bob"},"run_id":"r"`
	f := &fake{}
	for name, arguments := range map[string]string{
		toolkit.SearchMemory: `{"keywords":["secret","user:bob","em:{default}:user:bob"],` + intruder + `}`,
		toolkit.AddMemory:    `{"thinking":"t","content":["planted"],` + intruder + `}`,
	} {
		run(t, config(f), name, arguments)
	}
	require.Len(t, f.searches, 3)
	require.Len(t, f.adds, 1)
	for _, s := range f.searches {
		require.Equal(t, ann, s.Scope)
		require.Nil(t, s.Filter)
	}
	require.Equal(t, ann, f.adds[0].Scope)
	require.Nil(t, f.adds[0].Metadata)
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"keywords":["a","b"],"limit":"3"}`, `{"keywords":"[\"a\"]","limit":-1.5}`, `{"limit":1e999,"keywords":[1,null]}`,
		`{"thinking":"t","content":["x"],"user_id":"bob"}`, `{"id":"[1]","content":"y"}`, `{"id":{},"content":[[]]}`, "{\"keywords\":[\"\xff\"]}", `[`, `nul`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		m, cfg := manager()
		m.onSearch = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			return hits("x"), nil
		}
		for name, tool := range build(t, cfg) {
			out, err := tool.InvokableRun(context.Background(), arguments)
			if err != nil || strings.TrimSpace(out) == "" || !utf8.ValidString(out) {
				t.Fatalf("%s answered %q, %v", name, out, err)
			}
			if strings.Contains(out, "panic") && !strings.Contains(arguments, "panic") {
				t.Fatalf("%s panicked: %s", name, out)
			}
		}
		if len(m.searches) > toolkit.MaxKeywords || len(m.adds) > 1 {
			t.Fatalf("%d searches, %d adds", len(m.searches), len(m.adds))
		}
		for _, s := range m.searches {
			if s.Scope != ann || s.TopK < 1 || s.TopK > toolkit.MaxLimit || strings.TrimSpace(s.Query) == "" || !utf8.ValidString(s.Query) {
				t.Fatalf("searched %+v", s)
			}
		}
		for _, a := range m.adds {
			if a.Scope != ann || strings.TrimSpace(a.Messages[0].Content) == "" || !utf8.ValidString(a.Messages[0].Content) {
				t.Fatalf("added %+v", a)
			}
		}
	})
}
