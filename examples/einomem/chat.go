// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
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

// chat talks to an agent that remembers its user: in the terminal, or with -listen over HTTP to many.
func chat(ctx context.Context, c *call) error {
	serving := c.String("listen") != ""
	if !serving {
		c.settings.Log.Level = max(c.settings.Log.Level, slog.LevelWarn)
	}
	return c.serve(ctx, backends.Scope{}, func(s *service) error {
		answering, err := choose.Model(ctx, &demomodel.Model{}, &mem0.Config{}, c.err)
		if err != nil {
			return err
		}
		a := &chatServer{mem: s.mem, guard: s.guard, model: answering}
		if serving {
			s.chat = a
			return s.serve(ctx, c)
		}
		if c.Bool("notes") {
			s.shows = c.err
		}
		return c.talk(ctx, s, a)
	})
}

// A line that begins as order does is for the program, and never a message.
var order = regexp.MustCompile(`^/\pL*(?:\s|$)`)

const orders = "/new begins another session, /notes shows or hides the notes of memory, /quit ends"

// talk takes turns of one user, in a new session, until the input or ctx ends.
func (c *call) talk(ctx context.Context, s *service, a *chatServer) error {
	c.scope.UserID, c.scope.SessionID = cmp.Or(c.scope.UserID, "me"), backends.NewID()
	scope, err := c.scope.Normalize()
	if err != nil {
		return usage("chat: %v", err)
	}
	out := c.Root().Writer
	answer := func(said string) error {
		if c.json {
			var whole strings.Builder
			err := a.turn(ctx, scope, said, func(piece string) { whole.WriteString(piece) })
			return errors.Join(c.print(map[string]string{"answer": whole.String()}, err), c.out.Flush())
		}
		err := a.turn(ctx, scope, said, func(piece string) { _, _ = io.WriteString(out, piece) })
		fmt.Fprintln(out)
		return err
	}
	if said := c.String("say"); order.MatchString(said) {
		return usage("chat: %q is for the conversation, and no message: %s", said, orders)
	} else if said != "" {
		return answer(said)
	}
	if isTerminal(c.err) {
		fmt.Fprintln(c.err, orders)
	}
	lines, in := make(chan string), bufio.NewScanner(c.Root().Reader)
	go func() { // a read from a terminal blocks: this ends one line after ctx, or with the process
		defer close(lines)
		for in.Scan() && ctx.Err() == nil {
			select {
			case lines <- strings.TrimSpace(in.Text()):
			case <-ctx.Done():
			}
		}
	}()
	defer fmt.Fprintln(c.err) // after the last prompt
	for {
		fmt.Fprintf(c.err, "%s> ", scope.UserID)
		select {
		case <-ctx.Done():
			return nil
		case said, more := <-lines:
			if !more {
				return in.Err() // such as of a line of more than 64 KB
			}
			switch {
			case said == "":
			case said == "/quit":
				return nil
			case said == "/new":
				scope.SessionID = backends.NewID()
			case said == "/notes" && s.shows == nil:
				s.shows = c.err
			case said == "/notes":
				s.shows = nil
			case order.MatchString(said):
				fmt.Fprintf(c.err, "%s\n", orders)
			default:
				if err := answer(said); err != nil {
					fmt.Fprintf(c.err, "error: %s\n", demomodel.ErrorText(err))
				}
			}
		}
	}
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
	err = s.turn(r.Context(), scope, string(said), func(piece string) {
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
func (s *chatServer) turn(ctx context.Context, scope middleware.Scope, said string, send func(piece string)) error {
	ctx = middleware.WithScope(ctx, scope)
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
