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

// Tools is the list_tools hook: the agent's tools, from the mode (none under modes.StaticControl)
// and from Config.Window. [Hooks.AgentMiddleware] has them; Tools serves agents that take no
// middleware. The slice is the caller's own.
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
		if slices.Contains(names[:i], info.Name) {
			return nil, fmt.Errorf("%q: %w: two memory tools have that name: see Config.ToolNames", info.Name, backends.ErrInvalid)
		}
		names[i] = info.Name
	}
	return names, nil
}

// othersThan returns the filter of the tools whose calls are learnt from: all but memory's own and
// the ones by which agents hand over.
func othersThan(own []string) func(string) bool {
	left := append([]string{adk.TransferToAgentToolName, exitTool}, own...)
	return func(name string) bool { return !slices.Contains(left, name) }
}

// attach returns the hook before every call of the model for one entry of an agent's middlewares.
// It fails the run if the agent lists the entry twice, or another one that has the same tools or
// writes the same note: Eino lists such tools twice, and calls one of them.
//
// Eino gives the state of one call of a model to each entry in turn. Each signs the open question
// with the state and itself, for the entries behind it to see. An agent that another one calls as a
// tool may get signed messages, and is exempt from the check.
func (h *Hooks) attach() func(context.Context, *adk.ChatModelAgentState) error {
	names, entry := h.toolNames, backends.NewID()
	if h.plan.Search {
		names = append(slices.Clip(names), "the note "+h.cfg.NoteName)
	}
	var last atomic.Value // the state of the last call, a weak pointer
	return func(ctx context.Context, s *adk.ChatModelAgentState) error {
		if s == nil {
			return nil
		}
		if state := weak.Make(s); last.Swap(state) == state {
			return fmt.Errorf("memory: %w: the agent lists one memory middleware twice: list it once", backends.ErrInvalid)
		}
		call := fmt.Sprintf("%p ", s)
		messages := einox.Unfold(withoutBlankSystem(s.Messages))
		if t := h.find(messages); t.asks() && !nested(ctx) {
			if err := others(t.messages[t.user].Mark, names, call, entry); err != nil {
				return err
			}
		}
		var err error
		s.Messages, err = h.beforeChatModel(ctx, messages, func(question *einox.Marked) {
			for _, name := range names {
				question.Owner = einox.With(question.Owner, name, call+entry)
			}
		})
		return err
	}
}

// others returns an error if a question was signed for one of the names, in the same call of
// a model, by another entry.
func others(question einox.Mark, names []string, call, entry string) error {
	for _, name := range names {
		if by, ok := strings.CutPrefix(question.Owner[name], call); ok && by != entry {
			return fmt.Errorf("memory: %w: the agent has two memory middlewares with %s: list one middleware once; make one memory of two backends with backends.Join; or give one of them names of its own by Config.ToolNames and Config.NoteName", backends.ErrInvalid, name)
		}
	}
	return nil
}
