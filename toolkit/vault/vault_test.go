// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/vault"
)

var (
	ann, bob = backends.Scope{UserID: "ann"}, backends.Scope{UserID: "bob"}
	key      = bytes.Repeat([]byte{1}, vault.KeySize)
	newer    = bytes.Repeat([]byte{2}, vault.KeySize)
)

const doorCode = "zq-4711-kxv"

func open(t testing.TB, s store.Blobs, keys ...[]byte) *vault.Vault {
	t.Helper()
	v, err := vault.New(&vault.Config{Store: s, Keys: keys})
	require.NoError(t, err)
	return v
}

func TestASecretIsKeptForItsPerson(t *testing.T) {
	s, ctx := testkit.SQLite(t), t.Context()
	v := open(t, s, key)
	require.NoError(t, v.Put(ctx, ann, "door code", []byte("old")))
	require.NoError(t, v.Put(ctx, ann, "door code", []byte(doorCode)))
	require.NoError(t, v.Put(ctx, ann, "保险箱", []byte{0, 255}))
	got, err := v.Get(ctx, ann, "door code")
	require.NoError(t, err)
	require.Equal(t, doorCode, string(got))
	names, err := v.Names(ctx, ann)
	require.NoError(t, err)
	require.Equal(t, []string{"door code", "保险箱"}, names)

	_, err = v.Get(ctx, bob, "door code")
	require.ErrorIs(t, err, backends.ErrNotFound)
	names, err = v.Names(ctx, bob)
	require.NoError(t, err)
	require.Empty(t, names)

	require.NoError(t, v.Delete(ctx, ann, "door code"))
	require.NoError(t, v.Delete(ctx, ann, "door code"), "again")
	_, err = v.Get(ctx, ann, "door code")
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestBadInputIsRefused(t *testing.T) {
	s, ctx := testkit.SQLite(t), t.Context()
	for _, c := range []*vault.Config{nil, {Store: s}, {Keys: [][]byte{key}}, {Store: s, Keys: [][]byte{key[1:]}}} {
		_, err := vault.New(c)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	v := open(t, s, key)
	for _, name := range []string{"", " a", "a\n", "\xff", strings.Repeat("a", 128+1)} {
		require.ErrorIs(t, v.Put(ctx, ann, name, []byte("x")), backends.ErrInvalid, "%q", name)
	}
	require.ErrorIs(t, v.Put(ctx, ann, "a", nil), backends.ErrInvalid)
	require.ErrorIs(t, v.Put(ctx, ann, "a", make([]byte, 64<<10+1)), backends.ErrInvalid)
	require.ErrorIs(t, v.Put(ctx, backends.Scope{}, "a", []byte("x")), backends.ErrNoScope)
	_, err := v.Tools(&backends.ToolSetup{Scope: scopeOf})
	require.ErrorIs(t, err, backends.ErrInvalid, "nobody is asked")
}

// A new key reads what an old one wrote, as long as the old one is there.
func TestKeysChange(t *testing.T) {
	s, ctx := testkit.SQLite(t), t.Context()
	require.NoError(t, open(t, s, key).Put(ctx, ann, "a", []byte(doorCode)))
	_, err := open(t, s, newer).Get(ctx, ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	both := open(t, s, newer, key)
	got, err := both.Get(ctx, ann, "a")
	require.NoError(t, err)
	require.NoError(t, both.Put(ctx, ann, "a", got))
	got, err = open(t, s, newer).Get(ctx, ann, "a")
	require.NoError(t, err)
	require.Equal(t, doorCode, string(got))
}

// Bytes that are moved to another person or name, or changed, decrypt to nothing.
func TestASecretIsBoundToItsPlace(t *testing.T) {
	s := testkit.SQLite(t)
	v := open(t, s, key)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		secret := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "secret")
		require.NoError(t, v.Put(ctx, ann, "a", secret))
		blobs := func(scope backends.Scope) (backends.Partition, string) {
			p, err := scope.Speaker()
			require.NoError(t, err)
			return p, "einomem/vault"
		}
		p, session := blobs(ann)
		data, err := s.GetBlob(ctx, p, session, "secret/a")
		require.NoError(t, err)
		other, _ := blobs(bob)
		require.NoError(t, s.PutBlob(ctx, other, session, "secret/a", data))
		require.NoError(t, s.PutBlob(ctx, p, session, "secret/b", data))
		_, err = v.Get(ctx, bob, "a")
		require.ErrorIs(t, err, backends.ErrUnavailable)
		_, err = v.Get(ctx, ann, "b")
		require.ErrorIs(t, err, backends.ErrUnavailable)
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1
		require.NoError(t, s.PutBlob(ctx, p, session, "secret/a", data))
		_, err = v.Get(ctx, ann, "a")
		require.ErrorIs(t, err, backends.ErrUnavailable)
	})
}

