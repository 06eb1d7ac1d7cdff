// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/jsontext"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Some models print calls of tools as text. The first printed call of a memory tool is made, and
// its text is hidden from people. The second shows that the model cannot call tools: from then on
// it is offered other tools only.

const printedID = "printed-" // begins the ids of calls that were printed

// calling returns an answer whose printed calls of memory tools are real calls, or the answer
// itself if it prints none. The ids follow from the text: every reader of the answer, in an event
// or in the agent's state, computes the same.
func (h *Hooks) calling(m *schema.Message) *schema.Message {
	if m == nil || m.Role != schema.Assistant || len(m.ToolCalls) > 0 {
		return m
	}
	calls, said := jsontext.Printed(m.Content, h.toolNames)
	if said == m.Content {
		return m
	}
	out := *m
	out.Content = said
	for i, f := range calls {
		out.ToolCalls = append(out.ToolCalls, schema.ToolCall{ID: printedID + text.HashID(m.Content, strconv.Itoa(i)), Type: "function", Function: f})
	}
	return &out
}

// spoken returns the messages with their printed calls removed.
func (h *Hooks) spoken(messages []*schema.Message) []*schema.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		out[i], _, _ = h.replaced(m, dropped)
	}
	return out
}

// takes reports whether the calls that a model prints are made: the calls of its first such answer.
// Under modes.AgentControl, where tools are the only way to memory, one answer in each turn
// qualifies. takes reports once how later ones are treated.
func (h *Hooks) takes(ctx context.Context, model string, messages []*schema.Message, printed *schema.Message) bool {
	h.mu.Lock()
	h.printers[model]++
	n := h.printers[model]
	h.mu.Unlock()
	switch {
	case h.plan.Search && n == 2:
		work.Learnt(ctx, h.cfg.OnError, errors.New("the model prints calls of memory tools as text. It is offered none from now on: what is known is still shown to it, and learnt from what is said"))
	case !h.plan.Search && n == 1:
		work.Learnt(ctx, h.cfg.OnError, errors.New("the model prints calls of memory tools as text. One answer of a turn that does is carried out. Use modes.Both or StaticControl, or a server that knows how the model calls tools"))
	}
	return (n == 1 || !h.plan.Search) && len(printed.ToolCalls) > 0 && !tookPrinted(messages)
}

// tookPrinted reports whether the turn that messages end with has calls that were printed.
func tookPrinted(messages []*schema.Message) bool {
	return slices.ContainsFunc(messages[max(0, lastUser(einox.Decode(messages))):], func(m *schema.Message) bool {
		return m != nil && strings.HasPrefix(m.ToolCallID, printedID)
	})
}

// instead returns the replacement of an answer that prints calls: a message, or another answer.
type instead = func(printed *schema.Message) (*schema.Message, *einox.ModelAnswer, error)

// dropped keeps the text of an answer and drops its printed calls.
func dropped(printed *schema.Message) (*schema.Message, *einox.ModelAnswer, error) {
	printed.ToolCalls = nil
	return printed, nil, nil
}

// replaced returns an answer, or its replacement if it prints calls.
func (h *Hooks) replaced(m *schema.Message, by instead) (*schema.Message, *einox.ModelAnswer, error) {
	if called := h.calling(m); called != m {
		return by(called)
	}
	return m, nil, nil
}

// unprint makes the calls that an event of an unwrapped model prints real ones.
func (h *Hooks) unprint(v *adk.MessageVariant) {
	if v.Message = h.calling(v.Message); v.MessageStream != nil && v.Role == schema.Assistant {
		v.MessageStream = h.watchPrinted(v.MessageStream, func(printed *schema.Message) (*schema.Message, *einox.ModelAnswer, error) { return printed, nil, nil })
	}
}

// watchPrinted returns a stream whose printed calls are replaced. The stream waits only from the
// offset where a printed call may begin. The goroutine ends with the stream, or when its reader
// closes it.
func (h *Hooks) watchPrinted(in *schema.StreamReader[*schema.Message], by instead) *schema.StreamReader[*schema.Message] {
	out, w := schema.Pipe[*schema.Message](1)
	go func() {
		defer w.Close()
		if err := work.Catch("the stream of the model", func() error { return h.passPrinted(in, w, by) }); err != nil {
			w.Send(nil, err)
		}
	}()
	return out
}

func (h *Hooks) passPrinted(in *schema.StreamReader[*schema.Message], w *schema.StreamWriter[*schema.Message], by instead) error {
	defer in.Close()
	whole, shown := &schema.Message{Role: schema.Assistant}, 0
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		piece := *m
		whole.Content += m.Content
		whole.ToolCalls = append(whole.ToolCalls, m.ToolCalls...)
		upto := len(whole.Content)
		if len(whole.ToolCalls) == 0 {
			upto = jsontext.MayPrint(whole.Content, shown, h.toolNames)
		}
		piece.Content, shown = whole.Content[shown:upto], upto
		if w.Send(&piece, nil) {
			return nil
		}
	}
	last, again, err := h.replaced(whole, by)
	if err != nil {
		return err
	}
	if again != nil {
		return h.passPrinted(again.Stream, w, dropped)
	}
	end := schema.AssistantMessage(last.Content[min(shown, len(last.Content)):], nil)
	if last != whole { // else its calls are on their way
		end.ToolCalls = last.ToolCalls
	}
	w.Send(end, nil)
	return nil
}
