// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

func TestAConfigThatCannotWork(t *testing.T) {
	for want, change := range map[string]func(*toolkit.Config){
		"no Config.Backend": func(c *toolkit.Config) { c.Backend = nil },
		"no Config.Scope":   func(c *toolkit.Config) { c.Scope = nil },
		"Config.Limit 51":   func(c *toolkit.Config) { c.Limit = 51 },
		"Config.Limit -1":   func(c *toolkit.Config) { c.Limit = -1 },
		`language "fr"`:     func(c *toolkit.Config) { c.Language = "fr" },
	} {
		cfg := config(&fake{})
		change(cfg)
		_, err := toolkit.New(context.Background(), cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	_, err := toolkit.New(context.Background(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestTheToolsAreInOrder(t *testing.T) {
	_, cfg := manager()
	tools, err := toolkit.New(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, []string{"search_memory", "add_memory", "update_memory", "delete_memory"}, names(t, tools))
	require.Equal(t, len(tools), cap(tools), "appending must not write into a shared array")

	cfg.Update, cfg.Delete = false, false
	tools, err = toolkit.New(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, []string{"search_memory", "add_memory"}, names(t, tools))
}

func names(t *testing.T, tools []tool.BaseTool) []string {
	t.Helper()
	var out []string
	for _, b := range tools {
		info, err := b.Info(context.Background())
		require.NoError(t, err)
		out = append(out, info.Name)
	}
	return out
}

func TestTheSchemas(t *testing.T) {
	_, cfg := manager()
	cfg.Limit = 7
	want := map[string]string{
		"search_memory": `{"additionalProperties":false,"properties":{
			"keywords":{"type":"array","items":{"type":"string"},"description":"*"},
			"limit":{"type":"integer","minimum":1,"maximum":50,"default":7,"description":"*"}},"required":["keywords"],"type":"object"}`,
		"add_memory": `{"additionalProperties":false,"properties":{
			"thinking":{"type":"string","description":"*"},
			"content":{"type":"array","items":{"type":"string"},"description":"*"}},"required":["thinking","content"],"type":"object"}`,
		"update_memory": `{"additionalProperties":false,"properties":{
			"id":{"type":"string","description":"*"},"content":{"type":"string","description":"*"}},"required":["id","content"],"type":"object"}`,
		"delete_memory": `{"additionalProperties":false,"properties":{"id":{"type":"string","description":"*"}},"required":["id"],"type":"object"}`,
	}
	for _, language := range []toolkit.Language{toolkit.Auto, toolkit.English, toolkit.Chinese} {
		cfg.Language = language
		for name, tool := range build(t, cfg) {
			info, err := tool.Info(context.Background())
			require.NoError(t, err)
			require.Equal(t, language == toolkit.Chinese, isChinese(info.Desc), info.Desc)
			params, err := info.ToJSONSchema()
			require.NoError(t, err)
			for p := params.Properties.Oldest(); p != nil; p = p.Next() {
				require.Equal(t, language == toolkit.Chinese, isChinese(p.Value.Description), p.Key)
			}
			got, err := json.Marshal(params)
			require.NoError(t, err)
			require.JSONEq(t, want[name], withoutDescriptions(t, got), name)
		}
	}
}

func isChinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// withoutDescriptions replaces every description that says something with "*".
func withoutDescriptions(t *testing.T, b []byte) string {
	t.Helper()
	var schema map[string]any
	require.NoError(t, json.Unmarshal(b, &schema))
	for _, p := range schema["properties"].(map[string]any) {
		if p.(map[string]any)["description"] != "" {
			p.(map[string]any)["description"] = "*"
		}
	}
	out, err := json.Marshal(schema)
	require.NoError(t, err)
	return string(out)
}

func TestResultsInChinese(t *testing.T) {
	cfg := config(&fake{})
	cfg.Language = toolkit.Chinese
	for arguments, want := range map[string]string{
		`{"keywords":[]}`:    "（未提供检索词，没有可检索的内容）",
		`{"keywords":["茶"]}`: "（没有找到相关记忆）",
		`{"keywords":{}}`:    "无法读取 search_memory 的参数",
	} {
		require.Contains(t, run(t, cfg, toolkit.SearchMemory, arguments), want)
	}
	require.Equal(t, "已成功写入记忆（理由：口味）:\n- 新增: [id-喜欢茶] 喜欢茶", run(t, cfg, toolkit.AddMemory, `{"thinking":"口味","content":["喜欢茶"]}`))
}

func TestNobodySignedInIsText(t *testing.T) {
	for name, scope := range map[string]func(context.Context) (backends.Scope, error){
		"an error":       func(context.Context) (backends.Scope, error) { return backends.Scope{}, backends.ErrNoScope },
		"an empty scope": func(context.Context) (backends.Scope, error) { return backends.Scope{}, nil },
		"not legal":      func(context.Context) (backends.Scope, error) { return backends.Scope{UserID: "*"}, nil },
	} {
		f := &fake{}
		cfg := config(f)
		cfg.Scope = scope
		var told []error
		cfg.OnError = func(_ context.Context, _ string, err error) { told = append(told, err) }
		require.Contains(t, run(t, cfg, toolkit.SearchMemory, `{"keywords":["a"]}`), "Error retrieving memory", name)
		require.Contains(t, run(t, cfg, toolkit.AddMemory, `{"content":["a"]}`), "Error recording memory", name)
		require.Empty(t, f.searches, name)
		require.Empty(t, f.adds, name)
		require.Len(t, told, 2, name)
		require.True(t, errors.Is(told[0], backends.ErrNoScope) || errors.Is(told[0], backends.ErrInvalid), name)
	}
}