func scopeOf(context.Context) (backends.Scope, error) { return ann, nil }

// The agent reads a secret after the person agreed, and says it. Nothing of it is in the database,
// in a search, or in what a later turn is shown. Forget erases the vault.
func TestAnAgentReadsASecretAndMemoryDoesNot(t *testing.T) {
	folder := t.TempDir()
	db, err := sqlitestore.Open(t.Context(), filepath.Join(folder, "memory.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	mem, err := middleware.New(t.Context(), &middleware.Config{
		Backend: facts, Window: &window.Config{Budget: compaction.Budget{Window: 8000}}, RecordTool: func(string) bool { return true },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(context.Background())) }()
	v := open(t, db, key)
	require.NoError(t, v.Put(t.Context(), ann, "door code", []byte(doorCode)))
	agrees, asked := false, []backends.Change(nil)
	tools, err := v.Tools(&backends.ToolSetup{Scope: mem.ResolveScope, Confirm: func(_ context.Context, c backends.Change) (bool, error) {
		asked = append(asked, c)
		return agrees, nil
	}})
	require.NoError(t, err)
	talk := func(session, says string, replies ...testkit.Reply) [][]*schema.Message {
		t.Helper()
		m := testkit.New(replies...)
		run := testkit.Runner(testkit.Agent(t, "assistant", m, func(c *adk.ChatModelAgentConfig) { testkit.Attach(c, mem) }, tools...), false, nil)
		testkit.Drain(run.Query(middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: session}), says))
		return m.Calls()
	}
	result := func(calls [][]*schema.Message) string { return calls[len(calls)-1][len(calls[len(calls)-1])-1].Content }

	read := testkit.Call("1", "read_secret", `{"name":"door code"}`)
	require.Contains(t, result(talk("s1", "What is my door code?", read, testkit.Text("I may not say."))), "declined")
	require.Equal(t, []backends.Change{{Scope: backends.Scope{UserID: "ann", SessionID: "s1", Namespace: asked[0].Scope.Namespace}, Tool: "read_secret", Read: "door code"}}, asked)
	require.Contains(t, result(talk("s1", "And my safe?", testkit.Call("1", "read_secret", `{"name":"safe"}`), testkit.Text("?"))), "These exist: door code")
	agrees = true
	require.Equal(t, doorCode, result(talk("s1", "Tell me my door code.", read, testkit.Text("It is "+doorCode+"."))))
	require.NoError(t, mem.Flush(t.Context()))
	later := talk("s1", "What did you tell me?", testkit.Text("I forgot."))
	require.NotContains(t, strings.Join(said(later), "\n"), doorCode)
	require.Contains(t, said(later), "[Private: not kept.]")
	found, err := mem.Search(middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann"}), &backends.SearchRequest{Scope: ann, Query: "door code " + doorCode, TopK: 50})
	require.NoError(t, err)
	for _, h := range found.Hits {
		require.NotContains(t, h.Text, doorCode)
	}
	require.NoError(t, mem.Flush(t.Context()))
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotContains(t, string(data), doorCode, file)
	}

	receipt, err := mem.Forget(t.Context(), middleware.Scope{UserID: "ann"})
	require.NoError(t, err)
	require.Positive(t, receipt.Blobs)
	names, err := v.Names(t.Context(), ann)
	require.NoError(t, err)
	require.Empty(t, names)
}

func said(calls [][]*schema.Message) (out []string) {
	for _, m := range calls[0] {
		out = append(out, m.Content)
	}
	return out
}

