// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/settings"
)

func TestR27Durations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"90d": 90 * 24 * time.Hour, "0.5d": 12 * time.Hour, `"36h"`: 36 * time.Hour, "250ms": 250 * time.Millisecond,
	} {
		s := settings.Default()
		require.NoError(t, s.Override(nil, "tool.keep="+text), text)
		require.Equal(t, want, s.Tool.Keep, text)
	}
	for _, wrong := range []string{"soon", "d", "1w", "true", "[1]", "1e300", "1e300d", "NaNd", "Infd", "-1e12d", `""`} {
		s := settings.Default()
		require.ErrorIs(t, s.Override(nil, "tool.keep="+wrong), backends.ErrInvalid, wrong)
		require.Equal(t, settings.Default(), s, wrong)
	}
}

func TestR27WholeNumbers(t *testing.T) {
	for text, want := range map[string]int{"3": 3, "3.0": 3, "3e2": 300, "2147483647": 2147483647} {
		s := settings.Default()
		require.NoError(t, s.Override(nil, "limits.calls="+text), text)
		require.Equal(t, want, s.Limits.Calls)
	}
	for _, wrong := range []string{"3.5", "three", "3e20", "-3e20", "true", `"3"`, "[3]", "9999999999"} {
		require.ErrorIs(t, settings.Default().Override(nil, "limits.calls="+wrong), backends.ErrInvalid, wrong)
	}
}

// What formats write differently is read alike.
func TestR27NumbersOfAllFormats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(
			rapid.Map(rapid.Float64Range(-1e9, 1e9), func(x float64) string { return fmt.Sprint(x) }),
			rapid.Map(rapid.IntRange(-1e9, 1e9), func(n int) string { return fmt.Sprint(n) }),
			rapid.SampledFrom([]string{"0", "-0", "1e3", "1.5e-3", "18446744073709551615"}),
		).Draw(t, "number")
		a, b, c := settings.Default(), settings.Default(), settings.Default()
		require.NoError(t, a.Override(nil, "task.success_threshold="+number))
		require.NoError(t, b.Read("x.json", []byte(`{"task": {"success_threshold": `+number+`}}`), nil))
		require.NoError(t, c.Read("x.yaml", []byte("task: {success_threshold: "+number+"}"), nil))
		require.Equal(t, a, b)
		require.Equal(t, a, c)
	})
}

func TestR27ValuesWithoutAKeyOfTheirOwn(t *testing.T) {
	s := settings.Default()
	for _, wrong := range []string{
		"personal.type_weights.=1", "personal.type_weights=1", "personal.type_weights.a=x", "personal.type_weights.a=true",
		"prompts=x", "prompts.task=x", "prompts.task.=x", "prompts..rewrite=x", "prompts.task.rewrite.text=x",
		"prompts.task.rewrite.file.name=x", "task.=1", ".=1", "task..top_k=1", `task=[1]`, `task="x"`,
	} {
		require.ErrorIs(t, s.Override(nil, wrong), backends.ErrInvalid, wrong)
	}
	require.Equal(t, settings.Default(), s)
	require.NoError(t, s.Override(nil, `task={"top_k": 3, "rerank": true}`, `prompts={"task": {"rewrite": "a"}}`, " task.rewrite = true"))
	require.Equal(t, 3, s.Task.TopK)
	require.True(t, s.Task.Rerank && s.Task.Rewrite)
	require.Equal(t, "a", s.Prompts["task"]["rewrite"])
}

// The first override that is wrong leaves nothing of those before it.
func TestR27OverridesAreAllOrNothing(t *testing.T) {
	s := settings.Default()
	require.Error(t, s.Override(nil, "task.top_k=3", "personal.type_weights.a=1", "prompts.task.rewrite=a", "task.top_k=x"))
	require.Equal(t, settings.Default(), s)
	require.NoError(t, s.Override(nil))
	require.Equal(t, settings.Default(), s)
}
