// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// AgentMiddleware returns the memory as one entry of
// adk.ChatModelAgentConfig.Middlewares: the memory tools, the text that names
// them, the note before the model's first call of a turn, the recording of the turn
// as the model answers, and of how its tools' calls went.
//
// Inside a run of [Hooks.WrapRunner] it leaves the note and the recording to the runner. In an
// agent that another agent calls as a tool it recalls and skips the record: a model wrote the words
// there. The user's words are on their way to the log before the model is called, and survive its
// failure. A turn that ends early (by a tool that returns directly, or by an error) stays open in
// the log. It is learnt from once working.Config.OpenTurn is over.
//
// One value may serve many agents. An agent that lists it twice, or lists two middlewares
// that share the name of a tool or of the note, fails its first run with ErrInvalid.
func (h *Hooks) AgentMiddleware() adk.AgentMiddleware {
	m := adk.AgentMiddleware{
		AdditionalInstruction: h.Instruction(),
		AdditionalTools:       slices.Clip(slices.Clone(h.tools)), // Eino appends to it (trap T12)
		BeforeChatModel:       h.attach(),
		WrapToolCall:          h.ToolMiddleware(),
	}
	if h.records() || len(h.tools) > 0 {
		m.AfterChatModel = h.afterChatModel
	}
	return m
}

// beforeChatModel runs before every call of the model, under the lock of the agent's state (trap
// T4), and has the open question signed. An error would fail the run (trap T19): it returns one
// only for a context that exceeds the window.
func (h *Hooks) beforeChatModel(ctx context.Context, messages []einox.Marked, sign func(question *einox.Marked)) ([]*schema.Message, error) {
	h.noticeTree(ctx, messages)
	t := h.find(h.prepare(detach(ctx), messages, true))
	if t.asks() {
		sign(&t.messages[t.user])
		if h.window == nil { // else it is written
			h.guard(ctx, StageRecord, func() { h.record(ctx, t.messages, false, false) })
		}
	}
	return h.fitting(ctx, t.messages)
}

// noticeTree reports once that an agent of a tree records its part of a run apart: Eino tells it what
// others did since the user's words.
func (h *Hooks) noticeTree(ctx context.Context, messages []einox.Marked) {
	user := lastUser(messages)
	if user < 0 || !h.records() || nested(ctx) || running(ctx, h) != nil {
		return
	}
	if slices.ContainsFunc(messages[user:], func(m einox.Marked) bool { return m.Retold }) {
		h.tree.Do(func() {
			h.report(ctx, StageRecord, fmt.Errorf("%w: several agents answer one question, and the run is not wrapped: each logs the question again with its own part, an agent's second part is not logged, and a question that was handed on is learnt late. Run the tree by WrapRunner", backends.ErrInvalid))
		})
	}
}

// afterChatModel runs after every answer of the model. It leaves the length of the state as it is
// (traps T9, T10). A turn that a system message carries is counted here, before another middleware
// can replace the answer. A call that an unwrapped model prints becomes a real one: its text was
// shown before.
func (h *Hooks) afterChatModel(ctx context.Context, s *adk.ChatModelAgentState) error {
	h.guard(ctx, StageRecord, func() {
		if s == nil || len(s.Messages) == 0 {
			return
		}
		last := s.Messages[len(s.Messages)-1]
		if last == nil || last.Role != schema.Assistant {
			return
		}
		if called := h.calling(last); called != last && len(called.ToolCalls) > 0 && !tookPrinted(s.Messages) {
			h.shown.Do(func() {
				work.Learnt(ctx, h.cfg.OnError, errors.New("the model printed a call of a memory tool as text, which people may have seen. It is made all the same. Give the agent the model by WrapModel: then nobody sees it"))
			})
			s.Messages, last = append(slices.Clone(s.Messages[:len(s.Messages)-1]), called), called
		}
		t := h.record(ctx, einox.Unfold(s.Messages), len(last.ToolCalls) == 0, false)
		if t != nil && h.window != nil && systemAt(t.messages) >= 0 {
			s.Messages = einox.Encode(t.messages)
		}
	})
	return nil
}

// prepare is on_reply before a call of a model: it recalls, or puts the note of a wrapped run back.
// With keep set, it then writes the turn so far, so that the log gets the originals before this or
// another middleware replaces them. keep is right where the returned messages are the ones to be
// recorded.
func (h *Hooks) prepare(ctx context.Context, messages []einox.Marked, keep bool) []einox.Marked {
	out := messages
	h.guard(ctx, StageSearch, func() {
		if r := running(ctx, h); r != nil && !nested(ctx) {
			out = h.restoreNote(ctx, r, messages)
			return
		}
		out = h.recall(ctx, messages, false).messages
		if keep && h.window != nil {
			h.record(ctx, out, false, false)
		}
	})
	return out
}

// restoreNote puts the note of a wrapped run back where it vanished: a sub-agent builds its own
// messages, a summary replaced the history. A resumed run searches again.
func (h *Hooks) restoreNote(ctx context.Context, r *run, messages []einox.Marked) []einox.Marked {
	r.offerScope(ctx)
	user := lastUser(messages)
	if user < 0 || h.hasNote(messages) {
		return messages
	}
	if r.turn.note != nil {
		return slices.Insert(slices.Clone(messages), h.noteAt(user), *r.turn.note)
	}
	if messages[user].Found[h.cfg.NoteName] {
		return h.recall(ctx, messages, false).messages
	}
	return messages
}
