// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/settings"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestR27DefaultsAreValidAndThoseDocumented(t *testing.T) {
	s := settings.Default()
	require.NoError(t, s.Validate())
	require.Equal(t, 1.0, s.Task.SuccessThreshold)
	require.Equal(t, 0.5, s.Task.ValidationThreshold)
	require.Equal(t, 0.9, s.Task.Duplicate)
	require.Equal(t, 5, s.Task.ForgetAfter)
	require.Equal(t, 0.5, s.Task.ForgetShare)
	require.Equal(t, 20, s.Tool.Window)
	require.Equal(t, 90*24*time.Hour, s.Tool.Keep)
	require.Equal(t, settings.Limits{Calls: 64, Tokens: 400_000, Prompt: 12_000, Concurrency: 4, Timeout: time.Minute}, s.Limits)
	loaded, err := settings.Load(nil)
	require.NoError(t, err)
	require.Equal(t, s, loaded)
}

func TestR27FilesThenOverridesWinKeyByKey(t *testing.T) {
	first := file(t, "first.yaml", `
language: zh
task: {top_k: 7, success_threshold: 0.8, rerank: true}
limits: {calls: 3, timeout: 90s}
tool: {keep: 30d}
personal: {type_weights: {personal_info: 1, insight: 2.5}}
`)
	second := file(t, "second.json", `{"task": {"top_k": 8, "rerank": null}, "limits": {"timeout": 1.5}, "personal": {"type_weights": {"insight": 3}}}`)
	s, err := settings.Load([]string{first, second}, "task.top_k=9", "tool.judge=True", `limits={"tokens": 1000}`, "language=en")
	require.NoError(t, err)
	want := settings.Default()
	want.Language = backends.English
	want.Task.TopK, want.Task.SuccessThreshold, want.Task.Rerank = 9, 0.8, true
	want.Tool.Keep, want.Tool.Judge = 30*24*time.Hour, true
	want.Limits.Calls, want.Limits.Tokens, want.Limits.Timeout = 3, 1000, 1500*time.Millisecond
	want.Personal.TypeWeights = map[string]float64{"personal_info": 1, "insight": 3}
	require.Equal(t, want, s)
}

func TestR27ValuesOfOverridesHaveTheTypeOfTheirKey(t *testing.T) {
	s := settings.Default()
	require.NoError(t, s.Override(nil,
		"task.similar=true", "task.similar_above=0.25", "tool.keep=36h", "limits.timeout=5",
		"prompts.task.rewrite=5", `prompts.task.rerank="a\nb"`, "prompts.tool.judge=[1]", "prompts.personal.summarize=a=b",
		"task.top_k=1e1", "personal.in_workspace=True", "task.rerank=None", "personal.type_weights.a.b=2"))
	require.True(t, s.Task.Similar && s.Personal.InWorkspace && !s.Task.Rerank)
	require.Equal(t, 0.25, s.Task.SimilarAbove)
	require.Equal(t, 36*time.Hour, s.Tool.Keep)
	require.Equal(t, 5*time.Second, s.Limits.Timeout)
	require.Equal(t, 10, s.Task.TopK)
	require.Equal(t, map[string]float64{"a.b": 2}, s.Personal.TypeWeights)
	require.Equal(t, settings.Prompts{"task": {"rewrite": "5", "rerank": "a\nb"}, "tool": {"judge": "[1]"}, "personal": {"summarize": "a=b"}}, s.Prompts)
}

func TestR27UnknownKeysNameTheNearest(t *testing.T) {
	for override, nearest := range map[string]string{
		"prompts.task.jugde=x":             "prompts.task.judge",
		"prompts.task.when_to_us=x":        "prompts.task.when_to_use",
		"task.sucess_threshold=1":          "task.success_threshold",
		"succes_threshold=1":               "task.success_threshold",
		"limit.calls=1":                    "limits.calls",
		"lenguage=zh":                      "language",
		"tool.histroy=1":                   "tool.history",
		"prompts.extrakt.judge=x":          "prompts.task.judge",
		"op.any_op.params.frq_threshold=1": "task.",
		"personal.type_weight.a=1":         "personal.type_weights",
		"limits=7":                         "a section",
		"taks={}":                          `"task"`,
		"taks=null":                        `"task"`,
		`{"a":1}=2`:                        `"`,
	} {
		err := settings.Default().Override(nil, override)
		require.ErrorIs(t, err, backends.ErrInvalid, override)
		require.ErrorContains(t, err, nearest, override)
	}
	require.NoError(t, settings.Default().Override(nil, "task=null", "prompts={}", "prompts.task={}", "personal.type_weights=null"))
}

