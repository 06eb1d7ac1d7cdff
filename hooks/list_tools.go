// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"weak"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// Tools is the list_tools hook: the tools that an agent gets, which are those of the mode,
// none under modes.StaticControl, and those of Config.Window. [Hooks.AgentMiddleware] has
// them; this is for agents that take no middleware. The slice is the caller's own.
func (h *Hooks) Tools(context.Context) ([]tool.BaseTool, error) {
	return slices.Clip(slices.Clone(h.tools)), nil
}

// exitTool is the name of the tool by which Eino's agents end a loop.
const exitTool = "exit"

// namesOf returns the names of tools.
func namesOf(ctx context.Context, tools []tool.BaseTool) ([]string, error) {
	names := make([]string, len(tools))
	for i, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("name of a memory tool: %w", err)
		}
		names[i] = info.Name
	}
	return names, nil
}

// othersThan returns the filter of the tools whose calls are learnt from: all but
// memory's own, and those by which agents hand over.
func othersThan(own []string) func(string) bool {
	left := append([]string{adk.TransferToAgentToolName, exitTool}, own...)
	return func(name string) bool { return !slices.Contains(left, name) }
}

// attachment is one entry of an agent's middlewares. It finds others that have the same
// tools, or write the same note: Eino lists such tools twice, and calls one of them.
type attachment struct {
	hooks *Hooks
	id    string
	names []string     // of its tools, and of its note
	last  atomic.Value // the state of the last call of a model, a weak pointer
}

func (h *Hooks) attach() *attachment {
	a := &attachment{hooks: h, id: backends.NewID(), names: h.toolNames}
	if h.plan.Search {
		a.names = append(slices.Clip(a.names), "the note "+h.cfg.NoteName)
	}
	return a
}

// beforeChatModel runs before every call of the model; a broken list of middlewares fails
// the run.
func (a *attachment) beforeChatModel(ctx context.Context, s *adk.ChatModelAgentState) error {
	if s == nil {
		return nil
	}
	if err := a.alone(ctx, s); err != nil {
		return err
	}
	if err := a.hooks.beforeChatModel(ctx, s); err != nil {
		return err
	}
	a.sign(s)
	return nil
}

// alone returns an error if the agent lists the entry twice, or another entry with a name
// of this one: Eino gives the state of one call of a model to each entry in turn, and
// those before this one have signed it. An agent that another one calls as a tool may be
// given signed messages, and is not looked at.
func (a *attachment) alone(ctx context.Context, s *adk.ChatModelAgentState) error {
	state := weak.Make(s)
	if a.last.Swap(state) == state {
		return fmt.Errorf("memory: %w: the agent lists one memory middleware twice: list it once", backends.ErrInvalid)
	}
	t := &turn{messages: s.Messages, user: lastUser(s.Messages)}
	if nested(ctx) || !t.asks() {
		return nil
	}
	for _, name := range a.names {
		owner, at, _ := strings.Cut(einox.OwnerOf(s.Messages[t.user], name), " ")
		if owner != "" && owner != a.id && at == address(s) {
			return fmt.Errorf("memory: %w: the agent has two memory middlewares with %s: list one middleware once; make one memory of two backends with backends.Join; or give one of them names of its own by Config.ToolNames and Config.NoteName", backends.ErrInvalid, name)
		}
	}
	return nil
}

// sign leaves the entry's id, and that of the call, on a question that is to be answered.
func (a *attachment) sign(s *adk.ChatModelAgentState) {
	t := &turn{messages: s.Messages, user: lastUser(s.Messages)}
	if !t.asks() {
		return
	}
	s.Messages = slices.Clone(s.Messages)
	for _, name := range a.names {
		s.Messages[t.user] = einox.MarkOwner(s.Messages[t.user], name, a.id+" "+address(s))
	}
}

// address tells the state of one call of a model from those of others.
func address(s *adk.ChatModelAgentState) string { return fmt.Sprintf("%p", s) }
