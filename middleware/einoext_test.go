// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	einoext "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// strict is an OpenAI-compatible server that refuses, in their words, what Mistral's API, the
// chat templates of Mistral and Gemma, and DeepSeek's thinking models refuse.
type strict struct {
	noTools  bool // as vLLM does without a parser of tool calls
	noMemory bool // it refuses every note

	mu      sync.Mutex
	refused []string
	asked   []string // the last message of each call that it took
}

type strictRequest struct {
	Messages []struct{ Role, Content, Name string }
	Tools    []struct{ Function struct{ Name string } }
	Choice   any `json:"tool_choice"`
}

func (s *strict) refuses(r *strictRequest) (int, string) {
	last := ""
	for _, m := range r.Messages {
		switch {
		case m.Name != "":
			return 422, "body.messages.0.name: Extra inputs are not permitted"
		case m.Role == "user" && last == "user":
			return 400, "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
		case s.noMemory && strings.Contains(m.Content, "<memories>"):
			return 400, "Output data may contain inappropriate content."
		}
		last = m.Role
	}
	switch _, named := r.Choice.(map[string]any); {
	case named || r.Choice == "required":
		return 400, "The tool_choice parameter does not support being set to required or object in thinking mode"
	case s.noTools && len(r.Tools) > 0:
		return 400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`
	}
	return 0, ""
}

func (s *strict) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	var r strictRequest
	if err := json.NewDecoder(in.Body).Decode(&r); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	last := r.Messages[len(r.Messages)-1].Content
	if status, why := s.refuses(&r); status != 0 {
		s.refused = append(s.refused, why)
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, why)
		return
	}
	const learnt = `{"operations":[{"op":"add","text":"The user lives in Vienna","messages":[0]}]}`
	s.asked = append(s.asked, last)
	answer := `{"role":"assistant","content":"Good."}`
	switch learns := strings.Contains(last, "<new_messages>"); {
	case learns && len(r.Tools) == 1:
		answer = fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":%q,"arguments":%q}}]}`, r.Tools[0].Function.Name, learnt)
	case learns:
		answer = fmt.Sprintf(`{"role":"assistant","content":%q}`, learnt)
	}
	fmt.Fprintf(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{}}`, answer)
}

// connect returns a chat model of eino-ext, which adapts to nothing.
func (s *strict) connect(t *testing.T) model.ToolCallingChatModel {
	t.Helper()
	at := httptest.NewServer(s)
	t.Cleanup(at.Close)
	chat, err := einoext.NewChatModel(t.Context(), &einoext.ChatModelConfig{BaseURL: at.URL, APIKey: "k", Model: "m"})
	require.NoError(t, err)
	return chat
}

// The agent and the learning use the same model.
func TestAChatModelOfEinoExt(t *testing.T) {
	server := &strict{}
	chat := server.connect(t)
	backend, err := mem0.New(t.Context(), &mem0.Config{Store: testkit.SQLite(t), Model: chat, FactsOnly: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, backend.Close(context.Background())) })
	mem := open(t, &middleware.Config{Backend: backend, AwaitWrite: true})
	for i, said := range []string{"I live in Vienna.", "Where do I live?"} {
		require.Equal(t, []string{"assistant: Good."}, testkit.Drain(agent(t, mem, mem.WrapModel(chat)).Query(as("ann", fmt.Sprint(i)), said)))
	}
	require.Len(t, server.refused, 1, "a forced tool, once in the life of the process")
	asked := server.asked[slices.IndexFunc(server.asked, func(s string) bool { return strings.HasSuffix(s, "\n\nWhere do I live?") })]
	require.Contains(t, asked, "- The user lives in Vienna")
	require.Equal(t, []string{"user: Where do I live?", "assistant: Good."}, testkit.Logged(t, backend.Sessions(), middleware.Scope{UserID: "ann", SessionID: "1"}))
}

// A reply that is refused for what memory added is given without it.
func TestAReplyThatIsRefusedForMemoryIsGiven(t *testing.T) {
	for name, c := range map[string]struct {
		server  *strict
		refused int
		reports []string
		noted   bool
	}{
		"no tools":        {server: &strict{noTools: true}, refused: 1, reports: []string{hooks.StageReply}, noted: true},
		"no note":         {server: &strict{noMemory: true}, refused: 3, reports: slices.Repeat([]string{hooks.StageReply}, 3)},
		"nothing refused": {server: &strict{}, noted: true},
	} {
		t.Run(name, func(t *testing.T) {
			chat, failures := c.server.connect(t), &testkit.Failures{}
			mem := open(t, &middleware.Config{Backend: testkit.Knowing("The user lives in Vienna."), AwaitWrite: true, OnError: failures.Add})
			for range 3 {
				require.Equal(t, []string{"assistant: Good."}, testkit.Drain(agent(t, mem, mem.WrapModel(chat)).Query(asAnn, "Where do I live?")))
			}
			require.Len(t, c.server.refused, c.refused)
			require.Equal(t, c.reports, failures.Stages())
			require.Len(t, c.server.asked, 3)
			for _, asked := range c.server.asked {
				require.Equal(t, c.noted, strings.Contains(asked, "The user lives in Vienna."), asked)
				require.True(t, strings.HasSuffix(asked, "Where do I live?"), "the words of the user")
			}
		})
	}
}

// What memory is no cause of fails as it would without memory, after one call.
func TestARefusalThatIsNotOfMemoryIsReturned(t *testing.T) {
	server := &strict{noTools: true}
	mem := open(t, &middleware.Config{Backend: &testkit.Backend{}, Mode: modes.StaticControl})
	said := testkit.Drain(agent(t, mem, mem.WrapModel(server.connect(t)), testkit.Echo(t)).Query(asAnn, "Hello"))
	require.Contains(t, strings.Join(said, "\n"), "enable-auto-tool-choice")
	require.Len(t, server.refused, 1)
}