// What is set to a key that there is not may be a secret.
func TestR27SecretsAreNotTakenAndNotRepeated(t *testing.T) {
	const mark = "sk-very-secret"
	for _, override := range []string{
		"llm.default.api_key=" + mark, "api_key=" + mark, "limits.calls=" + mark, `task.rerank="` + mark + `"`,
		"password=" + mark, "personal.min_score=[\"" + mark + "\"]",
	} {
		err := settings.Default().Override(nil, override)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.NotContains(t, err.Error(), mark)
	}
	require.ErrorContains(t, settings.Default().Override(nil, "api_key=x"), "no setting takes a secret")
}

func TestR27NamesOfReMe(t *testing.T) {
	s, err := settings.Load([]string{file(t, "reme.yaml", `
language: zh
thread_pool_max_workers: 8
op:
  memory_deduplication_op: {params: {similarity_threshold: 0.6}}
  comparative_extraction_op: {params: {similarity_threshold: 0.4, enable_similarity_comparison: true}}
  delete_memory_op: {freq_threshold: 6}
flow:
  retrieve_task_memory: {params: {top_k: 3}}
`)}, "utility_threshold=0.25", "recent_call_count=30", "op.rerank_memory_op.params.enable_llm_rerank=true")
	require.NoError(t, err)
	want := settings.Default()
	want.Language, want.Limits.Concurrency = backends.Chinese, 8
	want.Task.Duplicate, want.Task.SimilarAbove, want.Task.Similar, want.Task.ForgetAfter = 0.6, 0.4, true, 6
	want.Task.TopK, want.Task.ForgetShare, want.Task.Rerank, want.Tool.Window = 3, 0.25, true, 30
	require.Equal(t, want, s)

	for _, gone := range []string{"http.port=8002", "vector_store.default.backend=local", "backend=http"} {
		err := s.Override(nil, gone)
		require.ErrorContains(t, err, "no such setting: ", gone)
	}
}

func TestR27OneFileSetsAKeyOnce(t *testing.T) {
	for _, content := range []string{"task: {top_k: 3}\ntop_k: 4\n", "task: {top_k: 3}\ntask.top_k: 3\n"} {
		s := settings.Default()
		err := s.Read("x.yaml", []byte(content), nil)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "task.top_k")
		require.Equal(t, settings.Default(), s, "nothing is changed")
	}
}

func TestR27AllThatIsWrongIsSaidAtOnce(t *testing.T) {
	s := settings.Default()
	err := s.Read("x.json", []byte(`{"tsk": 1, "task": {"top_k": "many", "rerank": 1, "segment": true}, "limits": {"timeout": "soon"}}`), nil)
	for _, part := range []string{"tsk", "task.top_k", "task.rerank", "limits.timeout", "x.json"} {
		require.ErrorContains(t, err, part)
	}
	require.Equal(t, settings.Default(), s)
	s.Task.TopK, s.Limits.Calls, s.Language = 0, -1, "fr"
	for _, part := range []string{"task.top_k", "limits.calls", "language"} {
		require.ErrorContains(t, s.Validate(), part)
	}
}

