// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// everythingIn returns the contents of all files below a folder, by their paths.
func everythingIn(t testing.TB, root *os.Root) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root.Name(), func(at string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(at)
			out[strings.TrimPrefix(at, root.Name()+"/")] = string(text)
		}
		return err
	}))
	return out
}

func TestForgettingAPersonTakesTheirFiles(t *testing.T) {
	root := folder(t)
	b, err := reme.New(t.Context(), &reme.Config{Store: testkit.SQLite(t), Model: testkit.New(testkit.Learn)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	f, err := flows.New(&flows.Config{Backend: b, Folder: root, Model: testkit.New(testkit.Learn)})
	require.NoError(t, err)
	as := func(user string) flows.Open {
		return func(s backends.Scope, _ access.Mode) (backends.Scope, error) {
			if s.UserID = user; s.UserID == "" && s.Workspace == "" {
				s.Workspace = "w"
			}
			return s.Normalize()
		}
	}
	does := func(user, flow, body string) {
		t.Helper()
		r, err := f.Call(t.Context(), flow, as(user), "", json.RawMessage(body))
		require.NoError(t, err)
		require.True(t, r.Success, r)
	}
	for _, user := range []string{"ann", "bob"} {
		does(user, "summary_working_memory", strings.ReplaceAll(large(3000, `,"user_id":"`+user+`","store_dir":"wm"`), "readme", "readme of "+user))
		does(user, "summary_working_memory", strings.ReplaceAll(large(3000, `,"workspace_id":"w"`), "readme", "readme of "+user))
		does(user, "summary_task_memory", `{"workspace_id":"w","trajectories":[{"messages":[{"role":"user","content":"LESSON of `+user+` | words of `+user+`"}],"score":1}]}`)
		does(user, "summary_personal_memory", `{"workspace_id":"`+user+`","trajectories":[{"messages":[{"role":"user","content":"FACT likes the words of `+user+`"}],"score":1}]}`)
		does(user, "vector_store", `{"workspace_id":"","user_id":"`+user+`","action":"dump","path":"backup"}`)
	}
	does("", "vector_store", `{"workspace_id":"w","action":"dump","path":"backup/deep"}`)
	before := everythingIn(t, root)
	require.Len(t, before, 7)

	request := &backends.ForgetRequest{Scope: backends.Scope{UserID: "ann"}}
	gone, err := b.Forget(t.Context(), request)
	require.NoError(t, err)
	n, err := f.Place().Forget(t.Context(), request, gone)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	after := everythingIn(t, root)
	for at, text := range after {
		require.NotContains(t, text, "of ann", at)
		if !strings.HasSuffix(at, "w.jsonl") {
			require.Equal(t, before[at], text, at)
		}
	}
	require.Len(t, after, 4, "those of others")
	require.Contains(t, after["backup/deep/w.jsonl"], "words of bob")
	n, err = f.Place().Forget(t.Context(), request, gone)
	require.NoError(t, err)
	require.Zero(t, n, "it can be repeated")
}

func TestFilesThatNameNobodyAreRefused(t *testing.T) {
	root := folder(t)
	b, err := reme.New(t.Context(), &reme.Config{Store: testkit.SQLite(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	require.NoError(t, root.MkdirAll(filepath.Join(".working_memory", text.HashID(backends.DefaultNamespace, "default", "", "")), 0o700))
	_, err = flows.New(&flows.Config{Backend: b, Folder: root})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "move it elsewhere")
}

// A file of a call that began before its person was forgotten does not stay.
func TestAFileThatComesAfterForgettingIsRefused(t *testing.T) {
	root, db := folder(t), testkit.SQLite(t)
	b, err := reme.New(t.Context(), &reme.Config{Store: db, Model: testkit.New(testkit.Learn)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	f, err := flows.New(&flows.Config{Backend: b, Folder: root})
	require.NoError(t, err)
	p := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}
	epoch, err := db.Epoch(t.Context(), p)
	require.NoError(t, err)
	_, err = db.Drop(t.Context(), p)
	require.NoError(t, err)
	ctx := store.WithEpoch(t.Context(), p, epoch)
	r, err := f.Call(ctx, "summary_working_memory", everything, "", json.RawMessage(large(3000, `,"user_id":"ann"`)))
	if err == nil {
		require.False(t, r.Success)
	}
	require.Empty(t, everythingIn(t, root))
}