// The agent hands a secret on to another tool, whose calls reme records otherwise. Neither the log,
// nor the record of calls, nor what is learnt from the turn holds it.
func TestASecretThatAnotherToolGetsIsNotRecorded(t *testing.T) {
	folder := t.TempDir()
	db, err := sqlitestore.Open(t.Context(), filepath.Join(folder, "memory.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	experience, err := reme.New(t.Context(), &reme.Config{Store: db, Model: testkit.New(testkit.Learn)})
	require.NoError(t, err)
	defer func() { require.NoError(t, experience.Close(context.Background())) }()
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: experience, Sessions: db})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(context.Background())) }()
	v := open(t, db, key)
	require.NoError(t, v.Put(t.Context(), ann, "door code", []byte(doorCode)))
	tools, err := v.Tools(&backends.ToolSetup{Scope: mem.ResolveScope, Confirm: func(context.Context, backends.Change) (bool, error) { return true, nil }})
	require.NoError(t, err)
	ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s1", Workspace: "lab"})
	for says, replies := range map[string][]testkit.Reply{
		"Repeat tea.":         {testkit.Call("1", "echo", `{"q":"tea"}`), testkit.Text("Tea.")},
		"Repeat my door code": {testkit.Call("1", "read_secret", `{"name":"door code"}`), testkit.Call("2", "echo", `{"q":"`+doorCode+`"}`), testkit.Text("It is " + doorCode + ".")},
	} {
		m := testkit.New(replies...)
		agent := testkit.Agent(t, "assistant", m, func(c *adk.ChatModelAgentConfig) { testkit.Attach(c, mem) }, append(tools, testkit.Echo(t))...)
		testkit.Drain(testkit.Runner(agent, false, nil).Query(ctx, says))
		sent := m.Calls()[len(replies)-1]
		require.Contains(t, sent[len(sent)-1].Content, "echo:", "the tool was called")
	}
	require.NoError(t, mem.Flush(t.Context()))
	recorded, err := experience.Tools().Retrieve(t.Context(), &tool.RetrieveRequest{Scope: backends.Scope{Workspace: "lab"}})
	require.NoError(t, err)
	require.Len(t, recorded.Tools, 1)
	require.EqualValues(t, 1, recorded.Tools[0].Statistics.Total, "the call with tea")
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotContains(t, string(data), doorCode, file)
	}
}

// Programs that log a run by themselves may leave out the name of the tool in its result.
func TestAResultWithoutTheToolsNameIsPrivate(t *testing.T) {
	db := testkit.SQLite(t)
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: facts})
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close(context.Background())) }()
	ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s"})
	asked, err := testkit.Call("1", "read_secret", `{"name":"door code"}`)(ctx, nil, nil)
	require.NoError(t, err)
	require.NoError(t, mem.Finish(ctx, []*schema.Message{
		schema.UserMessage("Tell me my door code."), asked, schema.ToolMessage(doorCode, "1"), schema.AssistantMessage("It is "+doorCode+".", nil),
	}))
	require.NoError(t, mem.Flush(t.Context()))
	p, err := ann.Speaker()
	require.NoError(t, err)
	var lines bytes.Buffer
	_, err = store.Export(ctx, db, p, &lines)
	require.NoError(t, err)
	require.Contains(t, lines.String(), "Tell me my door code.")
	require.NotContains(t, lines.String(), doorCode)
}

// A vault moves with the person, and needs its key there.
func TestExportsCarrySecretsEncrypted(t *testing.T) {
	from, to, ctx := testkit.SQLite(t), testkit.SQLite(t), t.Context()
	require.NoError(t, open(t, from, key).Put(ctx, ann, "a", []byte(doorCode)))
	p, err := ann.Speaker()
	require.NoError(t, err)
	var lines bytes.Buffer
	_, err = store.Export(ctx, from, p, &lines)
	require.NoError(t, err)
	require.NotContains(t, lines.String(), doorCode)
	_, err = store.Import(ctx, to, p, &lines, nil)
	require.NoError(t, err)
	got, err := open(t, to, key).Get(ctx, ann, "a")
	require.NoError(t, err)
	require.Equal(t, doorCode, string(got))
}
