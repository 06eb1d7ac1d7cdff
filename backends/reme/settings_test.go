// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/test/testkit"
)

func settingsFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// values returns what the fields of all keys hold.
func (s settings) values() map[string]any {
	out := map[string]any{}
	for key, field := range s {
		out[key] = reflect.ValueOf(field).Elem().Interface()
	}
	return out
}

func TestFilesThenOverridesWinKeyByKey(t *testing.T) {
	first := settingsFile(t, "first.yaml", `
language: zh
task: {top_k: 7, success_threshold: 0.8, rerank: true, forget_share: 0}
personal:
limits: {calls: 3, timeout: 90s}
tool: {keep: 720h}
`)
	second := settingsFile(t, "second.json", `{"task": {"top_k": 8, "rerank": null}, "limits": {"timeout": "1.5s"}}`)
	c := Config{Task: task.Config{KeepQuery: true}}
	require.NoError(t, c.LoadSettings([]string{first, second}, "task.top_k=9", "tool.no_refresh=true", "limits.tokens=1000", "language=en", "task.duplicate="))
	assert.Equal(t, backends.English, c.Language)
	assert.Equal(t, Limits{Calls: 3, Tokens: 1000, Timeout: 1500 * time.Millisecond}, c.Limits)
	assert.Equal(t, task.Config{TopK: 9, Threshold: 0.8, Rerank: true, Forget: task.Rule{MinUses: 5}, KeepQuery: true}, c.Task)
	assert.Equal(t, tool.Config{Keep: 720 * time.Hour, NoRefresh: true}, c.Tools)

	none := Config{}
	require.NoError(t, none.LoadSettings([]string{settingsFile(t, "empty.yaml", "# nothing\n"), settingsFile(t, "null.json", "null")}))
	assert.Equal(t, Config{Task: task.Config{Forget: task.DefaultRule()}}, none)
}

// Each key sets its field and no other, from a file and from an override, and refuses a value
// of another type.
func TestEveryKeySetsItsField(t *testing.T) {
	for key, field := range newSettings(&Config{}) {
		right, wrong := "x", "[1]"
		switch field.(type) {
		case *backends.Language:
			right = "zh"
		case *bool:
			right, wrong = "true", "7"
		case *int:
			right, wrong = "77", "1.5"
		case *float64:
			right, wrong = "0.123", "x"
		case *time.Duration:
			right, wrong = "90s", "90"
		}
		var fromFile, override, before Config
		require.NoError(t, fromFile.LoadSettings([]string{settingsFile(t, "x.yaml", nested(key, right))}), key)
		require.NoError(t, override.LoadSettings(nil, key+"="+right), key)
		require.Equal(t, fromFile, override, key)
		set, unset, changed := newSettings(&override).values(), newSettings(&Config{}).values(), []string{}
		for other := range set {
			if !reflect.DeepEqual(set[other], unset[other]) {
				changed = append(changed, other)
			}
		}
		require.Equal(t, []string{key}, changed)
		err := before.LoadSettings([]string{settingsFile(t, "x.yaml", nested(key, wrong))})
		require.ErrorIs(t, err, backends.ErrInvalid, key)
		require.ErrorContains(t, err, key)
		require.Equal(t, Config{}, before, key)
	}
}

// nested writes a key of a file as sections in each other.
func nested(key, value string) string {
	out, indent := "", ""
	for i, r := range key {
		if r == '.' {
			indent += " "
			out += ":\n" + indent
			continue
		}
		out += key[i : i+1]
	}
	return out + ": " + value
}

func TestNamesOfReMeAreKeys(t *testing.T) {
	var c Config
	require.NoError(t, c.LoadSettings([]string{settingsFile(t, "reme.yaml", `
language: zh
thread_pool_max_workers: 8
op:
  memory_deduplication_op: {params: {similarity_threshold: 0.6}}
  delete_memory_op: {freq_threshold: 6}
flow:
  retrieve_task_memory: {params: {top_k: 3}}
`)}, "utility_threshold=0.25", "recent_call_count=30", "op.rerank_memory_op.params.enable_llm_rerank=true"))
	assert.Equal(t, 8, c.Limits.Concurrency)
	assert.Equal(t, 30, c.Tools.Window)
	assert.Equal(t, task.Config{Duplicate: 0.6, TopK: 3, Rerank: true, Forget: task.Rule{MinUses: 6, MaxUtility: 0.25}}, c.Task)
	require.ErrorIs(t, c.LoadSettings(nil, "op.comparative_extraction_op.params.similarity_threshold=0.4"), backends.ErrInvalid, "of tasks, not of duplicates")

	s := newSettings(&Config{})
	for name, key := range formerNames {
		require.Contains(t, s, key)
		for _, form := range []string{"%s", "op.any_op.%s", "op.any_op.params.%s", "flow.any.%s", "flow.any.params.%s"} {
			got, err := s.key(fmt.Sprintf(form, name))
			require.NoError(t, err)
			require.Equal(t, key, got)
		}
		for _, form := range []string{"other.any.%s", "op.%s", "op.a.b.%s", "%s.x"} {
			_, err := s.key(fmt.Sprintf(form, name))
			require.ErrorIs(t, err, backends.ErrInvalid)
		}
	}
}

