// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// foreign is what other memories keep. The first was written by MCP's server.
var foreign = map[string]string{
	"mcp": `{"type":"entity","name":"Ann_Lee","entityType":"person","observations":["Allergic to peanuts","喜欢喝龙井茶"]}
{"type":"entity","name":"default_user","entityType":"person","observations":["Lives in Hangzhou since March"]}
{"type":"entity","name":"Acme","entityType":"organization","observations":[]}
{"type":"relation","from":"Ann_Lee","to":"Acme","relationType":"works_at"}`,
	"chatgpt": `[{"id":"c1","title":"Dogs","current_node":"n5","mapping":{
		"n0":{"message":null},
		"n1":{"parent":"n0","message":{"id":"m1","author":{"role":"system"},"content":{"content_type":"text","parts":["be kind"]}}},
		"n2":{"parent":"n1","message":{"id":"m2","author":{"role":"user"},"create_time":1772442000.5,"content":{"content_type":"text","parts":["My dog is called Rex."]}}},
		"n3":{"parent":"n2","message":{"id":"m3","author":{"role":"assistant"},"create_time":1772442001,"content":{"content_type":"text","parts":["An answer that was thrown away."]}}},
		"n4":{"parent":"n2","message":{"id":"m4","author":{"role":"tool"},"content":{"content_type":"execution_output","parts":["42"]}}},
		"n5":{"parent":"n4","message":{"id":"m5","author":{"role":"user"},"create_time":null,"content":{"content_type":"multimodal_text","parts":[{"asset_pointer":"file-1"},"He is two years old."]}}}}},
		{"create_time":1772442002,"mapping":{
		"n1":{"children":["n2"],"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["Mine is called Max."]}}},
		"n2":{"parent":"n1","children":[],"message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["A fine name."]}}}}},
		{"create_time":1772442003,"mapping":{"n1":{"children":[],"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["Its colour is brown."]}}}}}]`,
	"markdown": "---\nname: notes\n---\n# Home\n\n- I live in Hangzhou,\n  near the lake.\n- [x] Rent is due on the 5th\n\n## 工作\n1. 我在一家银行上班\n\nI never eat peanuts.\n***\n<!-- mine -->\n| cat | Tom |\n|---|:-:|\n| dog | Rex |\n```sh\nrm -rf /\n```\n",
	"mem0":     `{"results":[{"id":"1","memory":"Loves hiking","user_id":"ann","created_at":"2026-01-02T03:04:05-08:00"},{"id":"2","memory":"Is Bob","user_id":"bob"}]}`,
}

// texts returns the memories of ann that hold.
func texts(t *testing.T, db string) (out []string) {
	for line := range strings.Lines(calls(t, 0, db, "list", "-user", "ann", "-json")) {
		var m backends.Memory
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		out = append(out, m.Text)
	}
	slices.Sort(out)
	return out
}

// Without -yes a file only shows what it would add. It adds each memory once, however often it is
// read, and others' memories never.
func TestBringingWhatOneHas(t *testing.T) {
	for from, want := range map[string][]string{
		"mcp":      {"Ann Lee works at Acme", "Ann Lee: Allergic to peanuts", "Ann Lee: 喜欢喝龙井茶", "Lives in Hangzhou since March"},
		"chatgpt":  {"A fine name.", "He is two years old.", "Its colour is brown.", "Mine is called Max.", "My dog is called Rex."},
		"markdown": {"Home: I live in Hangzhou, near the lake.", "Home: Rent is due on the 5th", "工作: I never eat peanuts.", "工作: cat | Tom", "工作: dog | Rex", "工作: 我在一家银行上班"},
		"mem0":     {"Loves hiking"},
	} {
		t.Run(from, func(t *testing.T) {
			folder := t.TempDir()
			db, file := filepath.Join(folder, "memory.db"), filepath.Join(folder, "file")
			require.NoError(t, os.WriteFile(file, []byte(foreign[from]), 0o600))
			calls(t, 0, db, "add", "first", "-user", "ann")
			out := calls(t, 0, db, "bring", file, "-from", from, "-user", "ann")
			for _, text := range want {
				require.Contains(t, out, text)
			}
			require.Equal(t, []string{"first"}, texts(t, db))
			for range 2 {
				calls(t, 0, db, "bring", file, "-from", from, "-user", "ann", "-yes")
				require.Equal(t, append(slices.Clone(want), "first"), append(slices.DeleteFunc(texts(t, db), func(s string) bool { return s == "first" }), "first"))
			}
			require.NotContains(t, calls(t, 0, db, "list", "-json"), "bob")
		})
	}
}

// An export by schema names its list as the schema does. Beside mem0's own list another is no memory.
func TestBringTakesTheListOfAnExport(t *testing.T) {
	for content, want := range map[string]string{
		`{"facts":[{"memory":"Loves hiking"}],"count":1}`:                               "Loves hiking",
		`{"results":[{"memory":"Loves hiking"}],"relations":[{"memory":"Knows Bob"}]}`:  "Loves hiking",
		`{"results":[{"memory":"Loves hiking"}],"memories":[{"content":"Has a boat"}]}`: "Has a boat Loves hiking",
	} {
		file, db := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "memory.db")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		calls(t, 0, db, "bring", file, "-from", "mem0", "-user", "ann", "-yes")
		require.Equal(t, want, strings.Join(texts(t, db), " "), content)
	}
}

func TestBringRefusesWhatItCannotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	db := filepath.Join(t.TempDir(), "memory.db")
	for _, c := range []struct {
		from, content, says string
		code                int
	}{
		{"notion", "", "give one of chatgpt, markdown, mcp, mem0", 2},
		{"mcp", "not json", "line 1: ", 1},
		{"mcp", `{"type":"node"}`, `type "node" is neither entity nor relation`, 1},
		{"chatgpt", `{"id":1}`, "cannot unmarshal object", 1},
		{"mem0", foreign["mem0"], "it holds nothing of carl, but of ann, bob: name one by -user", 1},
		{"mem0", `{"facts":[{"memory":"x"}],"others":[{"memory":"y"}]}`, "it holds nothing of", 1},
		{"mem0", `{"facts":["x"]}`, "cannot unmarshal string", 1},
		{"markdown", "", "it holds nothing of", 1},
	} {
		require.NoError(t, os.WriteFile(file, []byte(c.content), 0o600))
		require.Contains(t, calls(t, c.code, db, "bring", file, "-from", c.from, "-user", "carl", "-yes"), c.says, c.from)
	}
	require.Contains(t, calls(t, 1, db, "bring", file+"2", "-from", "mcp", "-user", "ann"), "no such file")
}
