// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// An agent remembers across sessions by memory that a team already runs, and no other user sees them.
func TestAnAgentRemembersByRemoteMemory(t *testing.T) {
	var failures testkit.Failures
	s, p := mem0Server(t), &place{}
	for name, b := range map[string]backends.Backend{"mem0": mem0(t, s, &failures), "vectors": vectorsOf(t, p, &failures)} {
		t.Run(name, func(t *testing.T) {
			mem := must(middleware.New(t.Context(), &middleware.Config{Backend: b, Sessions: testkit.SQLite(t), AwaitWrite: true, OnError: failures.Add}))(t)
			t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
			ask := func(user, session, question string, script ...testkit.Reply) (*testkit.Chat, string) {
				chat := testkit.New(script...)
				agent := testkit.Agent(t, "assistant", chat, func(cfg *adk.ChatModelAgentConfig) { cfg.Middlewares = append(cfg.Middlewares, mem.AgentMiddleware()) })
				ctx := middleware.WithScope(t.Context(), middleware.Scope{UserID: user, SessionID: session, AgentID: "assistant"})
				return chat, testkit.Last(testkit.Drain(testkit.Runner(agent, false, nil).Query(ctx, question)))
			}
			ask("ann", "monday", "I sail on the Oslofjord every summer.", testkit.Text("How nice."))
			chat, said := ask("ann", "tuesday", "Where do I sail?", testkit.Call("1", "search_memory", `{"keywords":["sail"]}`), testkit.Text("There."))
			require.Equal(t, "assistant: There.", said)
			require.Equal(t, 1, testkit.Notes(chat.Calls()[0]))
			require.Contains(t, strings.Join(testkit.Lines(chat.Calls()[0]), "\n"), "Oslofjord")
			result := chat.Calls()[1]
			require.Contains(t, result[len(result)-1].Content, "Oslofjord")
			chat, _ = ask("bob", "tuesday", "Where do I sail?")
			require.NotContains(t, strings.Join(testkit.Lines(chat.Calls()[0]), "\n"), "Oslofjord")

			ask("ann", "wednesday", "Note this.", testkit.Call("1", "add_memory", `{"thinking":"t","content":["Ann sails with Miso."]}`), testkit.Text("Noted."))
			chat, _ = ask("ann", "thursday", "Who sails with me?")
			require.Contains(t, strings.Join(testkit.Lines(chat.Calls()[0]), "\n"), "Miso")
			require.NoError(t, failures.Err())
		})
	}
}
