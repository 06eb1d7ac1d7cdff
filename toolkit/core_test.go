// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/toolkit"
)

// coreConfig is that of ann's blocks on a store of their own.
func coreConfig(t testing.TB) *toolkit.CoreConfig {
	t.Helper()
	st, err := sqlitestore.Open(context.Background(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	blocks, err := core.New(&core.Config{Records: st, Tools: true, Blocks: []core.Block{
		{Name: "persona", ReadOnly: true, Initial: "I am helper."},
		{Name: "human", Description: "What you know\nabout the user", Limit: 40},
		{Name: "task", Owner: core.OwnerSession},
		{Name: "shared", Owner: backends.PartitionWorkspace},
	}})
	require.NoError(t, err)
	return &toolkit.CoreConfig{
		Blocks:  blocks,
		Scope:   func(context.Context) (backends.Scope, error) { return ann, nil },
		OnError: func(_ context.Context, stage string, err error) { t.Errorf("%s: %v", stage, err) },
	}
}

func coreTools(t testing.TB, cfg *toolkit.CoreConfig) map[string]tool.InvokableTool {
	t.Helper()
	tools, err := toolkit.CoreMemory(context.Background(), cfg)
	require.NoError(t, err)
	byName := map[string]tool.InvokableTool{}
	for _, b := range tools {
		info, err := b.Info(context.Background())
		require.NoError(t, err)
		byName[info.Name] = b.(tool.InvokableTool)
	}
	return byName
}

// edit calls a tool and requires that it does not end the agent's run.
func edit(t testing.TB, cfg *toolkit.CoreConfig, name, arguments string) string {
	t.Helper()
	out, err := coreTools(t, cfg)[name].InvokableRun(context.Background(), arguments)
	require.NoError(t, err)
	return out
}

func holds(t testing.TB, cfg *toolkit.CoreConfig, name string) string {
	t.Helper()
	values, err := cfg.Blocks.Get(context.Background(), ann)
	require.NoError(t, err)
	for _, v := range values {
		if v.Block.Name == name {
			return v.Text
		}
	}
	return "no such block"
}

const (
	appendTool  = toolkit.CoreMemoryAppend
	replaceTool = toolkit.CoreMemoryReplace
)

func TestCoreTools(t *testing.T) {
	cfg := coreConfig(t)
	for _, step := range []struct{ tool, arguments, want, human string }{
		{appendTool, `{"block":"human","text":"likes <tea>"}`, "Added to core memory block \"human\". It holds 11 of 40 characters now, 29 are left:\n<text>\nlikes &lt;tea&gt;\n</text>", "likes <tea>"},
		{replaceTool, `{"block":"human","old_text":"&lt;tea&gt;","new_text":"coffee"}`, "Replaced in core memory block \"human\". It holds 12 of 40 characters now, 28 are left:\n<text>\nlikes coffee\n</text>", "likes coffee"},
		{replaceTool, `{"block":"human","old_text":"tea","new_text":"water"}`, "Nothing was changed: `old_text` occurs 0 times in core memory block \"human\". Copy it exactly from what the block holds now:\n<text>\nlikes coffee\n</text>", "likes coffee"},
		{replaceTool, `{"block":"human","old_text":"f","new_text":"water"}`, "Nothing was changed: `old_text` occurs 2 times in core memory block \"human\". Pass more of the text around it, so that it occurs once.", "likes coffee"},
		{replaceTool, `{"block":"human","old_text":"likes coffee","new_text":""}`, "Replaced in core memory block \"human\". It holds 0 of 40 characters now, 40 are left:\n(nothing)", ""},
		{appendTool, `{"block":"human","text":"` + strings.Repeat("安", 41) + `"}`, "Nothing was changed: core memory block \"human\" would have 41 characters, and its limit is 40. It has 0 now. Make the edit at least 1 characters shorter, or first replace what the block holds with something shorter, by core_memory_replace.", ""},
		{appendTool, `{"block":"persona","text":"x"}`, "Nothing was changed: core memory block \"persona\" is read-only. You can edit: human, task, shared.", ""},
		{appendTool, `{"block":"plan","text":"x"}`, "Nothing was changed: there is no core memory block \"plan\". You can edit: human, task, shared.", ""},
		{appendTool, `{"text":"x"}`, "`block` is empty — nothing was changed. Name one of: human, task, shared.", ""},
		{appendTool, ``, "`block` is empty — nothing was changed. Name one of: human, task, shared.", ""},
		{appendTool, `{"block":"human","text":" "}`, "`text` is empty — nothing was changed.", ""},
		{replaceTool, `{"block":"human","new_text":"x"}`, "`old_text` is empty — nothing was changed. To add to a block, use core_memory_append.", ""},
		{replaceTool, `{"block":"human","old_text":"x"}`, "`new_text` is missing — nothing was changed. To delete old_text, pass an empty string as new_text.", ""},
		{replaceTool, `{"block":"human","old_text":"x","new_text":null}`, "`new_text` is missing — nothing was changed. To delete old_text, pass an empty string as new_text.", ""},
	} {
		assert.Equal(t, step.want, edit(t, cfg, step.tool, step.arguments), step.arguments)
		assert.Equal(t, step.human, holds(t, cfg, "human"), step.arguments)
	}
	out := edit(t, cfg, appendTool, `[1`)
	assert.Contains(t, out, "The arguments of core_memory_append could not be read")
	assert.Contains(t, out, "Call it again")
}

func TestCoreToolsTakeWhatModelsWrite(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"label":"human","content":"x"}`:              "x",
		`{"name":" Human ","text":"x"}`:                "x",
		`{"block":"[human]","text":["a","b"]}`:         "a\nb",
		`{"block":"human","text":7}`:                   "7",
		`{"block":"human","text":"x","user_id":"bob"}`: "x",
		`{"block":null,"label":"human","text":"x"}`:    "x",
	} {
		cfg := coreConfig(t)
		assert.Contains(t, edit(t, cfg, appendTool, arguments), "Added", arguments)
		assert.Equal(t, want, holds(t, cfg, "human"), arguments)
	}
	cfg := coreConfig(t)
	edit(t, cfg, appendTool, `{"block":"human","text":"a\n  b"}`)
	assert.Contains(t, edit(t, cfg, replaceTool, `{"label":"human","old_content":"\n  b","new_content":""}`), "Replaced")
	assert.Equal(t, "a", holds(t, cfg, "human"), "to the letter")
}

func TestCoreToolDescriptions(t *testing.T) {
	cfg := coreConfig(t)
	english := coreTools(t, cfg)
	cfg.Language = toolkit.Chinese
	for name, params := range map[string][]string{appendTool: {"block", "text"}, replaceTool: {"block", "old_text", "new_text"}} {
		for i, tools := range []map[string]tool.InvokableTool{english, coreTools(t, cfg)} {
			info, err := tools[name].Info(t.Context())
			require.NoError(t, err)
			assert.Contains(t, info.Desc, []string{"- human (at most 40 characters): What you know about the user\n- task (at most 2000 characters)\n", "- human（最多 40 个字符）：What you know about the user\n- task（最多 2000 个字符）\n"}[i])
			assert.NotContains(t, info.Desc, "persona", "the agent cannot edit it")
			schema, err := info.ToJSONSchema()
			require.NoError(t, err)
			assert.ElementsMatch(t, params, schema.Required)
			for _, p := range params {
				v, ok := schema.Properties.Get(p)
				require.True(t, ok)
				assert.NotEmpty(t, v.Description)
			}
			block, _ := schema.Properties.Get("block")
			assert.Equal(t, []any{"human", "task", "shared"}, block.Enum)
			_, err = json.Marshal(schema)
			require.NoError(t, err)
		}
	}
}

func TestCoreToolsInChinese(t *testing.T) {
	cfg := coreConfig(t)
	cfg.Language = toolkit.Chinese
	for _, step := range []struct{ tool, arguments, want string }{
		{appendTool, `{"block":"human","text":"喜欢茶"}`, "已追加到核心记忆块 \"human\"。现在共 3/40 个字符，剩余 37 个：\n<text>\n喜欢茶\n</text>"},
		{appendTool, `{"block":"human","text":"` + strings.Repeat("茶", 40) + `"}`, "没有做任何修改：核心记忆块 \"human\" 将有 44 个字符，上限是 40。它现在有 3 个字符。请将本次编辑至少缩短 4 个字符，或先用 core_memory_replace 把块中的内容改短。"},
		{replaceTool, `{"block":"human","old_text":"咖啡","new_text":""}`, "没有做任何修改：`old_text` 在核心记忆块 \"human\" 中出现 0 次。请从块的当前内容中原样复制：\n<text>\n喜欢茶\n</text>"},
	} {
		assert.Equal(t, step.want, edit(t, cfg, step.tool, step.arguments))
	}
}

func TestCoreToolsReportFailures(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		advice string
	}{
		"nobody":        {backends.ErrNoScope, "Nobody is known here"},
		"unavailable":   {backends.ErrUnavailable, "do not claim to have noted anything"},
		"bad scope":     {backends.ErrInvalid, "cannot succeed"},
		"anything else": {errors.New("boom"), "do not claim to have noted anything"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := coreConfig(t)
			var reported []string
			cfg.OnError = func(_ context.Context, stage string, err error) {
				require.ErrorIs(t, err, c.err)
				reported = append(reported, stage)
				panic("of the application")
			}
			cfg.Scope = func(context.Context) (backends.Scope, error) { return backends.Scope{}, c.err }
			assert.Contains(t, edit(t, cfg, appendTool, `{"block":"human","text":"x"}`), c.advice)
			assert.Contains(t, edit(t, cfg, replaceTool, `{"block":"human","old_text":"x","new_text":"y"}`), c.advice)
			assert.Equal(t, []string{toolkit.StageCoreAppendTool, toolkit.StageCoreReplaceTool}, reported)
		})
	}
}

func TestABlockWhoseOwnerNobodyNames(t *testing.T) {
	cfg := coreConfig(t)
	heard := 0
	cfg.OnError = func(_ context.Context, _ string, err error) {
		heard++
		require.ErrorIs(t, err, backends.ErrNoScope)
	}
	out := edit(t, cfg, appendTool, `{"block":"shared","text":"x"}`)
	assert.Contains(t, out, "belongs to the workspace")
	assert.Equal(t, 1, heard)
}

func TestCoreToolsKeepCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg := coreConfig(t)
	cfg.OnError = nil
	_, err := coreTools(t, cfg)[appendTool].InvokableRun(ctx, `{"block":"human","text":"x"}`)
	require.ErrorIs(t, err, context.Canceled)
}

// A run that is resumed may repeat a call, which has its id.
func TestARepeatedCallEditsOnce(t *testing.T) {
	cfg := coreConfig(t)
	tools, err := toolkit.CoreMemory(t.Context(), cfg)
	require.NoError(t, err)
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	call := func(id, name, arguments string) string {
		out, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}}))
		require.NoError(t, err)
		return out[0].Content
	}
	for i := range 2 {
		out := call("1", appendTool, `{"block":"human","text":"tea"}`)
		assert.Equal(t, i == 1, strings.Contains(out, "carried out before"), out)
		assert.Equal(t, "tea", holds(t, cfg, "human"))
	}
	for range 2 {
		call("2", replaceTool, `{"block":"human","old_text":"tea","new_text":"coffee"}`)
		assert.Equal(t, "coffee", holds(t, cfg, "human"))
	}
	call("3", appendTool, `{"block":"human","text":"tea"}`)
	assert.Equal(t, "coffee\ntea", holds(t, cfg, "human"))
}

func TestCoreMemoryConfig(t *testing.T) {
	readOnly, err := core.New(&core.Config{Records: newStore(t), Blocks: []core.Block{{Name: "persona", ReadOnly: true}}})
	require.NoError(t, err)
	for name, change := range map[string]func(*toolkit.CoreConfig){
		"no blocks": func(c *toolkit.CoreConfig) { c.Blocks = nil },
		"no scope":  func(c *toolkit.CoreConfig) { c.Scope = nil },
		"language":  func(c *toolkit.CoreConfig) { c.Language = "eo" },
	} {
		cfg := coreConfig(t)
		change(cfg)
		_, err := toolkit.CoreMemory(t.Context(), cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err = toolkit.CoreMemory(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)

	cfg := coreConfig(t)
	cfg.Blocks = readOnly
	tools, err := toolkit.CoreMemory(t.Context(), cfg)
	require.NoError(t, err)
	require.Empty(t, tools, "there is nothing to edit")
}

func newStore(t testing.TB) *sqlitestore.Store {
	t.Helper()
	st, err := sqlitestore.Open(context.Background(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// Whatever a model writes, a tool answers with text, and no block is longer than its
// limit.
func FuzzCoreArguments(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `[]`, `"human"`, `{"block":"human","text":"x"}`, `{"block":"human","old_text":"x","new_text":"y"}`,
		`{"block":["human"],"text":["a",["b"]]}`, `{"block":"human","text":{"a":1}}`, `{"block":"human","text":"\ud800"}`, `{"BLOCK":"human","text":1e999}`,
		`{"block":"human","text":"</text></block></core_memory>"}`,
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, arguments string, add bool) {
		cfg := coreConfig(t)
		cfg.OnError = func(_ context.Context, _ string, err error) {
			if !errors.Is(err, backends.ErrInvalid) && !errors.Is(err, backends.ErrNoScope) {
				t.Errorf("%v", err)
			}
		}
		name := map[bool]string{true: appendTool, false: replaceTool}[add]
		edit(t, cfg, appendTool, `{"block":"human","text":"x"}`)
		out, err := coreTools(t, cfg)[name].InvokableRun(context.Background(), arguments)
		if err != nil || strings.TrimSpace(out) == "" {
			t.Fatalf("%q %v", out, err)
		}
		values, err := cfg.Blocks.Get(context.Background(), ann)
		require.NoError(t, err)
		for i := range values {
			if values[i].Size > values[i].Block.Limit || !strings.Contains(values[0].Text, "helper") {
				t.Fatalf("%+v", values[i])
			}
		}
	})
}

// A block of a workspace is many users', whose calls may have one id.
func TestACallOfAnotherUserIsNoRepetition(t *testing.T) {
	cfg := coreConfig(t)
	user := ann
	user.Workspace = "w"
	cfg.Scope = func(context.Context) (backends.Scope, error) { return user, nil }
	tools, err := toolkit.CoreMemory(t.Context(), cfg)
	require.NoError(t, err)
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	for _, name := range []string{"ann", "bob"} {
		user.UserID = name
		out, err := node.Invoke(t.Context(), schema.AssistantMessage("", []schema.ToolCall{{ID: "call_0", Function: schema.FunctionCall{Name: appendTool, Arguments: `{"block":"shared","text":"+1"}`}}}))
		require.NoError(t, err)
		require.Contains(t, out[0].Content, "Added", name)
	}
	values, err := cfg.Blocks.Get(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, "+1\n+1", values[len(values)-1].Text)
}

// A store that does not answer holds a call up for so long, and no longer.
func TestACoreCallEnds(t *testing.T) {
	for _, call := range [][2]string{{appendTool, `{"block":"human","text":"x"}`}, {replaceTool, `{"block":"human","old_text":"x","new_text":"y"}`}} {
		cfg := coreConfig(t)
		var told []string
		cfg.OnError = func(_ context.Context, stage string, _ error) { told = append(told, stage) }
		cfg.Timeout = time.Nanosecond
		require.Contains(t, edit(t, cfg, call[0], call[1]), "Core memory is not available now")
		require.Len(t, told, 1)
		cfg.Timeout = -1
		require.NotContains(t, edit(t, cfg, call[0], call[1]), "not available")
	}
}
