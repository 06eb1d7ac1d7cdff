// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/settings"
)

type steps struct {
	Judge      string
	SimplePass string
	Number     int
	hidden     string
}

func TestR27PromptsFillTheStepsOfAPackage(t *testing.T) {
	p := settings.Prompts{"task": {"judge": "a", "simple_pass": "b"}}
	into := steps{Judge: "default", hidden: "kept"}
	require.NoError(t, p.Fill("task", &into))
	require.Equal(t, steps{Judge: "a", SimplePass: "b", hidden: "kept"}, into)

	kept := steps{Judge: "default"}
	require.NoError(t, p.Fill("tool", &kept), "no prompts of the group")
	require.Equal(t, steps{Judge: "default"}, kept)

	p["task"]["simple_pas"] = "c"
	err := p.Fill("task", &kept)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "simple_pass")
	require.Equal(t, steps{Judge: "default"}, kept, "nothing is changed")
	for _, wrong := range []any{nil, steps{}, (*steps)(nil), new(int)} {
		require.ErrorIs(t, p.Fill("task", wrong), backends.ErrInvalid)
	}
	require.ErrorIs(t, settings.Prompts{"tool": {"number": "1", "hidden": "x"}}.Fill("tool", &kept), backends.ErrInvalid)
}

func TestR27PromptsComeFromFilesBesideTheSettings(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "judge.txt"), []byte("成功了吗?"), 0o600))
	config := filepath.Join(dir, "memory.yaml")
	require.NoError(t, os.WriteFile(config, []byte("prompts: {task: {judge: {file: judge.txt}}}"), 0o600))
	s, err := settings.Load([]string{config}, "prompts.task.success.file="+filepath.Join(dir, "judge.txt"))
	require.NoError(t, err)
	require.Equal(t, settings.Prompts{"task": {"judge": "成功了吗?", "success": "成功了吗?"}}, s.Prompts)

	_, err = settings.Load([]string{config}, `prompts.task.judge={"file": "nowhere.txt"}`)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, s.Override(nil, "prompts.task.judge.file=judge.txt"), backends.ErrInvalid, "no files")
	broken := func(string) ([]byte, error) { return []byte("\xff"), nil }
	require.ErrorIs(t, s.Override(broken, "prompts.task.judge.file=x"), backends.ErrInvalid)
	away := errors.New("away")
	require.ErrorIs(t, s.Override(func(string) ([]byte, error) { return nil, away }, "prompts.task.judge.file=x"), away)
	require.ErrorIs(t, s.Read("x.json", []byte(`{"prompts": {"task": {"rewrite": 5}}}`), nil), backends.ErrInvalid)
	require.ErrorIs(t, s.Read("x.json", []byte(`{"prompts": {"task": {"rewrite": {"fil": "x"}}}}`), nil), backends.ErrInvalid)
}
