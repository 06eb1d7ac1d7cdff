// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/settings"
	"github.com/einomem/einomem/backends/reme/task"
)

func TestR27AFileAndOverridesConfigure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.yaml")
	require.NoError(t, os.WriteFile(file, []byte("language: zh\ntask: {success_threshold: 0.8}\nprompts: {task: {memory: 第}}\n"), 0o600))
	s, err := settings.Load([]string{file}, "limits.calls=2", "personal.in_workspace=true")
	require.NoError(t, err)
	b, learner := newBackend(t, open(t), func(c *reme.Config) { require.NoError(t, c.Configure(s)) })

	_, err = b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(0.9)}})
	require.NoError(t, err)
	got, err := b.Task().Retrieve(t.Context(), &task.RetrieveRequest{Scope: ann, Query: "refunding"})
	require.NoError(t, err)
	require.Len(t, got.Hits, 1)
	assert.Equal(t, "success", got.Hits[0].Metadata[task.MetaSource], "0.9 is a success")
	assert.Contains(t, got.Answer, "第", "a prompt of the file")

	asked := learner.Asked("")
	_, err = b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1), refund(0), refund(0)}})
	require.ErrorIs(t, err, reme.ErrLimit)
	assert.LessOrEqual(t, learner.Asked("")-asked, 2)

	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{Workspace: "lab"}, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.NoError(t, err)
	assert.Equal(t, []string{"ann lives in Hangzhou"}, find(t, b, backends.Scope{Workspace: "lab"}, "Hangzhou", backends.KindPersonal), "ReMe's layout")
}

func TestSettingsThatCannotWork(t *testing.T) {
	s := settings.Default()
	s.Task.Duplicate = 2
	require.ErrorIs(t, (&reme.Config{}).Configure(s), backends.ErrInvalid)
}
