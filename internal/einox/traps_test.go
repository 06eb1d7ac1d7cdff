// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"slices"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/work"
)

// runner is a runner of an agent with one middleware.
func runner(t *testing.T, m *testkit.Chat, mw adk.AgentMiddleware, tools ...tool.BaseTool) *adk.Runner {
	t.Helper()
	a := testkit.Agent(t, "a", m, func(cfg *adk.ChatModelAgentConfig) { cfg.Middlewares = []adk.AgentMiddleware{mw} }, tools...)
	return testkit.Runner(a, false, testkit.Checkpoints(t.TempDir()))
}

func TestT03_AModelCallInAHookLeaksUnlessDetached(t *testing.T) {
	for _, detach := range []bool{false, true} {
		for _, tools := range [][]tool.BaseTool{nil, {testkit.Echo(t)}} {
			inner := testkit.New(testkit.Text("EXTRACTED"))
			hook := func(ctx context.Context, s *adk.ChatModelAgentState) error {
				if detach {
					ctx = work.Detach(ctx, "Scripted", components.ComponentOfChatModel)
				}
				_, err := inner.Generate(ctx, s.Messages)
				return err
			}
			said := testkit.Drain(runner(t, testkit.New(testkit.Text("answer")), adk.AgentMiddleware{AfterChatModel: hook}, tools...).Query(t.Context(), "hi"))
			require.Len(t, inner.Calls(), 1)
			if !detach {
				testkit.OldTrap(t, slices.Contains(said, "assistant: EXTRACTED"))
				continue
			}
			require.Equal(t, []string{"assistant: answer"}, said)
		}
	}
}

func TestT03_AModelCallAfterTheRunPanicsUnlessDetached(t *testing.T) {
	for _, detach := range []bool{false, true} {
		inner := testkit.New(testkit.Text("EXTRACTED"))
		over, result := make(chan struct{}), make(chan any, 1)
		hook := func(ctx context.Context, _ *adk.ChatModelAgentState) error {
			if detach {
				ctx = work.Detach(ctx, "Scripted", components.ComponentOfChatModel)
			}
			go func() {
				defer func() { result <- recover() }()
				<-over
				_, _ = inner.Generate(context.WithoutCancel(ctx), testkit.Say("x"))
			}()
			return nil
		}
		testkit.Drain(runner(t, testkit.New(testkit.Text("answer")), adk.AgentMiddleware{AfterChatModel: hook}).Query(t.Context(), "hi"))
		close(over)
		if p := <-result; detach {
			require.Nil(t, p)
		} else {
			testkit.OldTrap(t, p != nil)
		}
	}
}

// Checkpoints encode the Extra of messages with gob: strings pass, and most other things
// fail, once a run is interrupted.
func TestT05_MarksSurviveACheckpoint(t *testing.T) {
	mark := func(m *schema.Message) *schema.Message {
		return einox.Mark{Kind: einox.Note, Turn: "t1", Nth: 1, Found: map[string]bool{"memory": true}}.On(m)
	}
	naive := func(m *schema.Message) *schema.Message {
		m.Extra = map[string]any{"memory": map[string]any{"note": true}}
		return m
	}
	for name, f := range map[string]func(*schema.Message) *schema.Message{"ours": mark, "naive": naive} {
		var seen []*schema.Message
		hook := func(_ context.Context, s *adk.ChatModelAgentState) error {
			if seen = s.Messages; len(s.Messages) == 2 { // the first call
				s.Messages[1] = f(schema.UserMessage("hi"))
			}
			return nil
		}
		model := testkit.New(testkit.Call("c", "ask", `{}`), testkit.Text("done"))
		r := runner(t, model, adk.AgentMiddleware{BeforeChatModel: hook}, testkit.Approval(t))
		out := testkit.Drain(r.Query(t.Context(), "hi", adk.WithCheckPointID("cp")))
		if name == "naive" {
			testkit.Trap(t, !slices.Contains(out, "interrupted"))
			continue
		}
		require.Equal(t, "interrupted", testkit.Last(out))
		require.Equal(t, "assistant: done", testkit.Last(testkit.Resume(t, t.Context(), r, "cp")))
		require.Len(t, seen, 4)
		require.Equal(t, einox.Mark{Kind: einox.Note, Turn: "t1", Nth: 1, Found: map[string]bool{"memory": true}}, einox.MarkOf(seen[1]))
	}
}

// Gob fails on lists and objects in an Extra as JSON makes them. Portable leaves what it
// takes, in every sort of part.
func TestT05_PartsReadAsJSONBecomePortable(t *testing.T) {
	const extra = `{"text":"t","number":1.5,"truth":true,"list":[1],"object":{"a":1},"nothing":null}`
	const media = `{"url":"https://example.com/a","extra":` + extra + `}`
	var m schema.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","user_input_multi_content":[
		{"type":"text","text":"t","extra":`+extra+`},{"type":"image_url","image":`+media+`},{"type":"audio_url","audio":`+media+`},
		{"type":"video_url","video":`+media+`},{"type":"file_url","file":`+media+`}],
	"assistant_output_multi_content":[{"type":"text","extra":`+extra+`},{"type":"image_url","image":`+media+`},
		{"type":"audio_url","audio":`+media+`},{"type":"video_url","video":`+media+`}],
	"multi_content":[{"type":"image_url","image_url":`+media+`},{"type":"audio_url","audio_url":`+media+`},
		{"type":"video_url","video_url":`+media+`},{"type":"file_url","file_url":`+media+`}]}`), &m))
	testkit.Trap(t, gob.NewEncoder(&bytes.Buffer{}).Encode(&m) != nil)
	einox.Portable([]*schema.Message{&m, {Role: schema.Assistant, Content: "no parts"}})
	var stored bytes.Buffer
	require.NoError(t, gob.NewEncoder(&stored).Encode(&m))
	var back schema.Message
	require.NoError(t, gob.NewDecoder(&stored).Decode(&back))
	want := map[string]any{"text": "t", "number": 1.5, "truth": true}
	for _, got := range []map[string]any{back.UserInputMultiContent[0].Extra, back.UserInputMultiContent[4].File.Extra, back.AssistantGenMultiContent[3].Video.Extra, back.MultiContent[3].FileURL.Extra} {
		require.Equal(t, want, got)
	}
}

func TestT13_MarksDoNotReachTheCallersHistory(t *testing.T) {
	history := testkit.Say("hi")
	for _, naive := range []bool{true, false} {
		hook := func(_ context.Context, s *adk.ChatModelAgentState) error {
			last := len(s.Messages) - 1
			if naive {
				s.Messages[last].Content += " [memory]"
			} else {
				s.Messages[last] = einox.Mark{Turn: "t1"}.On(s.Messages[last])
			}
			return nil
		}
		testkit.Drain(runner(t, testkit.New(testkit.Text("x")), adk.AgentMiddleware{BeforeChatModel: hook}).Run(t.Context(), history))
		if naive {
			testkit.Trap(t, history[0].Content == "hi [memory]")
			history[0].Content = "hi"
		}
	}
	require.Equal(t, testkit.Say("hi"), history)
}
