// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// The rows M15 to M19, M22, M23 and M31: what happens around a reply in each mode.

// Upstream puts the note into an assistant message behind the user's, where it is
// sent to the model in the role of the user. Ours has that role from the start,
// and stands in front of the user's message, so that the question comes last and
// what precedes the note stays in the provider's cache. It is not kept in the
// conversation.
func TestM15_StaticControl(t *testing.T) {
	f := &fake{memories: []string{"Ann lives in Oslo"}}
	mem := open(t, &middleware.Config{Backend: f, Mode: modes.StaticControl, AwaitWrite: true})
	a := newAgent(t, mem, testkit.Text("In Oslo."))
	require.Equal(t, "In Oslo.", a.reply(asAnn(), "Where do I live?"))

	searches, adds := f.seen()
	require.Len(t, searches, 1)
	byAgent := backends.Eq("agent_id", "helper")
	require.Equal(t, backends.SearchRequest{Scope: ann, Query: "Where do I live?", TopK: 5, Filter: &byAgent}, searches[0])

	require.Len(t, adds, 1)
	require.Equal(t, [][2]string{{"user", "Where do I live?"}, {"assistant", "In Oslo."}}, said(&adds[0]))
	require.Equal(t, ann, adds[0].Scope)
	require.False(t, adds[0].Verbatim)

	require.Equal(t, basePrompt, strings.TrimSpace(a.systemPrompt(0)), "Eino alone adds a line break")
	note := a.note(t, 0)
	require.Equal(t, schema.User, note.Role)
	require.Contains(t, note.Content, "## Relevant memories from past conversations")
	require.Contains(t, note.Content, "Ann lives in Oslo")
	require.Len(t, a.model.Calls(), 1, "the model saw it once")
	require.Empty(t, a.tools)
}

// Upstream's rule is the other way round: see M15.
func TestM16_TheNoteStandsBeforeTheQuestion(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: &fake{memories: []string{"likes tea"}}, Mode: modes.StaticControl})
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "What do I like?")
	in := a.model.Calls()[0]
	require.Len(t, in, 3)
	require.Equal(t, []int{1}, a.notes(0))
	require.Equal(t, "What do I like?", in[2].Content)
}

func TestM16_OrBehindItIfConfigured(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: &fake{memories: []string{"likes tea"}}, Mode: modes.StaticControl, NotePosition: "after_user", NoteRole: schema.Assistant})
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "What do I like?")
	require.Equal(t, []int{2}, a.notes(0))
	require.Equal(t, schema.Assistant, a.note(t, 0).Role)
}

func TestM17_WithoutMemoriesThereIsNoNote(t *testing.T) {
	f := &fake{}
	mem := open(t, &middleware.Config{Backend: f, Mode: modes.StaticControl, AwaitWrite: true})
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "hi")
	require.Empty(t, a.notes(0))
	require.Len(t, a.model.Calls()[0], 2)
	require.Equal(t, basePrompt, strings.TrimSpace(a.systemPrompt(0)))
	searches, adds := f.seen()
	require.Len(t, searches, 1)
	require.Len(t, adds, 1)
}

func TestM18_ASearchThatFailsLeavesTheReplyAndTheWrite(t *testing.T) {
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return nil, errors.New("disk on fire")
	}}
	var told []string
	mem := open(t, &middleware.Config{
		Backend: f, Mode: modes.StaticControl, AwaitWrite: true,
		OnError: func(_ context.Context, stage string, err error) { told = append(told, stage+": "+err.Error()) },
	})
	a := newAgent(t, mem, testkit.Text("ok"))
	require.Equal(t, "ok", a.reply(asAnn(), "hi"))
	require.Empty(t, a.notes(0))
	_, adds := f.seen()
	require.Len(t, adds, 1)
	require.Len(t, told, 1)
	require.Contains(t, told[0], "search: ")
	require.Contains(t, told[0], "disk on fire")
}

func TestM19_SearchingAcrossAgents(t *testing.T) {
	no := false
	f := &fake{}
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true, ScopeSearchByAgent: &no})
	newAgent(t, mem, testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Text("ok")).reply(asAnn(), "hi")
	searches, adds := f.seen()
	require.Len(t, searches, 2, "the hook's and the tool's")
	for _, s := range searches {
		require.Nil(t, s.Filter)
	}
	require.Equal(t, "helper", adds[0].Scope.AgentID)
}

