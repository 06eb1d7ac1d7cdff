// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// New makes a conversation up. The same source of chance and shape make the same.
// A nil shape is its zero value.
func New(src Source, shape *Shape) *History {
	w := &writer{src: src, shape: shape.withDefaults(), texts: texts{src: src}}
	w.ids = src.IntN(3)
	rounds := 1 + src.IntN(w.shape.Rounds)
	logged := 0 // how many rounds come from the log
	if w.shape.Logged && !oneIn(src, 4) {
		logged = src.IntN(rounds + 1)
	}
	head := w.head()
	for r := range rounds {
		w.rounds = append(w.rounds, w.round(r, r == rounds-1))
	}
	if w.shape.Broken {
		w.damage()
	}
	h := &History{}
	h.Log = w.log(logged)
	h.Messages = append(head, w.context(logged)...)
	return h
}

// writer makes one conversation up.
type writer struct {
	src    Source
	shape  *Shape
	texts  texts
	ids    int // how calls are numbered
	rounds [][]*schema.Message
}

// head returns what stands in front of the conversation.
func (w *writer) head() []*schema.Message {
	var out []*schema.Message
	prompts := []int{1, 0, 1, 3}[w.src.IntN(4)]
	for range prompts {
		out = append(out, schema.SystemMessage(w.texts.short()))
	}
	if !w.shape.Plain && oneIn(w.src, 4) {
		core := schema.UserMessage("<core_memory>\n" + w.texts.short() + "\n</core_memory>")
		core.Name = "core_memory"
		einox.MarkCore(core)
		out = append(out, core)
	}
	return out
}

// log numbers the messages of the first rounds and returns them. They are replaced
// in the rounds by their numbered copies.
func (w *writer) log(logged int) []*schema.Message {
	var out []*schema.Message
	for r := range logged {
		index := 0
		for i, m := range w.rounds[r] {
			if einox.IsNote(m) || unsaid(m) {
				continue
			}
			m = einox.MarkSeq(m, int64(len(out)+1))
			m = einox.MarkIndex(einox.MarkTurn(m, fmt.Sprintf("t%d", r)), index)
			index++
			w.rounds[r][i] = m
			out = append(out, m)
		}
	}
	return out
}

// unsaid reports whether a message says nothing: logs do not keep it.
func unsaid(m *schema.Message) bool {
	return m == nil || m.Role == schema.System || m.Content == "" && m.Role != schema.Tool && len(m.ToolCalls) == 0 && !hasParts(m)
}

// context returns the rounds one after the other. Of those that come from the log
// the notes are gone, and the first may have left for a stand-in.
func (w *writer) context(logged int) []*schema.Message {
	var out []*schema.Message
	left := 0
	if logged > 1 && oneIn(w.src, 3) {
		left = 1 + w.src.IntN(logged-1)
	}
	upto := int64(0)
	for r, round := range w.rounds {
		for _, m := range round {
			switch {
			case r < left:
				upto = max(upto, einox.SeqOf(m))
			case r < logged && (einox.IsNote(m) || unsaid(m)):
			default:
				out = append(out, m)
			}
		}
	}
	if upto > 0 {
		out = append([]*schema.Message{StandIn(1, upto)}, out...)
	}
	return out
}

// StandIn returns a message that stands in for a stretch of a session's log, as
// loading a session puts it in front of what fits.
func StandIn(from, upto int64) *schema.Message {
	ref := fmt.Sprintf("log-%d-%d", from, upto)
	m := schema.UserMessage(fmt.Sprintf("[Earlier messages are in the archive %s.]", ref))
	einox.MarkSummary(m)
	return einox.MarkSeq(einox.MarkRef(m, ref), upto)
}
