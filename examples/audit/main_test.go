// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// file returns a memory file in which Ann and an agent remember something.
func file(t *testing.T) string {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "memory.db")
	db, err := sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	backend, err := mem0.New(ctx, &mem0.Config{Store: db})
	require.NoError(t, err)
	for scope, said := range map[backends.Scope][]string{
		{UserID: "ann"}:  {"I like tea", "I LIKE TEA!", "我住在杭州"},
		{AgentID: "bot"}: {"..."},
	} {
		var messages []backends.Message
		for _, s := range said {
			messages = append(messages, backends.Message{Message: schema.UserMessage(s)})
		}
		_, err := backend.Add(ctx, &backends.AddRequest{Scope: scope, Messages: messages})
		require.NoError(t, err)
	}
	require.NoError(t, backend.Close(ctx))
	require.NoError(t, db.Close())
	return path
}

func call(t *testing.T, code int, args ...string) (stdout, stderr string) {
	var out, errs bytes.Buffer
	require.Equal(t, code, run(context.Background(), args, &out, &errs), errs.String())
	return out.String(), errs.String()
}

func TestAuditOfAFile(t *testing.T) {
	path := file(t)
	out, _ := call(t, 0, "-db", path)
	require.Contains(t, out, "default/user/ann: 3 memories; 0 facts and 3 turns hold")
	require.Regexp(t, `duplicate \[[0-9a-f-]+\] "I LIKE TEA!"`, out)
	require.Contains(t, out, "default/agent/bot: 1 memories")
	require.Regexp(t, `junk +\[[0-9a-f-]+\] "\.\.\."`, out)

	out, _ = call(t, 0, "-db", path, "-json")
	d := json.NewDecoder(bytes.NewBufferString(out))
	for d.More() {
		var line struct {
			Partition backends.Partition
			mem0.Audit
		}
		require.NoError(t, d.Decode(&line))
		require.Len(t, line.Findings, 1)
	}
	out, _ = call(t, 0, "-db", path, "-namespace", "other")
	require.Empty(t, out)
}

func TestAuditRefusesWhatItCannotRead(t *testing.T) {
	_, errs := call(t, 2)
	require.Contains(t, errs, "-db")
	_, errs = call(t, 2, "-db", filepath.Join(t.TempDir(), "none.db"))
	require.Contains(t, errs, "none.db")
	_, errs = call(t, 1, "-db", file(t), "-namespace", "*")
	require.Contains(t, errs, "audit:")
	call(t, 2, "-nonsense")
}
