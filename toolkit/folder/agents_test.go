// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/skill"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/folder"
	"github.com/einomem/einomem/toolkit/server/files"
)

// house is a memory in a file, with its folder.
type house struct {
	testing.TB
	path string
	mem  *middleware.MemoryMiddleware
	disk *folder.Folder
}

func newHouse(t testing.TB) *house {
	h := &house{TB: t, path: filepath.Join(t.TempDir(), "memory.db")}
	db := testkit.File(t, h.path)
	backend, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	h.mem, err = middleware.New(t.Context(), &middleware.Config{Backend: backend, AwaitWrite: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.mem.Close(context.Background())) })
	h.disk, err = folder.New(&files.Config{Records: db, Scope: h.mem.ResolveScope})
	require.NoError(t, err)
	return h
}

func in(user, session string) context.Context {
	return middleware.WithScope(context.Background(), middleware.Scope{UserID: user, SessionID: session})
}

// ask runs an agent that has memory and a middleware of Eino.
func (h *house) ask(ctx context.Context, m *testkit.Chat, handler adk.ChatModelAgentMiddleware, tools ...tool.BaseTool) []string {
	h.Helper()
	a := testkit.Agent(h, "helper", m, func(cfg *adk.ChatModelAgentConfig) {
		cfg.Middlewares = append(cfg.Middlewares, h.mem.AgentMiddleware())
		cfg.Handlers = append(cfg.Handlers, handler)
	}, tools...)
	out := testkit.Drain(testkit.Runner(a, false, nil).Query(ctx, "go on"))
	for _, line := range out {
		require.NotContains(h, line, "error: ")
	}
	return out
}

// bytes are those of the store's files.
func (h *house) bytes() (all string) {
	for _, at := range []string{h.path, h.path + "-wal"} {
		data, err := os.ReadFile(at)
		require.NoError(h, err)
		all += string(data)
	}
	return all
}

// Eino's filesystem middleware writes in one session and reads in the next, for each person alone;
// forgetting a person leaves no byte of it.
func TestEinosFilesystemIsManyUserDurableAndErasable(t *testing.T) {
	h := newHouse(t)
	eino, err := filesystem.New(t.Context(), &filesystem.MiddlewareConfig{Backend: h.disk})
	require.NoError(t, err)
	for _, user := range []string{"ann", "bob"} {
		m := testkit.New(
			testkit.Call("1", "write_file", `{"file_path":"/plans/garden.md","content":"`+user+` plants\nQuetzalcoatlus`+user+`\n"}`),
			testkit.Call("2", "edit_file", `{"file_path":"/plans/garden.md","old_string":"plants","new_string":"grows"}`),
			testkit.Text("written"))
		h.ask(in(user, "monday"), m, eino)
	}
	m := testkit.New(
		testkit.Call("1", "ls", `{"path":"/"}`), testkit.Call("2", "read_file", `{"file_path":"/plans/garden.md"}`),
		testkit.Call("3", "glob", `{"pattern":"**/*.md"}`), testkit.Call("4", "grep", `{"pattern":"grows","output_mode":"content"}`), testkit.Text("read"))
	require.Equal(t, []string{
		"tool: plans", "tool:      1\tann grows\n     2\tQuetzalcoatlusann\n     3\t",
		"tool: plans/garden.md", "tool: /plans/garden.md:1:ann grows", "assistant: read",
	}, spoken(h.ask(in("ann", "friday"), m, eino)))

	past, err := h.disk.History(in("ann", "friday"), "/plans/garden.md")
	require.NoError(t, err)
	require.Len(t, past, 2)
	require.Contains(t, past[1].Old, "ann plants")

	require.Contains(t, h.bytes(), "Quetzalcoatlusann")
	_, err = h.mem.Forget(t.Context(), middleware.Scope{UserID: "ann"})
	require.NoError(t, err)
	require.NotContains(t, h.bytes(), "Quetzalcoatlusann")
	gone(in("ann", "friday"), t, h.disk, "/plans/garden.md")
	require.Contains(t, read(in("bob", "friday"), t, h.disk, "/plans/garden.md"), "Quetzalcoatlusbob")
}

// spoken are the lines that are no calls.
func spoken(lines []string) (out []string) {
	for _, line := range lines {
		if !strings.Contains(line, " calls ") {
			out = append(out, line)
		}
	}
	return out
}

// Each person has skills of their own, in one agent.
func TestEinosSkillsAreOfEachPerson(t *testing.T) {
	h := newHouse(t)
	for user, does := range map[string]string{"ann": "sail", "bob": "bake"} {
		write(in(user, "s"), t, h.disk, "/skills/"+does+"/SKILL.md", "---\nname: "+does+"\ndescription: how to "+does+"\n---\n"+user+" does it so")
	}
	found, err := skill.NewBackendFromFilesystem(t.Context(), &skill.BackendFromFilesystemConfig{Backend: h.disk, BaseDir: "/skills"})
	require.NoError(t, err)
	eino, err := skill.NewMiddleware(t.Context(), &skill.Config{Backend: found})
	require.NoError(t, err)
	for user, does := range map[string]string{"ann": "sail", "bob": "bake"} {
		listed, err := found.List(in(user, "t"))
		require.NoError(t, err)
		require.Equal(t, []skill.FrontMatter{{Name: does, Description: "how to " + does}}, listed)
		m := testkit.New(testkit.Call("1", "skill", `{"skill":"`+does+`"}`), testkit.Text("done"))
		require.Contains(t, strings.Join(h.ask(in(user, "t"), m, eino), "\n"), user+" does it so")
	}
}

// A long result leaves the context for a file of its session, is read from there, and ends with the
// session.
func TestEinosReductionKeepsResultsInTheirSession(t *testing.T) {
	h := newHouse(t)
	long := "Quetzalcoatlus begins\n" + strings.Repeat("a line of a long result\n", 8000)
	require.Greater(t, len(long), 100_000, "longer than the memory tool may write")
	eino, err := reduction.New(t.Context(), &reduction.Config{Backend: h.disk.PerSession(), MaxLengthForTrunc: 2000, TruncExcludeTools: []string{"read_file"},
		TokenCounter: func(context.Context, []adk.Message, []*schema.ToolInfo) (int64, error) { return 0, nil }})
	require.NoError(t, err)
	fetch := testkit.Tool(t, "fetch", func(context.Context, testkit.Query) (string, error) { return long, nil })
	out := h.ask(in("ann", "s1"), testkit.New(testkit.Call("c7", "fetch", `{"q":"x"}`), testkit.Text("done")), eino, fetch)
	require.Less(t, len(strings.Join(out, "\n")), 10_000)
	require.Contains(t, strings.Join(out, "\n"), "/tmp/trunc/c7")
	require.Equal(t, long, read(in("ann", "s1"), t, h.disk.PerSession(), "/tmp/trunc/c7"))
	gone(in("ann", "s2"), t, h.disk.PerSession(), "/tmp/trunc/c7")

	session := "s1"
	_, err = h.mem.ForgetPart(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s1"}, &backends.Part{Session: &session})
	require.NoError(t, err)
	gone(in("ann", "s1"), t, h.disk.PerSession(), "/tmp/trunc/c7")
	require.NotContains(t, h.bytes(), "Quetzalcoatlus")
}
