// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/examples/demomodel/choose"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
)

const maxRequest = 64 << 10 // bytes

// chatServer answers POST /chat. It is safe for concurrent use, as the middleware is.
type chatServer struct {
	mem   *middleware.MemoryMiddleware
	guard *access.Guard
	model model.ToolCallingChatModel
}

// chat serves an agent that remembers each of its users.
func chat(ctx context.Context, c *call) error {
	return c.serve(ctx, backends.Scope{}, func(s *service, stdout io.Writer) error {
		answering, err := choose.Model(ctx, &demomodel.Model{}, &mem0.Config{}, c.Root().ErrWriter)
		if err != nil {
			return err
		}
		s.chat = &chatServer{mem: s.mem, guard: s.guard, model: answering}
		return s.serve(ctx, stdout)
	})
}

// identify returns the scope of a request. The header replaces an authentication: in a real
// application take the user from a verified session or token, never from the client's own words or
// the request's body. If there are keys, the request's key has to open the user.
func (s *chatServer) identify(r *http.Request) (scope middleware.Scope, status int, err error) {
	users := r.Header.Values("X-User")
	if len(users) != 1 || users[0] == "" {
		return scope, http.StatusUnauthorized, errors.New("who are you? send one X-User header")
	}
	key, err := s.guard.Key(r)
	if err != nil {
		return scope, http.StatusForbidden, err
	}
	scope, err = key.Open(middleware.Scope{UserID: users[0], SessionID: cmp.Or(r.Header.Get("X-Session"), "default")}, access.Write)
	if errors.Is(err, backends.ErrDenied) {
		return scope, http.StatusForbidden, err
	}
	return scope, http.StatusBadRequest, err
}

// ServeHTTP streams the answer to the text that the request's body holds.
func (s *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scope, status, err := s.identify(r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	said, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil || strings.TrimSpace(string(said)) == "" {
		http.Error(w, "send a text of at most 64 KB", http.StatusBadRequest)
		return
	}
	started := false
	err = s.turn(r, scope, string(said), func(piece string) {
		started = true
		_, _ = io.WriteString(w, piece) // a client that has gone ends the request's context
		_ = http.NewResponseController(w).Flush()
	})
	if err != nil {
		slog.ErrorContext(r.Context(), "chat", "user", scope.UserID, "error", err) // details are for the log
		if started {
			panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
		}
		http.Error(w, "the assistant cannot answer now", http.StatusBadGateway)
	}
}

// turn has one turn with an agent and passes the answer on as it comes. The agent is built for the
// request, at next to no cost: in Eino 0.7 two goroutines must not run one agent. All requests
// share the middleware.
func (s *chatServer) turn(r *http.Request, scope middleware.Scope, said string, send func(piece string)) error {
	ctx := middleware.WithScope(r.Context(), scope)
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name:        "assistant",
		Description: "remembers each of its users",
		Instruction: "You are a helpful assistant. Answer in the user's language, in one or two sentences.",
		Model:       s.mem.WrapModel(s.model),
		Middlewares: []adk.AgentMiddleware{s.mem.AgentMiddleware()},
	})
	if err != nil {
		return fmt.Errorf("building the agent: %w", err)
	}
	runner := s.mem.WrapRunner(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}))
	events := runner.Query(ctx, said)
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return fmt.Errorf("running the agent: %w", event.Err)
		}
		if event.Output == nil || event.Output.MessageOutput == nil || event.Output.MessageOutput.Role != schema.Assistant {
			continue
		}
		if m := event.Output.MessageOutput; !m.IsStreaming {
			send(m.Message.Content)
		} else if err := pass(m.MessageStream, send); err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
	}
	return nil
}

// pass sends the texts of a stream of messages.
func pass(stream *schema.StreamReader[*schema.Message], send func(piece string)) error {
	defer stream.Close()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Content != "" {
			send(m.Content)
		}
	}
}