func TestR27FilesThatCannotBeRead(t *testing.T) {
	s := settings.Default()
	for name, content := range map[string]string{
		"a.toml": "x", "b.json": "{", "c.json": `{} {}`, "d.yaml": "a: [", "e.yaml": "task: {}\n---\ntask: {}\n",
		"f.yaml": "- a", "g.json": "[]", "h.yaml": "1: 2", "i.yaml": "task: {1: 2}", "j.yaml": "task: {top_k: 1, top_k: 2}",
		"k.yaml": "task: {top_k: .nan}", "l.json": `{"task": {"top_k": 1e999}}`, "m.yaml": "tool: {keep: 2026-01-01}",
	} {
		require.ErrorIs(t, s.Read(name, []byte(content), nil), backends.ErrInvalid, name)
	}
	require.Equal(t, settings.Default(), s)
	for name, nothing := range map[string]string{"a.yaml": "", "b.json": " ", "c.yml": "# nothing\n", "d.json": "null", "e.yaml": "{}"} {
		require.NoError(t, s.Read(name, []byte(nothing), nil), name)
	}
	_, err := settings.Load([]string{filepath.Join(t.TempDir(), "missing.yaml")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = settings.Load([]string{file(t, "large.yaml", string(make([]byte, 1<<20+1)))})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = settings.Load(nil, "task.duplicate=0")
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorIs(t, s.Override(nil, "no value"), backends.ErrInvalid)
	require.ErrorIs(t, s.Override(nil, "=1"), backends.ErrInvalid)
}

func TestR27LimitsOfValues(t *testing.T) {
	for _, wrong := range []string{
		"task.validation_threshold=1.1", "task.duplicate=0", "task.forget_share=-0.1", "task.forget_after=0", "task.attempts=0", "task.success_threshold=0",
		"task.similar_above=1", "tool.history=10001", "tool.max_result=0",
		"task.similar_above=2", "personal.min_score=4", "personal.time_weight=0.5", "personal.type_weights.a=-1",
		"tool.window=101", "tool.history=0", "tool.refresh_after=0", "tool.keep=0", "limits.timeout=-1s", "limits.prompt=0",
		`prompts.task.rewrite=" "`, "limits.prompt=511", "task.top_k=1001", "personal.top_k=1001", "tool.keep=1831d",
		"tool.max_arguments=65537", "tool.max_result=65537", "tool.max_description=1048577",
	} {
		_, err := settings.Load(nil, wrong)
		require.ErrorIs(t, err, backends.ErrInvalid, wrong)
	}
	s := settings.Default()
	s.Task.SuccessThreshold = math.NaN()
	require.ErrorContains(t, s.Validate(), "task.success_threshold")
	s = settings.Default()
	s.Prompts = settings.Prompts{"nobody": {"x": "y"}}
	require.ErrorContains(t, s.Validate(), "nobody")
}

// What a clone or a change that fails does to maps is not seen by others.
func TestR27ClonesShareNothing(t *testing.T) {
	s := settings.Default()
	require.NoError(t, s.Override(nil, "prompts.task.rewrite=a", "personal.type_weights.a=1"))
	c := s.Clone()
	require.Equal(t, s, c)
	require.NoError(t, c.Override(nil, "prompts.task.rewrite=b", "personal.type_weights.a=2"))
	require.Error(t, s.Override(nil, "prompts.task.rewrite=c", "personal.type_weights.a=3", "nope=1"))
	require.Equal(t, "a", s.Prompts["task"]["rewrite"])
	require.Equal(t, 1.0, s.Personal.TypeWeights["a"])
}

// Overrides one by one are what they are in a file.
func TestR27OverridesEqualAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topK, share := rapid.IntRange(1, 1000).Draw(t, "top k"), rapid.Float64Range(0, 1).Draw(t, "share")
		judge := rapid.Bool().Draw(t, "judge")
		text := rapid.StringMatching(`[a-z0-9 {}":绿茶]{1,20}`).Draw(t, "prompt")
		a, b, c := settings.Default(), settings.Default(), settings.Default()
		require.NoError(t, a.Override(nil, fmt.Sprintf("task.top_k=%d", topK), fmt.Sprintf("utility_threshold=%v", share),
			fmt.Sprintf("tool.judge=%t", judge), fmt.Sprintf("prompts.task.judge=%q", text)))
		require.NoError(t, b.Read("x.json", fmt.Appendf(nil, `{"task": {"top_k": %d, "forget_share": %v}, "tool": {"judge": %t}, "prompts": {"task": {"judge": %q}}}`, topK, share, judge, text), nil))
		require.NoError(t, c.Read("x.yaml", fmt.Appendf(nil, "task.top_k: %d\ntask: {forget_share: %v}\ntool: {judge: %t}\nprompts: {task: {judge: %q}}\n", topK, share, judge, text), nil))
		require.Equal(t, a, b)
		require.Equal(t, a, c)
	})
}

func FuzzR27NoInputPanicsOrLeavesHalfAChange(f *testing.F) {
	for _, seed := range []string{"task.top_k=3", "{}", `{"task":{"top_k":3}}`, "task: {top_k: 3}", "prompts: {task: {rewrite: {file: b}}}", "a: &a [*a]", "=", "limits={", "tool.keep=1e300d", "op..params.top_k=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		open := func(string) ([]byte, error) { return nil, errors.New("no files") }
		for _, change := range []func(*settings.Settings) error{
			func(s *settings.Settings) error { return s.Override(open, input) },
			func(s *settings.Settings) error { return s.Read("x.yaml", []byte(input), open) },
			func(s *settings.Settings) error { return s.Read("x.json", []byte(input), open) },
		} {
			s := settings.Default()
			if err := change(s); err != nil {
				require.Equal(t, settings.Default(), s)
				continue
			}
			again := s.Clone()
			require.NoError(t, change(again))
			require.Equal(t, s, again, "the same twice is the same")
		}
	})
}
