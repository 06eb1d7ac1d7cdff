// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/settings"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testkit"
)

func TestR27SettingsReachThePackages(t *testing.T) {
	s, err := settings.Load(nil, "language=zh", "success_threshold=0.8", "task.simple_threshold=0.7", "validation_threshold=0.6",
		"task.similar=true", "task.similar_above=0.4",
		"task.duplicate=0.8", "task.duplicate_words=0.5", "task.forget_after=7", "task.forget_share=0.25", "task.forget_strict=true",
		"tool.history=50", "tool.window=10", "tool.refresh_after=3", "tool.judge=true", "tool.keep=1d",
		"tool.max_arguments=1", "tool.max_result=2", "tool.max_description=3",
		"prompts.task.simple=a", "prompts.task.when_to_use=b", "prompts.tool.guideline=c")
	require.NoError(t, err)

	own := &task.Prompts{Judge: "own"}
	c := task.Config{Author: "kept", Prompts: own}
	require.NoError(t, s.FillTask(&c))
	require.Equal(t, task.Config{
		Author: "kept", Threshold: 0.8, SimpleThreshold: 0.7, MinQuality: 0.6, Similar: 0.4, Duplicate: 0.8, DuplicateWords: 0.5, Language: backends.Chinese,
		Prompts: &task.Prompts{Judge: "own", Simple: "a", WhenToUse: "b"},
	}, c)
	require.Equal(t, &task.Prompts{Judge: "own"}, own, "what was configured is not changed")
	require.Equal(t, task.Rule{MinUses: 7, MaxUtility: 0.25, Strict: true}, s.Rule())

	var m tool.Config
	require.NoError(t, s.FillTools(&m))
	require.Equal(t, tool.Config{History: 50, Window: 10, RefreshAfter: 3, Judge: true, Keep: 24 * time.Hour,
		MaxArguments: 1, MaxResult: 2, MaxDescription: 3, Language: backends.Chinese, Prompts: &tool.Prompts{Guideline: "c"}}, m)
}

func TestR27DefaultsAreThoseOfThePackages(t *testing.T) {
	s := settings.Default()
	require.Equal(t, task.DefaultRule(), s.Rule())
	require.Equal(t, task.DefaultTopK, s.Task.TopK)
}

func TestR27PersonalSettingsReachThePackage(t *testing.T) {
	s, err := settings.Load(nil, "personal.min_score=3", "personal.max_known=9", "personal.time_weight=4", "personal.in_workspace=true",
		"personal.type_weights.insight=7", "personal.type_weights.mine=8", "prompts.personal.summarize=a")
	require.NoError(t, err)
	var c reme.Config
	require.NoError(t, c.Configure(s))
	want := reme.DefaultTypeWeights()
	want["insight"], want["mine"] = 7, 8
	require.Equal(t, reme.PersonalConfig{MinScore: 3, MaxKnown: 9, TimeWeight: 4, InWorkspace: true, TypeWeights: want, Prompt: "a"}, c.Personal)

	own := map[string]float64{"own": 1}
	c.Personal = reme.PersonalConfig{TypeWeights: own}
	require.NoError(t, c.Configure(s))
	require.Equal(t, map[string]float64{"own": 1, "insight": 7, "mine": 8}, c.Personal.TypeWeights)
	require.Len(t, own, 1, "what was configured is not changed")
}

func TestR27StepsThatThereAreNot(t *testing.T) {
	s := settings.Default()
	s.Prompts = settings.Prompts{"task": {"jugde": "a"}, "tool": {"guidelines": "a"}}
	require.ErrorContains(t, s.Validate(), `"judge"`)
	require.ErrorContains(t, s.FillTask(&task.Config{}), `"judge"`)
	require.ErrorContains(t, s.FillTools(&tool.Config{}), `"guideline"`)
	require.ErrorIs(t, s.FillTools(&tool.Config{}), backends.ErrInvalid)
}

// What is valid here is valid there, to the last.
func TestR27TheLargestValuesWork(t *testing.T) {
	s, err := settings.Load(nil, "limits.prompt=512", "task.top_k=1000", "personal.top_k=1000", "tool.keep=1830d", "tool.history=10000", "tool.window=10000",
		"tool.max_arguments=65536", "tool.max_result=65536", "tool.max_description=1048576", "task.duplicate=1", "task.similar=true", "task.similar_above=0.999")
	require.NoError(t, err)
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	cfg := &reme.Config{Store: db, Model: &testkit.Learner{}}
	require.NoError(t, cfg.Configure(s))
	b, err := reme.New(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, b.Close(t.Context()))
}
