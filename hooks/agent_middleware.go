// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// AgentMiddleware returns the memory as one entry of
// adk.ChatModelAgentConfig.Middlewares: the memory tools, the text that names
// them, the note before the model's first call of a turn, the recording of the turn
// as the model answers, and of how its tools' calls went.
//
// Inside a run of [Hooks.WrapRunner] it leaves the note and the recording to the
// runner. In an agent that another agent calls as a tool it recalls and never
// records: the words there are a model's. The memory of a turn that ends without
// a last answer of the model (a tool that returns directly, an error) stays an
// open turn in the log.
//
// One value may serve many agents; each call returns tools in a slice of its own
// (trap T12).
func (h *Hooks) AgentMiddleware() adk.AgentMiddleware {
	m := adk.AgentMiddleware{BeforeChatModel: h.beforeChatModel, WrapToolCall: h.ToolMiddleware()}
	if h.cfg.Plan.Instruct {
		m.AdditionalInstruction = h.cfg.Instruction
	}
	if h.cfg.Plan.Tools {
		m.AdditionalTools = h.Tools()
	}
	m.AdditionalTools = slices.Concat(m.AdditionalTools, h.cfg.WindowTools)
	if h.records() {
		m.AfterChatModel = h.afterChatModel
	}
	return m
}

// Tools returns the memory tools in a slice of the caller's own.
func (h *Hooks) Tools() []tool.BaseTool { return slices.Clip(slices.Clone(h.cfg.Tools)) }

// beforeChatModel runs before every call of the model, under the lock of the
// agent's state (trap T4). An error would fail the run (trap T19): the only one is
// that the context does not fit the window.
func (h *Hooks) beforeChatModel(ctx context.Context, s *adk.ChatModelAgentState) error {
	h.harmless(ctx, StageSearch, func() {
		s.Messages = withoutBlankSystem(s.Messages)
		s.Messages = h.before(ctx, s.Messages)
		h.keep(ctx, s.Messages)
	})
	if h.cfg.Window == nil || s == nil {
		return nil
	}
	var over error
	s.Messages, over = h.fitting(ctx, s.Messages)
	return over
}

// afterChatModel runs after every answer of the model. It appends nothing to the
// state and takes nothing away (traps T9, T10).
func (h *Hooks) afterChatModel(ctx context.Context, s *adk.ChatModelAgentState) error {
	h.harmless(ctx, StageRecord, func() {
		if len(s.Messages) == 0 || nested(ctx) || h.running(ctx) != nil {
			return
		}
		last := s.Messages[len(s.Messages)-1]
		if last == nil || last.Role != schema.Assistant {
			return
		}
		h.recordTurn(ctx, s.Messages, len(last.ToolCalls) == 0, false)
		s.Messages = h.counted(s.Messages)
	})
	return nil
}

func (h *Hooks) before(ctx context.Context, messages []*schema.Message) []*schema.Message {
	if run := h.running(ctx); run != nil && !nested(ctx) {
		run.offer(ctx, h)
		return h.restore(ctx, run, messages)
	}
	// The agent's handlers would take the backend's own model calls for answers
	// of the agent (trap T3).
	return h.prepare(einox.Detach(ctx, "Memory", backends.ComponentOfMemory), messages, false).Messages
}

// restore puts the note of a wrapped run back where it vanished: a sub-agent
// builds its own messages, a summary replaced the history.
func (h *Hooks) restore(ctx context.Context, run *run, messages []*schema.Message) []*schema.Message {
	user := lastUser(messages)
	if user < 0 || slices.ContainsFunc(messages, h.cfg.Note.owns) {
		return messages
	}
	if note := run.note(); note != nil {
		return h.cfg.Note.place(messages, user, note)
	}
	if _, found := einox.SearchOf(messages[user], h.cfg.Note.Name); found {
		return h.prepare(einox.Detach(ctx, "Memory", backends.ComponentOfMemory), messages, false).Messages
	}
	return messages
}

// harmless keeps what goes wrong in a hook from the agent.
func (h *Hooks) harmless(ctx context.Context, stage string, f func()) {
	if err := safely("agent hook", func() error { f(); return nil }); err != nil {
		h.report(ctx, stage, fmt.Errorf("agent middleware: %w", err))
	}
}

// nested reports whether ctx belongs to an agent that another one calls as a tool.
func nested(ctx context.Context) bool { return compose.GetToolCallID(ctx) != "" }

// withoutBlankSystem drops the empty system message that Eino makes of a
// middleware without an instruction in an agent without one (trap T18).
func withoutBlankSystem(messages []*schema.Message) []*schema.Message {
	blank := func(m *schema.Message) bool {
		return m != nil && m.Role == schema.System && !einox.IsNote(m) && strings.TrimSpace(einox.Text(m)) == "" &&
			len(m.UserInputMultiContent) == 0 && len(m.MultiContent) == 0
	}
	if !slices.ContainsFunc(messages, blank) {
		return messages
	}
	return slices.DeleteFunc(slices.Clone(messages), blank)
}