func TestM22_AgentControl(t *testing.T) {
	f := &fake{memories: []string{"likes tea"}}
	mem, err := middleware.New(context.Background(), &middleware.Config{Backend: f, Mode: modes.AgentControl})
	require.NoError(t, err, "nothing is recorded, so no log is needed")
	require.Nil(t, mem.Working())
	a := newAgent(t, mem, testkit.Text("ok"))
	require.Equal(t, "ok", a.reply(asAnn(), "hi"))
	require.NoError(t, mem.Flush(context.Background()))
	require.NoError(t, mem.Close(context.Background()))

	require.Equal(t, []string{"search_memory", "add_memory"}, a.tools)
	searches, adds := f.seen()
	require.Empty(t, searches)
	require.Empty(t, adds)
	prompt := a.systemPrompt(0)
	for _, part := range []string{basePrompt, "## Long-term memory", "search_memory", "add_memory"} {
		require.Contains(t, prompt, part)
	}
	require.NotContains(t, prompt, "{", "Eino formats instructions")
	require.Empty(t, a.notes(0))
}

// Upstream's caller registers the tools; here the middleware brings them, and
// changes nothing that it does not own.
func TestM23_OtherAgentsGetNoTools(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: &fake{}, Mode: modes.AgentControl})
	other := newAgent(t, nil, testkit.Text("ok"))
	other.reply(asAnn(), "hi")
	require.Empty(t, other.tools)
	require.Equal(t, basePrompt, other.systemPrompt(0))

	tools, err := mem.Tools(context.Background())
	require.NoError(t, err)
	require.Len(t, tools, 2)
	require.Equal(t, len(tools), cap(tools))
	tools[0] = nil
	again, err := mem.Tools(context.Background())
	require.NoError(t, err)
	require.NotNil(t, again[0], "the slice is the caller's own")

	static := open(t, &middleware.Config{Backend: &fake{}, Mode: modes.StaticControl})
	none, err := static.Tools(context.Background())
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestM31_Both(t *testing.T) {
	f := &fake{memories: []string{"Ann lives in Oslo"}}
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true}) // the default
	a := newAgent(t, mem, testkit.Text("In Oslo."))
	require.Equal(t, "In Oslo.", a.reply(asAnn(), "Where do I live?"))
	searches, adds := f.seen()
	require.Len(t, searches, 1)
	require.Len(t, adds, 1)
	require.Equal(t, [][2]string{{"user", "Where do I live?"}, {"assistant", "In Oslo."}}, said(&adds[0]))
	require.Contains(t, a.systemPrompt(0), "## Long-term memory")
	require.Contains(t, a.note(t, 0).Content, "Ann lives in Oslo")
	require.Equal(t, []string{"search_memory", "add_memory"}, a.tools)
}

func TestTheTextsAreInTheConfiguredLanguage(t *testing.T) {
	f := &fake{memories: []string{"喜欢茶"}}
	mem := open(t, &middleware.Config{Backend: f, Language: backends.Chinese})
	a := newAgent(t, mem, testkit.Text("好"))
	a.reply(asAnn(), "我喜欢什么？")
	require.Contains(t, a.systemPrompt(0), "## 长期记忆")
	require.NotContains(t, a.systemPrompt(0), "{", "Eino formats instructions")
	require.Contains(t, a.note(t, 0).Content, "过往对话中的相关记忆")
	tools, err := mem.Tools(context.Background())
	require.NoError(t, err)
	info, err := tools[0].Info(context.Background())
	require.NoError(t, err)
	require.Contains(t, info.Desc, "长期记忆")
}

func TestTheTextsCanBeReplaced(t *testing.T) {
	f := &fake{memories: []string{"likes tea"}}
	mem := open(t, &middleware.Config{Backend: f, Language: backends.LanguageAuto, NoteHeader: "HEAD", NoteIntro: "INTRO", NoteName: "recall", ToolInstructions: "Use the tools."})
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "hi")
	require.Contains(t, a.systemPrompt(0), "Use the tools.")
	require.NotContains(t, a.systemPrompt(0), "Long-term memory")
	require.Empty(t, a.notes(0))
	require.Equal(t, "recall", a.model.Calls()[0][1].Name)
	require.Contains(t, a.model.Calls()[0][1].Content, "HEAD\nINTRO\n")
}

// A backend that learns from everything, as ReMe does, gets every turn whatever
// the mode.
func TestAnAlwaysLearningBackendGetsEveryTurn(t *testing.T) {
	f := &learner{}
	mem := open(t, &middleware.Config{Backend: f, Mode: modes.AgentControl, AwaitWrite: true})
	newAgent(t, mem, testkit.Text("ok")).reply(asAnn(), "hi")
	searches, adds := f.seen()
	require.Empty(t, searches)
	require.Len(t, adds, 1)
}

type learner struct{ fake }

func (*learner) AlwaysLearns() bool { return true }
