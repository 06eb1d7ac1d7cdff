// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

func manager() (*managed, *toolkit.Config) {
	m := &managed{owner: "ann", memories: map[string]string{"1": "likes tea", "2": "has a cat"}}
	cfg := config(m)
	cfg.Update, cfg.Delete = true, true
	return m, cfg
}

func TestUpdate(t *testing.T) {
	m, cfg := manager()
	require.Equal(t, "Updated memory [1]: likes coffee", run(t, cfg, toolkit.UpdateMemory, `{"id":" [1] ","content":"likes coffee"}`))
	require.Equal(t, "likes coffee", m.memories["1"])

	out := run(t, cfg, toolkit.UpdateMemory, `{"id":"9","content":"x"}`)
	require.Contains(t, out, `Error updating memory: memory "9": not found`)
	require.Contains(t, out, "Use an id that search_memory shows")
	require.Contains(t, run(t, cfg, toolkit.UpdateMemory, `{"content":"x"}`), "`id` is empty")
	require.Contains(t, run(t, cfg, toolkit.UpdateMemory, `{"id":"1","content":" "}`), "`content` is empty")
	require.Equal(t, "likes coffee", m.memories["1"])
}

func TestDelete(t *testing.T) {
	m, cfg := manager()
	require.Equal(t, "Deleted memory [2].", run(t, cfg, toolkit.DeleteMemory, `{"id":2}`), "a number is an id too")
	require.NotContains(t, m.memories, "2")
	require.Contains(t, run(t, cfg, toolkit.DeleteMemory, `{"id":"2"}`), "not found")
	require.Contains(t, run(t, cfg, toolkit.DeleteMemory, `{}`), "`id` is empty")
	require.Contains(t, run(t, cfg, toolkit.DeleteMemory, `{"id":["1"]}`), "could not be read")
	require.Contains(t, m.memories, "1")
}

func TestChangingToolsNeedAManager(t *testing.T) {
	for _, set := range []func(*toolkit.Config){
		func(c *toolkit.Config) { c.Update = true },
		func(c *toolkit.Config) { c.Delete = true },
	} {
		cfg := config(&fake{})
		set(cfg)
		_, err := toolkit.New(context.Background(), cfg)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "*toolkit_test.fake is no backends.Manager")
	}
}

func TestAnIDOfSomebodyElseIsNotFound(t *testing.T) {
	m, cfg := manager()
	cfg.Scope = func(context.Context) (backends.Scope, error) { return backends.Scope{UserID: "bob"}, nil }
	cfg.OnError = func(context.Context, string, error) { t.Error("a model's slip is no failure of memory") }
	for _, call := range [][2]string{
		{toolkit.UpdateMemory, `{"id":"1","content":"x","user_id":"ann"}`},
		{toolkit.DeleteMemory, `{"id":"1","user_id":"ann","scope":{"user_id":"ann"}}`},
	} {
		require.Contains(t, run(t, cfg, call[0], call[1]), "not found")
	}
	require.Equal(t, map[string]string{"1": "likes tea", "2": "has a cat"}, m.memories)
}
