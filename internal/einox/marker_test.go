// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

func TestANoteIsKnownByItsMark(t *testing.T) {
	m := schema.UserMessage("a note")
	require.False(t, einox.IsNote(m))
	require.False(t, einox.IsNote(nil))
	shared := map[string]any{"kept": 1}
	m.Extra = shared
	einox.MarkNote(m)
	require.True(t, einox.IsNote(m))
	require.Equal(t, 1, m.Extra["kept"])
	require.NotContains(t, shared, einox.MarkerKey, "a map that others may hold is not written to")
	m.Extra[einox.MarkerKey] = 7
	require.False(t, einox.IsNote(m), "a mark of another type is not ours")
}

func TestMarkTurnCopies(t *testing.T) {
	m := schema.UserMessage("hi")
	m.Extra = map[string]any{"kept": 1}
	got := einox.MarkTurn(m, "t1")
	require.Equal(t, "t1", einox.TurnOf(got))
	require.Equal(t, 1, got.Extra["kept"])
	require.Equal(t, "hi", got.Content)
	require.Empty(t, einox.TurnOf(m))
	require.Len(t, m.Extra, 1)
	require.Equal(t, "t2", einox.TurnOf(einox.MarkTurn(schema.UserMessage("x"), "t2")))
	require.Empty(t, einox.TurnOf(nil))
}

func TestMarksOfATurn(t *testing.T) {
	m := schema.UserMessage("hi")
	_, ok := einox.IndexOf(m)
	require.False(t, ok)
	marked := einox.MarkSearch(einox.MarkIndex(einox.MarkTurn(m, "t"), 12), "memory", true)
	i, ok := einox.IndexOf(marked)
	require.True(t, ok)
	require.Equal(t, 12, i)
	searched, found := einox.SearchOf(marked, "memory")
	require.True(t, searched && found)
	searched, _ = einox.SearchOf(marked, "other")
	require.False(t, searched)
	searched, found = einox.SearchOf(einox.MarkSearch(m, "memory", false), "memory")
	require.True(t, searched && !found)
	require.Nil(t, m.Extra)

	marked.Extra["kept"] = 1
	bare := einox.Unmark(marked)
	require.Equal(t, map[string]any{"kept": 1}, bare.Extra)
	require.Equal(t, "t", einox.TurnOf(marked), "a copy is unmarked")
	require.Same(t, m, einox.Unmark(m))
	require.Nil(t, einox.Unmark(einox.MarkTurn(m, "t")).Extra)
}

// Checkpoints encode Extra with gob. What it does not know fails the run, but
// only when it is interrupted; marks go through an interrupt and a resume.
func TestT05_MarksSurviveACheckpoint(t *testing.T) {
	mark := func(m *schema.Message) *schema.Message {
		m = einox.MarkSearch(einox.MarkIndex(einox.MarkTurn(m, "t1"), 0), "memory", true)
		einox.MarkNote(m)
		return m
	}
	naive := func(m *schema.Message) *schema.Message {
		m.Extra = map[string]any{"memory": map[string]any{"note": true}}
		return m
	}
	for name, f := range map[string]func(*schema.Message) *schema.Message{"ours": mark, "naive": naive} {
		t.Run(name, func(t *testing.T) {
			var seen []*schema.Message
			before := func(_ context.Context, s *adk.ChatModelAgentState) error {
				if seen = s.Messages; len(s.Messages) == 2 { // the first call
					s.Messages[1] = f(schema.UserMessage("hi"))
				}
				return nil
			}
			model := testkit.New(testkit.Call("c", "ask", `{"q":1}`), testkit.Text("done"))
			r := newRunner(t, model, adk.AgentMiddleware{BeforeChatModel: before}, asking(t))
			_, errs := drain(r.Query(context.Background(), "hi", adk.WithCheckPointID("cp")))
			if name == "naive" {
				require.NotEmpty(t, errs, "the trap is gone from this Eino")
				return
			}
			require.Empty(t, errs)
			it, err := r.Resume(context.Background(), "cp")
			require.NoError(t, err)
			_, errs = drain(it)
			require.Empty(t, errs)
			require.Len(t, seen, 4)
			require.True(t, einox.IsNote(seen[1]))
			require.Equal(t, "t1", einox.TurnOf(seen[1]))
			i, ok := einox.IndexOf(seen[1])
			require.True(t, ok && i == 0)
			searched, found := einox.SearchOf(seen[1], "memory")
			require.True(t, searched && found)
		})
	}
}

// An edit in place reaches the caller's history; a mark does not (trap T13).
func TestT13_MarksDoNotReachTheCallersHistory(t *testing.T) {
	history := []*schema.Message{schema.UserMessage("hi")}
	for _, naive := range []bool{true, false} {
		before := func(_ context.Context, s *adk.ChatModelAgentState) error {
			last := len(s.Messages) - 1
			if naive {
				s.Messages[last].Content += " [memory]"
			} else {
				s.Messages[last] = einox.MarkTurn(s.Messages[last], "t1")
			}
			return nil
		}
		r := newRunner(t, testkit.New(testkit.Text("x")), adk.AgentMiddleware{BeforeChatModel: before})
		drain(r.Run(context.Background(), history))
		if naive {
			require.Equal(t, "hi [memory]", history[0].Content, "the trap is gone from this Eino")
			history[0].Content = "hi"
		}
	}
	require.Equal(t, "hi", history[0].Content)
	require.Nil(t, history[0].Extra)
}
