// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/middleware"
)

const maxRequest = 64 << 10 // bytes

// server answers POST /chat. It is safe for concurrent use, as the middleware is.
type server struct {
	mem  *middleware.MemoryMiddleware
	chat model.ToolCallingChatModel
}

func newServer(mem *middleware.MemoryMiddleware, chat model.ToolCallingChatModel) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat", (&server{mem: mem, chat: chat}).answer)
	return mux
}

// identify says on whose behalf a request is made. The header stands in for
// authentication: in a real application take the user from a verified session or
// token, never from what the client claims or from the request's body.
func identify(r *http.Request) (middleware.Scope, int, error) {
	users := r.Header.Values("X-User")
	if len(users) != 1 || users[0] == "" {
		return middleware.Scope{}, http.StatusUnauthorized, errors.New("who are you? send one X-User header")
	}
	scope := middleware.Scope{UserID: users[0], SessionID: r.Header.Get("X-Session")}
	if scope.SessionID == "" {
		scope.SessionID = "default"
	}
	scope, err := scope.Normalize()
	if err != nil {
		return middleware.Scope{}, http.StatusBadRequest, err
	}
	return scope, http.StatusOK, nil
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	scope, status, err := identify(r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	var in struct{ Text string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in); err != nil || strings.TrimSpace(in.Text) == "" {
		http.Error(w, `send a JSON object {"text": "…"}`, http.StatusBadRequest)
		return
	}
	var out writer = &whole{w: w}
	stream := strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	if stream {
		out = &pieces{w: w}
	}
	if err := s.turn(r, scope, in.Text, stream, out.piece); err != nil {
		slog.ErrorContext(r.Context(), "chat", "user", scope.UserID, "error", err) // details are not for the client
		out.failed()
		return
	}
	out.done()
}

// turn has one turn with an agent and passes the answer on as it comes. The agent
// is built for the request, which costs next to nothing: in Eino 0.7 two
// goroutines must not run one agent. The middleware is shared.
func (s *server) turn(r *http.Request, scope middleware.Scope, text string, stream bool, piece func(string)) error {
	ctx := middleware.WithScope(r.Context(), scope)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Description: "remembers each of its users",
		Instruction: "You are a helpful assistant. Answer in the user's language, in one or two sentences.",
		Model:       s.chat,
		Middlewares: []adk.AgentMiddleware{s.mem.AgentMiddleware()},
	})
	if err != nil {
		return fmt.Errorf("building the agent: %w", err)
	}
	runner := s.mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: stream}))
	events := runner.Query(ctx, text)
	for {
		event, ok := events.Next()
		if !ok {
			return nil
		}
		if event.Err != nil {
			return fmt.Errorf("running the agent: %w", event.Err)
		}
		if event.Output == nil || event.Output.MessageOutput == nil || event.Output.MessageOutput.Role != schema.Assistant {
			continue
		}
		if err := pass(event.Output.MessageOutput, piece); err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
	}
}

// pass hands the texts of a message on, whether it is whole or a stream.
func pass(m *adk.MessageVariant, piece func(string)) error {
	if !m.IsStreaming {
		piece(m.Message.Content)
		return nil
	}
	defer m.MessageStream.Close()
	for {
		chunk, err := m.MessageStream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		piece(chunk.Content)
	}
}