// An unknown key is an error that names those beside it, and never repeats the value: it may
// be a secret.
func TestUnknownKeysAndSecrets(t *testing.T) {
	const mark = "sk-very-secret"
	for override, want := range map[string]string{
		"task.sucess_threshold=" + mark:   "success_threshold",
		"lenguage=" + mark:                "language",
		"limit.calls=" + mark:             "limits",
		"limits=" + mark:                  "limits.calls",
		"api_key=" + mark:                 "values of Config",
		"llm.default.api_key=" + mark:     "values of Config",
		"limits.calls=" + mark:            "no int",
		"task.rerank=" + mark:             "no bool",
		"personal.top_k=[\"" + mark + "]": "no int",
		"no value":                        "write key=value",
		"=1":                              "write key=value",
		"task.top_k=0":                    "stands for the default",
	} {
		var c Config
		err := c.LoadSettings(nil, override)
		require.ErrorIs(t, err, backends.ErrInvalid, override)
		require.ErrorContains(t, err, want, override)
		require.NotContains(t, err.Error(), mark, override)
		require.Equal(t, Config{}, c)
	}
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	for name, content := range map[string]string{
		"not YAML": "a: [", "not JSON": "{", "a list": "- a", "a key twice": "task: {top_k: 3}\ntop_k: 4\n", "a key in two ways": "task: {top_k: 3}\ntask.top_k: 3\n",
		"a cycle": "task: &a\n  op: *a", "a huge number": `{"task": {"top_k": 1e999}}`,
	} {
		var c Config
		err := c.LoadSettings([]string{settingsFile(t, "x.yaml", content)})
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, "x.yaml", name)
		require.Equal(t, Config{}, c, name)
	}
	require.ErrorIs(t, new(Config).LoadSettings([]string{filepath.Join(t.TempDir(), "missing.yaml")}), fs.ErrNotExist)
}

func TestNewChecksTheRangesOfSettings(t *testing.T) {
	for _, wrong := range []string{
		"task.validation_threshold=1.1", "task.duplicate=2", "task.forget_share=-0.1", "task.forget_after=-1", "task.duplicate=.nan", "language=fr", "task.top_k=1001",
		"tool.history=10001", "tool.keep=-1s", "personal.top_k=1001",
		"limits.timeout=-1s", "limits.calls=-1", "limits.prompt=511",
	} {
		c := Config{Store: testkit.SQLite(t), Model: testkit.New(testkit.Learn)}
		require.NoError(t, c.LoadSettings(nil, wrong), wrong)
		_, err := New(t.Context(), &c)
		require.ErrorIs(t, err, backends.ErrInvalid, wrong)
	}
}

func TestSettingsConfigureTheBackend(t *testing.T) {
	c := Config{Store: testkit.SQLite(t), Model: testkit.New(testkit.Learn)}
	file := settingsFile(t, "memory.yaml", "language: zh\ntask: {success_threshold: 0.8, top_k: 1, forget_after: 1}\n")
	require.NoError(t, c.LoadSettings([]string{file}, "limits.calls=2", "personal.top_k=1"))
	b, err := New(t.Context(), &c)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(t.Context())) }()
	lab := backends.Scope{Workspace: "lab"}
	for i, lesson := range []string{"LESSON refunding an order | check the payment first", "LESSON refunding late | ask a manager"} {
		_, err = b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: lab, Trajectories: []task.Trajectory{{TaskID: fmt.Sprint(i), Score: 0.9, Messages: []*schema.Message{
			schema.UserMessage("do it"), schema.AssistantMessage(lesson, nil)}}}})
		require.NoError(t, err)
	}
	got, err := b.Task().Retrieve(t.Context(), &task.RetrieveRequest{Scope: lab, Query: "refunding"})
	require.NoError(t, err)
	require.Len(t, got.Hits, 1)
	assert.Equal(t, "success", got.Hits[0].Metadata["source"], "0.9 is a success")
	assert.Contains(t, got.Answer, "适用情境", "the language of the file")
	_, err = b.Task().Record(t.Context(), &task.RecordRequest{Scope: lab, IDs: got.IDs()})
	require.NoError(t, err)
	forgotten, err := b.Task().Forget(t.Context(), &task.ForgetRequest{Scope: lab, DryRun: true})
	require.NoError(t, err)
	assert.Len(t, forgotten.Deleted, 1, "one use that was of no help")
	_, err = b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: lab, Trajectories: make([]task.Trajectory, 3)})
	require.Error(t, err)
	for _, text := range []string{"FACT ann lives in Hangzhou", "FACT ann works in Hangzhou"} {
		_, err = b.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{UserID: "ann"}, Messages: testkit.User(text)})
		require.NoError(t, err)
	}
	known, err := b.Personal().Retrieve(t.Context(), &PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Scope: backends.Scope{UserID: "ann"}, Query: "Hangzhou"}})
	require.NoError(t, err)
	assert.Len(t, known.Hits, 1)
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"task.top_k=3", "{}", `{"task":{"top_k":3}}`, "task: {top_k: 3}", "a: &a [*a]", "task: &a {task: *a}", "=", "limits={", "op..params.top_k=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		for _, change := range []func(*Config) error{
			func(c *Config) error { return c.LoadSettings(nil, input) },
			func(c *Config) error { n := *c; return newSettings(&n).read([]byte(input)) },
		} {
			var c Config
			if change(&c) != nil {
				require.Equal(t, Config{}, c)
			}
		}
	})
}
